"""Run all services in one process: against a cluster, or standalone, with an API, a NATS and a node of their own."""

import argparse
import asyncio
import contextlib
import functools
import os
import pathlib
import tempfile
from collections.abc import Mapping
from typing import ClassVar

import msgspec

import manta_common.config
from manta_cli.place import Place, default_folder
from manta_cli.services import BUILT, TO_COME
from manta_common.config import load
from manta_common.errors import Misconfigured
from manta_common.parts import Parts
from manta_common.run import reported, serve
from manta_common.telemetry.logs import log_values
from manta_embedded.nats import embedded_nats


class Config(manta_common.config.Config, frozen=True, kw_only=True):
    """The settings of every service, and where its own NATS keeps its data."""

    SERVICE: ClassVar[str] = "cli"
    embedded_nats: bool = False
    folder: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta up`; each stands over the setting of the same meaning."""
    parser.add_argument("--kubeconfig", metavar="FILE", help="the cluster to look after; without it, one of its own")
    parser.add_argument("--nats", metavar="URL", help="a NATS with JetStream; without it one is started")
    parser.add_argument("--feature-gates", metavar="A=true,B=false", help="KubeRay's feature gates")
    parser.add_argument("--watch-namespaces", metavar="NS,NS", help="look after these namespaces only")
    parser.add_argument(
        "--data", metavar="DIR", help="where what is started keeps its data; standalone: ~/.local/share/manta"
    )
    parser.add_argument(
        "--http", metavar="ADDRESS", default="127.0.0.1:0", help="where /metrics and the like are served"
    )


def up(options: argparse.Namespace) -> int:
    """Run all services that are built, in this process, until SIGTERM or SIGINT."""
    work = _serve if options.kubeconfig or "MANTA_KUBECONFIG" in os.environ else _standalone
    return reported("cli", lambda: work(options, _environment(options)))


def _standalone(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    from manta_cli import standalone  # noqa: PLC0415  only when asked for: it needs more than the services do

    if options.nats:
        raise Misconfigured("--nats goes with --kubeconfig: a standalone Manta has a NATS of its own")
    place = Place(pathlib.Path(options.data).absolute() if options.data else default_folder())
    ways = {**environment, "MANTA_DASHBOARD_GATEWAY_REACH": standalone.BY_POD}
    services = {name: load(service.config, ways, None) for name, service in BUILT.items()}
    return standalone.run(place, services, load(Config, environment, None))


def _serve(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    services = {name: load(service.config, environment, None) for name, service in BUILT.items()}
    return serve(_config(options, environment), functools.partial(_main, services), "cli")


def _environment(options: argparse.Namespace) -> dict[str, str]:
    given = {
        "MANTA_KUBECONFIG": options.kubeconfig,
        "MANTA_NATS_URLS": options.nats,
        "MANTA_FEATURE_GATES": options.feature_gates,
        "MANTA_WATCH_NAMESPACES": options.watch_namespaces,
        "MANTA_HTTP_ADDRESS": options.http,
    }
    return {**os.environ, **{name: value for name, value in given.items() if value}}


def _config(options: argparse.Namespace, environment: Mapping[str, str]) -> Config:
    config = load(Config, environment, None)
    own = not options.nats and "MANTA_NATS_URLS" not in os.environ
    return msgspec.structs.replace(config, embedded_nats=own, folder=options.data or "")


async def _main(services: Mapping[str, manta_common.config.Config], config: Config, parts: Parts) -> None:
    async with contextlib.AsyncExitStack() as stack:
        if config.embedded_nats:
            folder = config.folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="manta-"))
            url = await stack.enter_async_context(embedded_nats(pathlib.Path(folder) / "nats"))
            config = msgspec.structs.replace(config, nats_urls=(url,))
        parts.show("services", lambda: {"running": list(BUILT), "not built yet": list(TO_COME)})
        parts.ready()
        async with asyncio.TaskGroup() as group:
            for name, service in BUILT.items():
                own = msgspec.structs.replace(services[name], nats_urls=config.nats_urls)
                with log_values(service=name):
                    group.create_task(service.main(own, parts.beside(name)))
