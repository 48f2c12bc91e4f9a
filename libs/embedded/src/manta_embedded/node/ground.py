"""What all pods of a node share: the API, the network, the names, and the telling of events."""

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from manta_common.errors import NotFound
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, POD, SECRET, Kind
from manta_common.kube.events import Recorder, reference
from manta_common.kube.protocol import Kube
from manta_common.kube.series import Notice
from manta_embedded.node.env import Sources
from manta_embedded.node.ledger import Ledger
from manta_embedded.node.network import Network
from manta_embedded.node.settings import NodeSettings
from manta_embedded.store.objects import Obj

Tokens = Callable[[str, str], str]  # namespace and service account -> a token for the API
CONTROLLER = "kubelet"


class Ground:
    """The parts that a pod's runner works with."""

    def __init__(
        self, kube: Kube, settings: NodeSettings, *, recorder: Recorder, network: Network, tokens: Tokens
    ) -> None:
        self.kube, self.settings, self.tokens = kube, settings, tokens
        self.ledger = Ledger(settings.folder / "processes.json")
        self.network = network
        self.services: dict[Key, Obj] = {}
        self.pods: dict[Key, Obj] = {}
        self._recorder = recorder

    def now(self) -> datetime:
        """The API's time."""
        return self.kube.now()

    def tell(
        self, pod: Obj, reason: str, note: str, *, kind: Literal["Normal", "Warning"] = "Normal", who: str = CONTROLLER
    ) -> None:
        """Record an event of a pod."""
        key = Key(pod["metadata"]["namespace"], pod["metadata"]["name"])
        notice = Notice(controller=who, type=kind, reason=reason, action=reason, note=note)
        self._recorder.record(reference(POD, key, pod["metadata"]["uid"]), notice)

    async def sources(self, namespace: str, wanted: tuple[set[str], set[str]], addresses: tuple[str, str]) -> Sources:
        """The config maps and secrets of these names, as they are now."""
        configmaps, secrets = wanted
        return Sources(
            configmaps={name: await self._found(CONFIGMAP, Key(namespace, name)) for name in sorted(configmaps)},
            secrets={name: await self._found(SECRET, Key(namespace, name)) for name in sorted(secrets)},
            addresses=addresses,
            allocatable=dict(self.settings.capacity),
        )

    async def _found(self, kind: Kind, key: Key) -> Obj | None:
        try:
            return await self.kube.get(kind, key, dict)
        except NotFound:
            return None
