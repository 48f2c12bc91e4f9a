"""What a pod gets when the GCS' state outlives the head: in Redis, or on a volume of the head."""

import msgspec
from msgspec import UNSET

from manta_common.api import annotations, containers, env, labels, names
from manta_common.api.rayoptions import GcsFaultToleranceOptions, RedisCredential
from manta_common.ray.claims import embedded_storage
from manta_common.ray.cluster import ROCKSDB, Manifest, has_embedded_storage, is_fault_tolerant, storage_namespace
from manta_common.ray.draft import Draft, add_volume, append, append_absent, has_variable, mount, variable


def set_fault_tolerance(draft: Draft) -> None:
    """Tell Ray where its state is kept; a worker only has to wait longer for a head that comes back."""
    fault_tolerant = is_fault_tolerant(draft.cluster)
    if draft.is_head:
        draft.metadata["annotations"][annotations.FT_ENABLED] = labels.TRUE if fault_tolerant else labels.FALSE
    if not fault_tolerant:
        return
    if not draft.is_head:
        append_absent(draft.ray, [variable(env.GCS_RECONNECT_TIMEOUT, "600")])
    elif has_embedded_storage(draft.cluster):
        _use_volume(draft)
    else:
        _use_redis(draft)


def _use_redis(draft: Draft) -> None:
    namespace = storage_namespace(draft.cluster)
    draft.metadata["annotations"][annotations.EXTERNAL_STORAGE_NAMESPACE] = namespace
    append_absent(draft.ray, [variable(env.EXTERNAL_STORAGE_NAMESPACE, namespace)])
    options = draft.cluster.spec.gcs_fault_tolerance_options
    if options is None:
        _use_redis_password(draft)
    else:
        _use_redis_options(draft, options)


def _use_redis_options(draft: Draft, options: GcsFaultToleranceOptions) -> None:
    append(draft.ray, "env", [variable(env.RAY_REDIS_ADDRESS, options.redis_address)])
    if options.redis_username:
        draft.params["redis-username"] = f"${env.REDIS_USERNAME}"
        append(draft.ray, "env", [_credential(env.REDIS_USERNAME, options.redis_username)])
    if options.redis_password:
        draft.params["redis-password"] = f"${env.REDIS_PASSWORD}"
        append(draft.ray, "env", [_credential(env.REDIS_PASSWORD, options.redis_password)])


def _use_redis_password(draft: Draft) -> None:
    """The old way: the password among the parameters, which the cleanup Job needs as a variable."""
    if "redis-password" in draft.params and not has_variable(draft.ray, env.REDIS_PASSWORD):
        append(draft.ray, "env", [variable(env.REDIS_PASSWORD, draft.params["redis-password"])])


def _credential(name: str, given: RedisCredential) -> Manifest:
    source = {} if given.value_from is UNSET else {"valueFrom": msgspec.json.decode(given.value_from)}
    return {"name": name, **({"value": given.value} if given.value else {}), **source}


def _use_volume(draft: Draft) -> None:
    storage = embedded_storage(draft.cluster)
    place = [variable(env.GCS_STORAGE, ROCKSDB), variable(env.GCS_STORAGE_PATH, containers.GCS_STORAGE_PATH)]
    append_absent(draft.ray, place)
    mounted = {"name": containers.GCS_STORAGE_VOLUME, "mountPath": containers.GCS_STORAGE_PATH}
    mount(draft.ray, mounted | ({"subPath": storage.sub_path} if storage.sub_path else {}))
    claim = {"claimName": names.gcs_claim(draft.cluster.metadata.name, storage.claim_name)}
    add_volume(draft.spec, {"name": containers.GCS_STORAGE_VOLUME, "persistentVolumeClaim": claim})
