"""The services that this version can run, and those that are still to come."""

import importlib
from collections.abc import Callable, Coroutine
from typing import Any, Final

import msgspec

from manta_common.config import Config
from manta_common.parts import Parts

Main = Callable[[Any, Parts], Coroutine[Any, Any, None]]


class Service(msgspec.Struct, frozen=True):
    """A service, by its package. It is loaded when it is asked for: all of them would cost each process 12 MiB."""

    package: str

    @property
    def config(self) -> type[Config]:
        """Its settings."""
        found: type[Config] = importlib.import_module(f"{self.package}.config").Config
        return found

    @property
    def main(self) -> Main:
        """What it does."""
        found: Main = importlib.import_module(f"{self.package}.main").main
        return found

    @property
    def about(self) -> str:
        """What its `--help` says of it."""
        return str(importlib.import_module(f"{self.package}.main").ABOUT)


BUILT: Final = {
    "watcher": Service("manta_watcher"),
    "cluster-reconciler": Service("manta_cluster_reconciler"),
    "dashboard-gateway": Service("manta_dashboard_gateway"),
    "job-reconciler": Service("manta_job_reconciler"),
    "serve-reconciler": Service("manta_serve_reconciler"),
    "janitor": Service("manta_janitor"),
}
TO_COME: tuple[str, ...] = ()
