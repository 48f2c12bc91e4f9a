"""The init container that holds a worker back until the head's GCS answers."""

import copy

from manta_common.api import containers
from manta_common.ray.cluster import Manifest, head_port
from manta_common.ray.draft import Draft, append, equal_resources

_FAQ = "https://docs.ray.io/en/master/cluster/kubernetes/troubleshooting.html"
_SILENT_SECONDS = 120
_STILL_WAITING = (
    'echo "$SECONDS seconds elapsed: Still waiting for GCS to be ready. '
    f'For troubleshooting, refer to the FAQ at {_FAQ}."'
)


def add_waiting(draft: Draft) -> None:
    """Let the worker wait for the head, after the user's own init containers."""
    if draft.settings.init_container:
        append(draft.spec, "initContainers", [_container(draft)])


def _container(draft: Draft) -> Manifest:
    like_ray = ("image", "imagePullPolicy", "securityContext", "env", "volumeMounts")
    return {
        "name": containers.WAIT_GCS_READY,
        **{field: copy.deepcopy(draft.ray[field]) for field in like_ray if field in draft.ray},
        "command": list(draft.settings.shell),
        "args": [_script(f"{draft.address}:{head_port(draft.cluster)}")],
        "resources": equal_resources("200m", "256Mi"),
    }


def _script(address: str) -> str:
    """The loop, with the white space of KubeRay's, so that pods of both are alike."""
    ask = f"ray health-check --address {address}"
    lines = [
        (0, "SECONDS=0"),
        (0, "while true; do"),
        (1, f"if (( SECONDS <= {_SILENT_SECONDS} )); then"),
        (2, f"if {ask} > /dev/null 2>&1; then"),
        (3, 'echo "GCS is ready."'),
        (3, "break"),
        (2, "fi"),
        (2, 'echo "$SECONDS seconds elapsed: Waiting for GCS to be ready."'),
        (1, "else"),
        (2, f"if {ask}; then"),
        (3, 'echo "GCS is ready. Any error messages above can be safely ignored."'),
        (3, "break"),
        (2, "fi"),
        (2, _STILL_WAITING),
        (1, "fi"),
        (1, "sleep 5"),
        (0, "done"),
    ]
    return "\n" + "".join("\t" * (5 + level) + f"{line}\n" for level, line in lines) + "\t" * 4
