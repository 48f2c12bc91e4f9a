"""The services that this version can run, and those that are still to come."""

from collections.abc import Callable, Coroutine
from typing import Any

import manta_watcher.config
import manta_watcher.main
from manta_common.config import Config
from manta_common.parts import Parts

Main = Callable[[Any, Parts], Coroutine[Any, Any, None]]

BUILT: dict[str, tuple[type[Config], Main, str]] = {
    "watcher": (manta_watcher.config.Config, manta_watcher.main.main, manta_watcher.main.ABOUT),
}
TO_COME = ("cluster-reconciler", "job-reconciler", "dashboard-gateway", "janitor", "serve-reconciler")
