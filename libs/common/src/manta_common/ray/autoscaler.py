"""Ray's autoscaler: a container beside the head."""

import msgspec
from msgspec import UNSET

from manta_common.api import containers, env, labels, names
from manta_common.api.rayoptions import AutoscalerOptions
from manta_common.ray.auth import give_token
from manta_common.ray.cluster import Manifest, autoscaler_version, has_tls, is_autoscaling, runs_autoscaler_v2
from manta_common.ray.draft import Draft, append, decoded, equal_resources, field_variable, variable
from manta_common.ray.environment import cluster_fields
from manta_common.ray.tls import give_certificate

_START = (
    f"ray kuberay-autoscaler --cluster-name $({env.RAY_CLUSTER_NAME}) "
    f"--cluster-namespace $({env.RAY_CLUSTER_NAMESPACE})"
)


def add_autoscaler(draft: Draft) -> None:
    """Put the autoscaler beside the head, with an account that may change the cluster."""
    if not is_autoscaling(draft.cluster):
        return
    draft.params["no-monitor"] = labels.TRUE
    account = draft.spec.get("serviceAccountName", "")
    draft.spec["serviceAccountName"] = names.autoscaler_account(draft.cluster.metadata.name, account)
    append(draft.spec, "containers", [_container(draft)])
    version = autoscaler_version(draft.cluster)
    if version:
        chosen = labels.TRUE if version == "v2" else labels.FALSE
        append(draft.ray, "env", [variable(env.ENABLE_AUTOSCALER_V2, chosen)])


def forbid_restarts(draft: Draft) -> None:
    """Version 2 of the autoscaler knows nodes by their pods and cannot bear one that comes back in place."""
    if runs_autoscaler_v2(draft.cluster):
        draft.spec["restartPolicy"] = "Never"


def _container(draft: Draft) -> Manifest:
    options = draft.cluster.spec.autoscaler_options or AutoscalerOptions()
    container: Manifest = {
        "name": containers.AUTOSCALER,
        "image": draft.ray.get("image", "") if options.image is None else options.image,
        "imagePullPolicy": "IfNotPresent" if options.image_pull_policy is None else options.image_pull_policy,
        "command": list(options.command or draft.settings.shell),
        "args": list(options.args or (_START,)),
        "env": _environment(),
        "resources": equal_resources("500m", "512Mi"),
    }
    for field, given in (("resources", options.resources), ("securityContext", options.security_context)):
        if given is not UNSET:
            container[field] = msgspec.json.decode(given)
    give_token(draft.cluster, container)
    if has_tls(draft.cluster, draft.settings):
        give_certificate(container)
    append(container, "env", decoded(options.env))
    append(container, "envFrom", decoded(options.env_from))
    append(container, "volumeMounts", decoded(options.volume_mounts))
    return container


def _environment() -> list[Manifest]:
    return [
        *cluster_fields(),
        field_variable(env.RAY_HEAD_POD_NAME, "metadata.name"),
        variable(env.KUBERAY_CRD_VERSION, "v1"),
        variable(env.AUTOSCALER_START_CMD, _START),
    ]
