"""Print this version's CRDs, or apply them to a cluster: installed where they are missing, else brought up to date."""

import argparse
import asyncio
import sys
from contextlib import aclosing
from typing import Any, Final

from manta_common.crd import kubernetes
from manta_common.crd.definitions import KINDS, definition
from manta_common.crd.files import crds
from manta_common.errors import MantaError
from manta_common.keys import Key
from manta_common.kinds import CRD
from manta_common.kube.client import connect
from manta_common.kube.protocol import Apply, Kube, Scope
from manta_common.kube.settings import KubeSettings

MANAGER: Final = "manta-crds"
SERVED_SECONDS: Final = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta crds`."""
    parser.add_argument("do", choices=("print", "apply"), help="print them as YAML, or apply them")
    parser.add_argument("--kubeconfig", metavar="FILE", default="", help="the cluster; else as for every service")


def run(options: argparse.Namespace) -> int:
    """Print or apply; the exit code."""
    if options.do == "print":
        sys.stdout.writelines(text for _, text in crds(kubernetes.load()))
        return 0
    try:
        asyncio.run(_applied(options.kubeconfig))
    except (MantaError, TimeoutError) as error:
        sys.stderr.write(f"manta crds: {error}\n")
        return 1
    return 0


async def _applied(kubeconfig: str) -> None:
    async with connect(KubeSettings(service="cli"), kubeconfig=kubeconfig) as kube:
        await apply(kube)


async def apply(kube: Kube) -> None:
    """Apply all of them and wait until they are served; whoever owned a field before loses it."""
    found = kubernetes.load()
    for kind in KINDS:
        body = definition(kind, found)
        key = Key("", body["metadata"]["name"])
        await _served(kube, key, await kube.patch(CRD, key, Apply(body, MANAGER), dict))
        sys.stdout.write(f"{key.name} applied\n")


async def _served(kube: Kube, key: Key, crd: dict[str, Any]) -> None:
    """Wait until the API server serves what a CRD defines."""
    scope = Scope(fields=f"metadata.name={key.name}")
    try:
        async with asyncio.timeout(SERVED_SECONDS):
            while not _is_served(crd):
                async with aclosing(kube.watch(CRD, dict, scope, since=crd["metadata"]["resourceVersion"])) as changes:
                    async for change in changes:
                        crd = change.object or crd
                        break
    except TimeoutError as error:
        raise TimeoutError(f"{key.name} is not served after {SERVED_SECONDS:.0f} s; see its conditions") from error


def _is_served(crd: dict[str, Any]) -> bool:
    conditions = {one["type"]: one["status"] for one in crd.get("status", {}).get("conditions", ())}
    return conditions.get("Established") == "True" and conditions.get("NamesAccepted") == "True"
