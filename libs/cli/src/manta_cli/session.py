"""One command that talks to a cluster: which one, which namespace, and what becomes of its errors."""

import argparse
import asyncio
import contextlib
import os
import pathlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Protocol
from urllib.parse import urlencode

import msgspec
import yaml

from manta_cli.console import Console
from manta_cli.failures import INTERRUPTED, UNAVAILABLE, Failed, told
from manta_cli.place import Place, default_folder
from manta_common.errors import MantaError, Misconfigured
from manta_common.keys import Key
from manta_common.kinds import POD, Kind
from manta_common.kube.access import SERVICE_ACCOUNT, source
from manta_common.kube.client import VERSION, Client
from manta_common.kube.connection import Connection
from manta_common.kube.protocol import Kube
from manta_common.kube.settings import KubeSettings
from manta_common.kube.transport import Call

DEFAULT_NAMESPACE: Final = "default"
FORMS: Final = ("table", "wide", "json", "yaml", "name")


class Cluster(Kube, Protocol):
    """What commands ask of a cluster."""

    def log(self, key: Key, *, container: str = "", follow: bool = False) -> AsyncIterator[bytes]:
        """The log of a container of a pod, as it comes."""

    async def fetch(self, path: str) -> bytes:
        """What the API server answers on a path."""

    async def server_version(self) -> str:
        """The version that the API server runs."""


class CliClient(Client):
    """The kube client with what only people need: logs, and any path that the API server answers."""

    async def log(self, key: Key, *, container: str = "", follow: bool = False) -> AsyncIterator[bytes]:
        """The log of a container of a pod, as it comes."""
        query = {"follow": "true"} if follow else {}
        if container:
            query["container"] = container
        path = f"{POD.object_path(key, 'log')}?{urlencode(query)}"
        call = Call(verb="get", kind=POD, path=path, limit_seconds=self._settings.get_seconds, accept="*/*")
        async with self._transport.stream(call) as stream:
            while chunk := await stream.readany():
                yield chunk

    async def fetch(self, path: str) -> bytes:
        """What the API server answers on a path."""
        call = Call(verb="get", kind=VERSION, path=path, limit_seconds=self._settings.get_seconds)
        return await self._transport.send(call)


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """What a command works with."""

    options: argparse.Namespace
    kube: Cluster
    console: Console
    namespace: str

    def key(self, kind: Kind, name: str) -> Key:
        """An object that was named, in the namespace of this command."""
        return Key(self.namespace if kind.namespaced else "", name)


Work = Callable[[Session], Awaitable[int]]


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """The flags of every command that talks to a cluster."""
    group = parser.add_argument_group("the cluster")
    which = "else KUBECONFIG, the pod's account, a standalone Manta that runs, ~/.kube/config"
    group.add_argument("--kubeconfig", metavar="FILE", default="", help=which)
    group.add_argument(
        "--context", metavar="NAME", default="", help="a context of the kubeconfig; else the current one"
    )
    group.add_argument("-n", "--namespace", metavar="NS", default="", help="else that of the context")


def add_output(parser: argparse.ArgumentParser, *forms: str) -> None:
    """The flag for how to print."""
    known = forms or FORMS
    parser.add_argument("-o", "--output", choices=known, default=known[0], help=f"how to print; {known[0]} by default")


def run(options: argparse.Namespace, work: Work, console: Console | None = None) -> int:
    """Connect, do the work, and return the exit code; errors are told in a sentence."""
    shown = console or Console()
    try:
        return asyncio.run(_connected(options, work, shown))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (MantaError, Failed, BaseExceptionGroup) as error:
        message, code = told(_first(error))
        where = f" (the cluster is that of {kubeconfig_of(options)})" if code == UNAVAILABLE else ""
        shown.tell(f"manta {options.command}: {message}{where}")
        return code


def _first(error: BaseException) -> MantaError | Failed:
    """Of errors that came together the first; one that is not ours goes its way."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if not isinstance(error, MantaError | Failed):
        raise error
    return error


async def _connected(options: argparse.Namespace, work: Work, console: Console) -> int:
    kubeconfig = "" if in_pod(options) else kubeconfig_of(options)
    async with opened(kubeconfig, options.context) as kube:
        namespace = options.namespace or context_namespace(kubeconfig, options.context)
        return await work(Session(options=options, kube=kube, console=console, namespace=namespace))


@contextlib.asynccontextmanager
async def opened(kubeconfig: str, context: str) -> AsyncIterator[CliClient]:
    """A client for the cluster of a kubeconfig."""
    connection = Connection(source(kubeconfig, context))
    await connection.current()
    client = CliClient(connection, KubeSettings(service="cli"))
    try:
        yield client
    finally:
        await client.close()


def in_pod(options: argparse.Namespace) -> bool:
    """Whether the cluster is the one whose pod we run in."""
    given = options.kubeconfig or os.environ.get("KUBECONFIG")
    return not given and "KUBERNETES_SERVICE_HOST" in os.environ


def kubeconfig_of(options: argparse.Namespace) -> str:
    """The kubeconfig that counts: the given one, KUBECONFIG, that of a standalone Manta that runs, the home's."""
    given = options.kubeconfig or os.environ.get("KUBECONFIG", "")
    if given:
        return str(given)
    place = Place(default_folder())
    if place.kubeconfig.exists() and place.pid() is not None:
        return str(place.kubeconfig)
    return str(pathlib.Path("~/.kube/config").expanduser())


def context_namespace(kubeconfig: str, context: str) -> str:
    """The namespace that a context of the kubeconfig names, or that of the pod we run in."""
    if not kubeconfig:
        file = SERVICE_ACCOUNT / "namespace"
        return file.read_text().strip() if file.exists() else DEFAULT_NAMESPACE
    contexts: dict[str, str] = {}
    current = context
    for path in kubeconfig.split(os.pathsep):
        try:
            config = yaml.safe_load(pathlib.Path(path).read_text()) if pathlib.Path(path).exists() else {}
            current = current or config.get("current-context", "")
            for one in config.get("contexts") or ():
                contexts.setdefault(one["name"], one["context"].get("namespace", ""))
        except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
            raise Misconfigured(f"the kubeconfig {path} cannot be used: {error}") from error
    return contexts.get(current) or DEFAULT_NAMESPACE
