"""The embedded API over HTTP, in a thread of its own, as a cluster to the tests."""

import asyncio
import pathlib
import threading
from collections.abc import Callable

from manta_embedded.api.machine import Node
from manta_embedded.api.serve import Api, serve
from manta_embedded.api.settings import ApiSettings
from tests.parts.cluster import Cluster
from tests.parts.patience import patient

LIMIT_SECONDS = 30


class EmbeddedCluster(Cluster):
    """An API that listens on loopback until it is stopped. Its store may only be touched through `do`."""

    def __init__(self, settings: ApiSettings, node: Node | None = None) -> None:
        self._settings, self._node = settings, node
        self._loop = asyncio.new_event_loop()
        self._started, self._ending = threading.Event(), asyncio.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="embedded-api", daemon=True)
        self._thread.start()
        if not self._started.wait(patient(LIMIT_SECONDS)) or self._failure:
            raise RuntimeError("the embedded API did not start") from self._failure
        super().__init__(
            "the embedded API",
            server=self.api.url,
            ca=self.api.ca,
            token=self.api.admin_token,
            kubeconfig=self.api.kubeconfig,
        )

    @classmethod
    def start(cls, folder: pathlib.Path, node: Node | None = None) -> "EmbeddedCluster":
        """A new one, with everything in a folder."""
        return cls(ApiSettings(folder=folder / "embedded-api"), node)

    def do(self, act: Callable[[Api], object]) -> None:
        """Have something done in the thread of the API."""
        self._loop.call_soon_threadsafe(act, self.api)

    def stop(self) -> None:
        """End it."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ending.set)
            self._thread.join(patient(LIMIT_SECONDS))

    def log_tail(self) -> str:
        """What was to be told of its start."""
        return "\n".join(self.api.notes)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except Exception as error:  # noqa: BLE001  whoever started the thread is told of it
            self._failure = error
        self._started.set()

    async def _serve(self) -> None:
        async with serve(self._settings, node=self._node) as self.api:
            self._started.set()
            await self._ending.wait()
