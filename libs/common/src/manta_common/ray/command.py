"""How Ray is started in its container."""

from manta_common.api import annotations, labels
from manta_common.ray.draft import Draft
from manta_common.ray.params import flags

_ULIMIT = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; "


def ray_start(draft: Draft) -> str:
    """The command line that starts Ray, its file limit aside."""
    return f"ray start {'--head ' if draft.is_head else ''}{flags(draft.params)}"


def set_command(draft: Draft) -> None:
    """Start Ray after what the user runs, unless the user starts it or asked to be left alone."""
    given = [*draft.ray.get("command", ()), *draft.ray.get("args", ())]
    joined = "".join(f" {part} " for part in given)
    if _is_overwritten(draft) or "ray start" in joined:
        return
    before = f"{joined} && " if joined else ""
    draft.ray["command"] = list(draft.settings.shell)
    draft.ray["args"] = [f"{before}{_ULIMIT}{ray_start(draft)}"]


def mark_overwritten(draft: Draft) -> None:
    """Carry the cluster's wish to keep the users' commands over to the pod."""
    key = annotations.OVERWRITE_CONTAINER_CMD
    if draft.cluster.metadata.annotations.get(key, "").lower() == labels.TRUE:
        draft.metadata["annotations"][key] = labels.TRUE


def _is_overwritten(draft: Draft) -> bool:
    return bool(draft.metadata["annotations"].get(annotations.OVERWRITE_CONTAINER_CMD, "").lower() == labels.TRUE)
