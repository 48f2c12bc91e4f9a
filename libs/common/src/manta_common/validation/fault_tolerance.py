"""Rules for GCS fault tolerance: the annotation of old, Redis, and the embedded store."""

from collections.abc import Iterator
from typing import Final

from manta_common.api import annotations, containers, env
from manta_common.api.rayoptions import GcsEmbeddedStorage, GcsFaultToleranceOptions
from manta_common.validation.problem import Problem, Rule
from manta_common.validation.view import RAY_CONTAINER, ClusterView

FT_TWICE: Final = Rule(
    "ray.io/ft-enabled annotation and GcsFaultToleranceOptions are both set. "
    "Please use only GcsFaultToleranceOptions to configure GCS fault tolerance",
    "Remove the annotation ray.io/ft-enabled.",
)
REDIS_ADDRESS_WITHOUT_FT: Final = Rule(
    "RAY_REDIS_ADDRESS is set which implicitly enables GCS fault tolerance, but GcsFaultToleranceOptions is not set. "
    "Please set GcsFaultToleranceOptions to enable GCS fault tolerance",
    "Move the address to gcsFaultToleranceOptions.redisAddress.",
)
PASSWORD_IN_PARAMS: Final = Rule(
    "cannot set `redis-password` in rayStartParams when GcsFaultToleranceOptions is enabled - "
    "use GcsFaultToleranceOptions.RedisPassword instead",
    "Move the password to gcsFaultToleranceOptions.redisPassword.",
)
PASSWORD_IN_ENV: Final = Rule(
    "cannot set `REDIS_PASSWORD` env var in head Pod when GcsFaultToleranceOptions is enabled - "
    "use GcsFaultToleranceOptions.RedisPassword instead",
    "Move the password to gcsFaultToleranceOptions.redisPassword.",
)
ADDRESS_IN_ENV: Final = Rule(
    "cannot set `RAY_REDIS_ADDRESS` env var in head Pod when GcsFaultToleranceOptions is enabled - "
    "use GcsFaultToleranceOptions.RedisAddress instead",
    "Move the address to gcsFaultToleranceOptions.redisAddress.",
)
NAMESPACE_IN_ANNOTATION: Final = Rule(
    "cannot set `ray.io/external-storage-namespace` annotation when GcsFaultToleranceOptions is enabled - "
    "use GcsFaultToleranceOptions.ExternalStorageNamespace instead",
    "Move the namespace to gcsFaultToleranceOptions.externalStorageNamespace.",
)
USERNAME_ELSEWHERE: Final = Rule(
    "cannot set redis username in rayStartParams or environment variables - "
    "use GcsFaultToleranceOptions.RedisUsername instead",
    "Move the user name to gcsFaultToleranceOptions.redisUsername.",
)
ROCKSDB_GATE: Final = Rule(
    "the embedded RocksDB GCS fault tolerance backend (GcsFaultToleranceOptions.Backend: 'rocksdb') requires the "
    "GCSFaultToleranceEmbeddedStorage feature gate to be enabled",
    "Start the operator with the feature gate GCSFaultToleranceEmbeddedStorage=true, or use the backend redis.",
)
ROCKSDB_WITH_REDIS: Final = Rule(
    "cannot set GcsFaultToleranceOptions.{field} when backend is 'rocksdb'",
    "Leave {field} out, or use the backend redis.",
)
CLAIM_WITH_SETTINGS: Final = Rule(
    "GcsFaultToleranceOptions.Storage.ClaimName is mutually exclusive with size, storageClassName, and accessModes",
    "Name a claim of your own, or describe the one to be made, but not both.",
)
ROCKSDB_ENV: Final = Rule(
    "cannot set `RAY_gcs_storage` or `RAY_gcs_storage_path` env var in head Pod when the embedded GCS FT backend is "
    "used - these are managed by KubeRay",
    "Remove the variable from the head's Ray container.",
)
ROCKSDB_MOUNT: Final = Rule(
    'cannot set a volume mount named "gcs-storage" or mounted at /data/gcs in the head container when the embedded '
    "GCS FT backend is used - it is managed by KubeRay",
    "Remove the mount from the head's Ray container, or give it another name and path.",
)
ROCKSDB_VOLUME: Final = Rule(
    'cannot set a volume named "gcs-storage" in the head Pod when the embedded GCS FT backend is used - '
    "it is managed by KubeRay",
    "Rename the volume.",
)
REDIS_WITH_STORAGE: Final = Rule(
    "cannot set GcsFaultToleranceOptions.Storage when backend is 'redis' - it only applies to the 'rocksdb' backend",
    "Leave storage out, or use the backend rocksdb.",
)


def problems(view: ClusterView) -> Iterator[Problem]:
    """Yield what is wrong with a cluster's fault tolerance."""
    options = view.spec.gcs_fault_tolerance_options
    if options is not None and view.annotations.get(annotations.FT_ENABLED):
        yield FT_TWICE.at(_annotation(annotations.FT_ENABLED))
    if not view.fault_tolerant and env.RAY_REDIS_ADDRESS in view.head_env:
        yield REDIS_ADDRESS_WITHOUT_FT.at(view.head_variable(env.RAY_REDIS_ADDRESS))
    if options is not None:
        yield from _misplaced(view)
        yield from _rocksdb(view, options) if options.backend == "rocksdb" else _redis(view, options)
    yield from _username(view)


def _misplaced(view: ClusterView) -> Iterator[Problem]:
    params, variables = view.spec.head_group_spec.ray_start_params, view.head_env
    if params.get("redis-password"):
        yield PASSWORD_IN_PARAMS.at(f"{view.head_path}.rayStartParams[redis-password]")
    if env.REDIS_PASSWORD in variables:
        yield PASSWORD_IN_ENV.at(view.head_variable(env.REDIS_PASSWORD))
    if env.RAY_REDIS_ADDRESS in variables:
        yield ADDRESS_IN_ENV.at(view.head_variable(env.RAY_REDIS_ADDRESS))
    if view.annotations.get(annotations.EXTERNAL_STORAGE_NAMESPACE):
        yield NAMESPACE_IN_ANNOTATION.at(_annotation(annotations.EXTERNAL_STORAGE_NAMESPACE))


def _username(view: ClusterView) -> Iterator[Problem]:
    if view.spec.head_group_spec.ray_start_params.get("redis-username"):
        yield USERNAME_ELSEWHERE.at(f"{view.head_path}.rayStartParams[redis-username]")
    elif env.REDIS_USERNAME in view.head_env:
        yield USERNAME_ELSEWHERE.at(view.head_variable(env.REDIS_USERNAME))


def _redis(view: ClusterView, options: GcsFaultToleranceOptions) -> Iterator[Problem]:
    if options.storage is not None:
        yield REDIS_WITH_STORAGE.at(f"{view.path}.gcsFaultToleranceOptions.storage")


def _rocksdb(view: ClusterView, options: GcsFaultToleranceOptions) -> Iterator[Problem]:
    path = f"{view.path}.gcsFaultToleranceOptions"
    if not view.gates.embedded_storage:
        yield ROCKSDB_GATE.at(f"{path}.backend")
    for field, value in _redis_fields(options).items():
        if value:
            yield ROCKSDB_WITH_REDIS.at(f"{path}.{field[0].lower()}{field[1:]}", field=field)
    if options.storage and _claim_clashes(options.storage):
        yield CLAIM_WITH_SETTINGS.at(f"{path}.storage.claimName")
    yield from _rocksdb_pod(view)


def _redis_fields(options: GcsFaultToleranceOptions) -> dict[str, bool]:
    return {
        "RedisAddress": bool(options.redis_address),
        "RedisUsername": options.redis_username is not None,
        "RedisPassword": options.redis_password is not None,
        "ExternalStorageNamespace": bool(options.external_storage_namespace),
    }


def _claim_clashes(storage: GcsEmbeddedStorage) -> bool:
    described = storage.size is not None or storage.storage_class_name is not None or bool(storage.access_modes)
    return bool(storage.claim_name) and described


def _rocksdb_pod(view: ClusterView) -> Iterator[Problem]:
    for name in (env.GCS_STORAGE, env.GCS_STORAGE_PATH):
        if name in view.head_env:
            yield ROCKSDB_ENV.at(view.head_variable(name))
    for mount in view.ray_container.volume_mounts:
        if mount.name == containers.GCS_STORAGE_VOLUME or mount.mount_path == containers.GCS_STORAGE_PATH:
            yield ROCKSDB_MOUNT.at(f"{view.head_path}.{RAY_CONTAINER}.volumeMounts[{mount.mount_path}]")
    for volume in view.head.volumes:
        if volume.name == containers.GCS_STORAGE_VOLUME:
            yield ROCKSDB_VOLUME.at(f"{view.head_path}.template.spec.volumes[{volume.name}]")


def _annotation(key: str) -> str:
    return f"metadata.annotations[{key}]"
