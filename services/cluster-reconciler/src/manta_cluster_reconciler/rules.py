"""What an administrator decides about all clusters, as far as decisions depend on it. Pure."""

import msgspec

from manta_common.ray.settings import RaySettings


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """KubeRay's switches and Manta's own limits."""

    ray: RaySettings = RaySettings()
    random_pod_delete: bool = False  # with the autoscaler: the operator may choose workers to delete itself
    redis_cleanup: bool = True  # a finalizer lets the janitor clean Redis up
    resync_seconds: int = 600  # after which what no feed shows is asked for again; 0 is never
    in_flight: int = 50  # writes for one cluster at the same time
    creates_per_pass: int = 500  # so that the status of a large cluster is written now and then
