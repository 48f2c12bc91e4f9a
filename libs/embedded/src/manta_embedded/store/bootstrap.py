"""What an API holds before anyone has written to it."""

from manta_common.kinds import NAMESPACE, SERVICE, Kind
from manta_embedded.store.objects import Obj

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


def first_objects() -> list[tuple[Kind, Obj]]:
    """The objects in the order in which they are to be created."""
    namespaces: list[tuple[Kind, Obj]] = [(NAMESPACE, {"metadata": {"name": name}}) for name in NAMESPACES]
    return [*namespaces, (SERVICE, _api_service())]


def _api_service() -> Obj:
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}
    return {
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {"clusterIP": "10.96.0.1", "ports": [port]},
    }
