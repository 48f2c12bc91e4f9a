"""The probes of Ray's container, where the user has set none."""

from manta_common.api import containers
from manta_common.gotext import GoError, parse_int
from manta_common.ray.cluster import Manifest, origin
from manta_common.ray.draft import Draft
from manta_common.validation.versions import SINGLE_HEALTH_ENDPOINT, supports

_AGENT_PORT = "dashboard-agent-listen-port"
_HIGHEST = 2**31 - 1


def set_probes(draft: Draft) -> None:
    """Let Kubernetes see whether Ray lives and whether it is ready."""
    if not draft.settings.probes:
        return
    serves = not draft.is_head and origin(draft.cluster) == "RayService"
    timing = {"timeoutSeconds": 5 if draft.is_head else 2, "periodSeconds": 5, "successThreshold": 1}
    alive = {"initialDelaySeconds": 30, **timing, "failureThreshold": 120}
    ready = {"initialDelaySeconds": 10, **timing, "failureThreshold": 1 if serves else 10}
    draft.ray.setdefault("livenessProbe", _check(draft) | alive)
    draft.ray.setdefault("readinessProbe", (_serve_check(draft) if serves else _check(draft)) | ready)


def _check(draft: Draft) -> Manifest:
    if supports(draft.cluster.spec.ray_version, SINGLE_HEALTH_ENDPOINT):
        return {"httpGet": {"path": "/api/healthz", "port": _agent_port(draft)}}
    return _shell(_raylet(draft), _gcs(draft)) if draft.is_head else _shell(_raylet(draft))


def _serve_check(draft: Draft) -> Manifest:
    ports = {port.name: port.container_port for port in draft.ports}
    port = ports.get(containers.SERVE_PORT_NAME, containers.SERVE_PORT)
    return _shell(_raylet(draft), _wget(port, "-/healthz", timeout_seconds=10))


def _raylet(draft: Draft) -> str:
    return _wget(_agent_port(draft), "api/local_raylet_healthz", timeout_seconds=2)


def _gcs(draft: Draft) -> str:
    port = _number(draft.params.get("dashboard-port", ""), containers.DASHBOARD_PORT)
    return _wget(port, "api/gcs_healthz", timeout_seconds=10)


def _wget(port: int, path: str, *, timeout_seconds: int) -> str:
    return f"wget --tries 1 -T {timeout_seconds} -q -O- http://localhost:{port}/{path} | grep success"


def _shell(*commands: str) -> Manifest:
    return {"exec": {"command": ["bash", "-c", " && ".join(commands)]}}


def _agent_port(draft: Draft) -> int:
    return _number(draft.params.get(_AGENT_PORT, ""), containers.DASHBOARD_AGENT_PORT)


def _number(text: str, usual: int) -> int:
    try:
        number = parse_int(text)
    except GoError:
        return usual
    return number if -_HIGHEST - 1 <= number <= _HIGHEST else usual
