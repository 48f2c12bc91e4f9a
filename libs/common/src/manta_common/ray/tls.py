"""What pods get when their nodes talk by TLS: the certificate, its places, and a wait until it names the pod."""

from typing import Final

from manta_common.api import containers, env, names
from manta_common.ray.cluster import Manifest, has_tls
from manta_common.ray.draft import Draft, add_volume, append, append_absent, equal_resources, field_variable, variable

_FILES: Final = {
    env.RAY_TLS_SERVER_CERT: "tls.crt",
    env.RAY_TLS_SERVER_KEY: "tls.key",
    env.RAY_TLS_CA_CERT: "ca.crt",
}
_WAIT: Final = """\
CERT="/etc/ray/tls/tls.crt"
if [ -z "${POD_IP}" ]; then
  POD_IP=$(hostname -i 2>/dev/null | awk '{print $1}')
fi
if ! command -v openssl >/dev/null 2>&1; then
  echo "openssl not found; cannot verify IP SAN" >&2
  exit 1
fi
echo "Waiting for TLS cert to include IP SAN for ${POD_IP}..."
while true; do
  if openssl x509 -in "${CERT}" -noout -text 2>/dev/null | grep -qE "IP Address:${POD_IP}([^0-9.]|$)"; then
    echo "TLS cert now includes IP SAN for ${POD_IP}"
    exit 0
  fi
  echo "IP SAN for ${POD_IP} not yet in cert, retrying in 5s..."
  sleep 5
done"""


def set_tls(draft: Draft) -> None:
    """Give Ray and what waits for it the node's certificate."""
    if not has_tls(draft.cluster, draft.settings):
        return
    secret = names.node_secret(draft.cluster.metadata.name, draft.node_type)
    add_volume(draft.spec, {"name": containers.TLS_VOLUME, "secret": {"secretName": secret}})
    waiting = draft.init_container(containers.WAIT_GCS_READY)
    for container in (draft.ray, *([waiting] if waiting else [])):
        give_certificate(container)
    if draft.init_container(containers.WAIT_TLS_IP_SAN) is None:
        draft.spec["initContainers"] = [_waiting(draft), *draft.spec.get("initContainers", ())]


def give_certificate(container: Manifest) -> None:
    """Give one container the node's certificate."""
    paths = [variable(name, f"{containers.TLS_PATH}/{file}") for name, file in _FILES.items()]
    append_absent(container, [variable(env.RAY_USE_TLS, "1"), *paths])
    mounts = container.get("volumeMounts", ())
    taken = {one["name"] for one in mounts} | {one["mountPath"] for one in mounts}
    if taken.isdisjoint({containers.TLS_VOLUME, containers.TLS_PATH}):
        append(container, "volumeMounts", [_mounted()])


def _waiting(draft: Draft) -> Manifest:
    like_ray = ("image", "imagePullPolicy", "securityContext")
    return {
        "name": containers.WAIT_TLS_IP_SAN,
        **{field: draft.ray[field] for field in like_ray if field in draft.ray},
        "command": ["sh", "-c"],
        "args": [_WAIT],
        "env": [field_variable(env.POD_IP, "status.podIP")],
        "volumeMounts": [_mounted()],
        "resources": equal_resources("50m", "64Mi"),
    }


def _mounted() -> Manifest:
    return {"name": containers.TLS_VOLUME, "mountPath": containers.TLS_PATH, "readOnly": True}
