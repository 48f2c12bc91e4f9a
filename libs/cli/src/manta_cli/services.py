"""The services that this version can run, and those that are still to come."""

from collections.abc import Callable, Coroutine
from typing import Any

import manta_cluster_reconciler.config
import manta_cluster_reconciler.main
import manta_dashboard_gateway.config
import manta_dashboard_gateway.main
import manta_janitor.config
import manta_janitor.main
import manta_job_reconciler.config
import manta_job_reconciler.main
import manta_serve_reconciler.config
import manta_serve_reconciler.main
import manta_watcher.config
import manta_watcher.main
from manta_common.config import Config
from manta_common.parts import Parts

Main = Callable[[Any, Parts], Coroutine[Any, Any, None]]

BUILT: dict[str, tuple[type[Config], Main, str]] = {
    "watcher": (manta_watcher.config.Config, manta_watcher.main.main, manta_watcher.main.ABOUT),
    "cluster-reconciler": (
        manta_cluster_reconciler.config.Config,
        manta_cluster_reconciler.main.main,
        manta_cluster_reconciler.main.ABOUT,
    ),
    "dashboard-gateway": (
        manta_dashboard_gateway.config.Config,
        manta_dashboard_gateway.main.main,
        manta_dashboard_gateway.main.ABOUT,
    ),
    "job-reconciler": (
        manta_job_reconciler.config.Config,
        manta_job_reconciler.main.main,
        manta_job_reconciler.main.ABOUT,
    ),
    "serve-reconciler": (
        manta_serve_reconciler.config.Config,
        manta_serve_reconciler.main.main,
        manta_serve_reconciler.main.ABOUT,
    ),
    "janitor": (manta_janitor.config.Config, manta_janitor.main.main, manta_janitor.main.ABOUT),
}
TO_COME: tuple[str, ...] = ()
