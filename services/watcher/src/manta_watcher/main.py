"""The watcher as a service: connections, telemetry, and a reign."""

import manta_common.config
from manta_common.parts import Parts
from manta_common.wiring import Connections, connections, until_stopped
from manta_watcher.metrics import show_metrics
from manta_watcher.reign import Watcher
from manta_watcher.session import Task

ABOUT = "Publishes what changes in Kubernetes to NATS. One replica is active, the others stand by."


async def main(config: manta_common.config.Config, parts: Parts) -> None:
    """Watch until told to stop."""
    async with connections(config, parts) as found:
        await watch(found, parts, Task(namespaces=config.watch_namespaces, partitions=config.partitions))


async def watch(found: Connections, parts: Parts, task: Task) -> None:
    """The same with connections that there are already, and with kinds of one's own."""
    watcher = Watcher(found.means, found.kube, task)
    parts.show("watcher", lambda: shown(watcher))
    show_metrics(parts.metrics, watcher)
    parts.ready()
    await until_stopped(parts, watcher)


def shown(watcher: Watcher) -> dict[str, object]:
    """What `/debug/state` says of a watcher."""
    session = watcher.session
    return {
        "active": watcher.active,
        "whole": watcher.tally.whole,
        "sessions": watcher.tally.sessions,
        "changes": watcher.tally.changes,
        "unreadable": watcher.tally.unreadable,
        "objects": session.known if session else 0,
        "waiting": session.depth if session else 0,
    }
