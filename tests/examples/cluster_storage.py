"""Examples of the rules for GCS fault tolerance; paths are within the cluster's spec."""

from typing import Any

from manta_common.validation import fault_tolerance
from tests.examples.example import DEFAULT_GATES, Example, Json
from tests.examples.manifests import both, head, head_container, head_env, head_pod, mount

ENV_PATH = "headGroupSpec.template.spec.containers[0].env"
REDIS: Json = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}


def rocksdb(**fields: Any) -> Json:
    """Options of the embedded store."""
    return {"gcsFaultToleranceOptions": {"backend": "rocksdb", **fields}}


def _clash(field: str, name: str, value: Any) -> Example:
    return Example(
        says=f"the embedded store has no {name}",
        rule=fault_tolerance.ROCKSDB_WITH_REDIS,
        good=rocksdb(storage={"subPath": "a"}),
        bad=rocksdb(**{name: value}),
        path=f"gcsFaultToleranceOptions.{name}",
        message=f"cannot set GcsFaultToleranceOptions.{field} when backend is 'rocksdb'",
    )


EXAMPLES = (
    Example(
        says="a Redis address alone is not enough for fault tolerance",
        rule=fault_tolerance.REDIS_ADDRESS_WITHOUT_FT,
        good=REDIS,
        bad=head_env(RAY_REDIS_ADDRESS="redis:6379"),
        path=f"{ENV_PATH}[RAY_REDIS_ADDRESS]",
        message="RAY_REDIS_ADDRESS is set which implicitly enables GCS fault tolerance, but GcsFaultToleranceOptions "
        "is not set. Please set GcsFaultToleranceOptions to enable GCS fault tolerance",
    ),
    Example(
        says="with options the Redis password is not a start parameter",
        rule=fault_tolerance.PASSWORD_IN_PARAMS,
        good=both(REDIS, {"gcsFaultToleranceOptions": {"redisPassword": {"value": "x"}}}),
        bad=both(REDIS, head(rayStartParams={"redis-password": "x"})),
        path="headGroupSpec.rayStartParams[redis-password]",
        message="cannot set `redis-password` in rayStartParams when GcsFaultToleranceOptions is enabled - "
        "use GcsFaultToleranceOptions.RedisPassword instead",
    ),
    Example(
        says="with options the Redis password is not a variable",
        rule=fault_tolerance.PASSWORD_IN_ENV,
        good=head_env(REDIS_PASSWORD="x"),
        bad=both(REDIS, head_env(REDIS_PASSWORD="x")),
        path=f"{ENV_PATH}[REDIS_PASSWORD]",
        message="cannot set `REDIS_PASSWORD` env var in head Pod when GcsFaultToleranceOptions is enabled - "
        "use GcsFaultToleranceOptions.RedisPassword instead",
    ),
    Example(
        says="with options the Redis address is not a variable",
        rule=fault_tolerance.ADDRESS_IN_ENV,
        good={"gcsFaultToleranceOptions": {}},
        bad=both({"gcsFaultToleranceOptions": {}}, head_env(RAY_REDIS_ADDRESS="redis:6379")),
        path=f"{ENV_PATH}[RAY_REDIS_ADDRESS]",
        message="cannot set `RAY_REDIS_ADDRESS` env var in head Pod when GcsFaultToleranceOptions is enabled - "
        "use GcsFaultToleranceOptions.RedisAddress instead",
    ),
    Example(
        says="the embedded store needs its feature gate",
        rule=fault_tolerance.ROCKSDB_GATE,
        good={"gcsFaultToleranceOptions": {"backend": "redis"}},
        bad=rocksdb(),
        path="gcsFaultToleranceOptions.backend",
        message="the embedded RocksDB GCS fault tolerance backend (GcsFaultToleranceOptions.Backend: 'rocksdb') "
        "requires the GCSFaultToleranceEmbeddedStorage feature gate to be enabled",
        gates=DEFAULT_GATES,
    ),
    _clash("RedisAddress", "redisAddress", "redis:6379"),
    _clash("RedisUsername", "redisUsername", {"value": ""}),
    _clash("RedisPassword", "redisPassword", {"value": ""}),
    _clash("ExternalStorageNamespace", "externalStorageNamespace", "a"),
    Example(
        says="a claim of the user's own is not described",
        rule=fault_tolerance.CLAIM_WITH_SETTINGS,
        good=rocksdb(storage={"claimName": "mine", "accessModes": [], "deletionPolicy": "Retain"}),
        bad=rocksdb(storage={"claimName": "mine", "storageClassName": ""}),
        path="gcsFaultToleranceOptions.storage.claimName",
        message="GcsFaultToleranceOptions.Storage.ClaimName is mutually exclusive with size, storageClassName, and "
        "accessModes",
    ),
    Example(
        says="the embedded store's variables are not set by users",
        rule=fault_tolerance.ROCKSDB_ENV,
        good=head_env(RAY_gcs_storage_path="/tmp"),
        bad=both(rocksdb(), head_env(RAY_gcs_storage_path="/tmp")),
        path=f"{ENV_PATH}[RAY_gcs_storage_path]",
        message="cannot set `RAY_gcs_storage` or `RAY_gcs_storage_path` env var in head Pod when the embedded GCS FT "
        "backend is used - these are managed by KubeRay",
    ),
    Example(
        says="the embedded store's mount is not made by users",
        rule=fault_tolerance.ROCKSDB_MOUNT,
        good=both(rocksdb(), head_container(**mount("mine", "/data"))),
        bad=both(rocksdb(), head_container(**mount("mine", "/data/gcs"))),
        path="headGroupSpec.template.spec.containers[0].volumeMounts[/data/gcs]",
        message='cannot set a volume mount named "gcs-storage" or mounted at /data/gcs in the head container when the '
        "embedded GCS FT backend is used - it is managed by KubeRay",
    ),
    Example(
        says="the embedded store's volume is not made by users",
        rule=fault_tolerance.ROCKSDB_VOLUME,
        good=head_pod(volumes=[{"name": "gcs-storage", "emptyDir": {}}]),
        bad=both(rocksdb(), head_pod(volumes=[{"name": "gcs-storage", "emptyDir": {}}])),
        path="headGroupSpec.template.spec.volumes[gcs-storage]",
        message='cannot set a volume named "gcs-storage" in the head Pod when the embedded GCS FT backend is used - '
        "it is managed by KubeRay",
    ),
    Example(
        says="Redis needs no storage",
        rule=fault_tolerance.REDIS_WITH_STORAGE,
        good=rocksdb(storage={}),
        bad={"gcsFaultToleranceOptions": {"storage": {}}},
        path="gcsFaultToleranceOptions.storage",
        message="cannot set GcsFaultToleranceOptions.Storage when backend is 'redis' - it only applies to the "
        "'rocksdb' backend",
    ),
    Example(
        says="the Redis user name is not a start parameter",
        rule=fault_tolerance.USERNAME_ELSEWHERE,
        good=both(REDIS, {"gcsFaultToleranceOptions": {"redisUsername": {"value": "x"}}}),
        bad=head(rayStartParams={"redis-username": "x"}),
        path="headGroupSpec.rayStartParams[redis-username]",
        message="cannot set redis username in rayStartParams or environment variables - "
        "use GcsFaultToleranceOptions.RedisUsername instead",
    ),
    Example(
        says="the Redis user name is not a variable",
        rule=fault_tolerance.USERNAME_ELSEWHERE,
        good=head_env(REDIS_USER="x"),
        bad=head_env(REDIS_USERNAME="x"),
        path=f"{ENV_PATH}[REDIS_USERNAME]",
        message="cannot set redis username in rayStartParams or environment variables - "
        "use GcsFaultToleranceOptions.RedisUsername instead",
    ),
)
