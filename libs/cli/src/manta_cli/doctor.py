"""Look whether Manta can work here: the API, rights, CRDs, NATS, other operators and dashboards; and say what to do."""

import argparse
import os
import pathlib
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any, Final

import msgspec

from manta_cli import access, cells, findings
from manta_cli.access import may
from manta_cli.findings import Finding
from manta_cli.migration import command as migration
from manta_cli.rights import all_rights
from manta_cli.session import Session, add_cluster, add_output
from manta_common.bus.nats_bus import open_bus
from manta_common.bus.settings import BusSettings
from manta_common.errors import MantaError, NotFound
from manta_common.keys import Key
from manta_common.kinds import CRD, RAYCLUSTER, SERVICE, Kind
from manta_common.kube.protocol import Scope

NATS_SECONDS: Final = 5.0  # a person waits for this
OLDEST: Final = (1, 30)  # below that ValidatingAdmissionPolicy, which deploy/admission uses, is not there for good
DEPLOYMENT: Final = Kind("deployment", "Deployment", "deployments", "apps")
KUBERAY: Final = "app.kubernetes.io/name in (kuberay-operator,kuberay)"  # helm's, and kustomize's
CRDS: Final = ("rayclusters.ray.io", "rayjobs.ray.io", "rayservices.ray.io", "raycronjobs.ray.io")
DASHBOARDS: Final = 10  # as many are asked


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `manta doctor`."""
    parser.add_argument("--nats", metavar="URL", default="", help="the NATS to look at; else MANTA_NATS_URLS")
    parser.add_argument(
        "--service", metavar="NAME", action="append", default=[], help="look at the rights of these only"
    )
    access.add_arguments(parser)
    add_output(parser, "table", "json", "yaml")
    migration.add_arguments(parser)
    add_cluster(parser)


async def doctor(session: Session) -> int:
    """Look at everything; 1 when something must be changed."""
    migration.check(session.options)
    if session.options.migrate:
        return await migration.migrate(session)
    seen = list[Finding]()
    for check in (_api, _rights, _definitions, _nats, _others, _dashboards):
        async for finding in check(session):
            seen.append(finding)
            if session.options.output == "table":
                findings.say(session.console, finding)
        if seen[0].state == "fail":
            break
    if session.options.output != "table":
        session.console.document(msgspec.to_builtins(seen), session.options.output)
    return findings.code(seen)


async def _api(session: Session) -> AsyncIterator[Finding]:
    try:
        found = await session.kube.server_version()
    except MantaError as error:
        do = "check that the cluster runs, that the kubeconfig names it, and that nothing lies between"
        yield Finding(check="API server", state="fail", found=str(error), do=do)
        return
    numbers = tuple(int(part) for part in found.lstrip("v").split(".")[:2] if part.isdigit())
    old = len(numbers) == 2 and numbers < OLDEST
    do = f"Manta is tested with {OLDEST[0]}.{OLDEST[1]} and newer: upgrade the cluster" if old else ""
    yield Finding(check="API server", state="warn" if old else "ok", found=f"answers, {found}", do=do)
    yield Finding(check="Manta", state="ok", found=f"version {version('manta-cli')}")


async def _rights(session: Session) -> AsyncIterator[Finding]:
    """Whether this user, or each service's account, may do what the service must."""
    chosen = session.options.service
    for rights in all_rights():
        if chosen and rights.service not in chosen:
            continue
        needed = [(one, verb) for one in rights.kubernetes if one.when == "always" for verb in one.verbs]
        service, name = rights.service, f"rights of {rights.service}"
        missing = [f"{verb} {one.resource}" for one, verb in needed if not await may(session, service, one, verb)]
        if missing:
            do = "install the chart, whose roles give them, or ask for them; --accounts looks at an installation"
            yield Finding(check=name, state="fail", found=f"not allowed: {', '.join(missing)}", do=do)
        else:
            yield Finding(check=name, state="ok", found=f"all {len(needed)} that it needs")


async def _definitions(session: Session) -> AsyncIterator[Finding]:
    for name in CRDS:
        try:
            crd = await session.kube.get(CRD, Key("", name), dict)
        except NotFound:
            yield Finding(check=f"CRD {name}", state="fail", found="is missing", do="install it: manta crds apply")
            continue
        except MantaError as error:
            yield Finding(check=f"CRD {name}", state="warn", found=str(error), do="ask somebody who may read CRDs")
            continue
        yield _definition(name, crd)


def _definition(name: str, crd: dict[str, Any]) -> Finding:
    versions = {one["name"]: one for one in crd["spec"]["versions"]}
    if not versions.get("v1", {}).get("served"):
        found = f"serves {', '.join(versions)} but not v1"
        return Finding(check=f"CRD {name}", state="fail", found=found, do="bring it up to date: manta crds apply")
    status = cells.at(versions["v1"], ".schema.openAPIV3Schema.properties.status.properties") or {}
    if name != "raycronjobs.ray.io" and "conditions" not in status:
        do = "conditions that tell why are dropped by this CRD (KubeRay's): manta crds apply"
        return Finding(check=f"CRD {name}", state="warn", found="has no status.conditions", do=do)
    return Finding(check=f"CRD {name}", state="ok", found="serves v1")


async def _nats(session: Session) -> AsyncIterator[Finding]:
    urls = tuple(filter(None, (session.options.nats or os.environ.get("MANTA_NATS_URLS", "")).split(",")))
    if not urls:
        found = "not looked at: say --nats URL or set MANTA_NATS_URLS (`manta up` starts one by itself)"
        yield Finding(check="NATS", state="skip", found=found)
        return
    credentials, ca = (os.environ.get(f"MANTA_NATS_{name}_FILE", "") for name in ("CREDENTIALS", "CA"))
    settings = BusSettings(
        first_connect_seconds=NATS_SECONDS,
        urls=urls,
        name="manta-cli",
        credentials_file=pathlib.Path(credentials) if credentials else None,
        ca_file=pathlib.Path(ca) if ca else None,
    )
    try:
        async with open_bus(settings):
            yield Finding(check="NATS", state="ok", found="answers, with JetStream, and is large and new enough")
    except MantaError as error:
        do = "check the address, and that JetStream is on; docs/reference/config.md lists the settings"
        yield Finding(check="NATS", state="fail", found=str(error), do=do)


async def _others(session: Session) -> AsyncIterator[Finding]:
    """Another operator of the same objects."""
    try:
        found = (await session.kube.list(DEPLOYMENT, dict, Scope(labels=KUBERAY))).items
    except MantaError as error:
        yield Finding(check="other operators", state="skip", found=f"cannot be looked for: {error}")
        return
    running = [
        f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in found if one["spec"].get("replicas", 1)
    ]
    if running:
        namespace, _, name = running[0].partition("/")
        do = f"let one of the two look after a namespace: kubectl -n {namespace} scale deployment {name} --replicas=0"
        yield Finding(check="other operators", state="warn", found=f"KubeRay runs too: {', '.join(running)}", do=do)
    else:
        yield Finding(check="other operators", state="ok", found="none")


async def _dashboards(session: Session) -> AsyncIterator[Finding]:
    """Whether Ray's dashboards answer, by way of the API server."""
    try:
        clusters = (await session.kube.list(RAYCLUSTER, dict, Scope(namespace=session.options.namespace))).items
    except MantaError as error:
        yield Finding(check="dashboards", state="skip", found=f"no RayClusters can be listed: {error}")
        return
    ready = [one for one in clusters if cells.at(one, ".status.state") == "ready"]
    bad = [problem for problem in [await _dashboard(session, one) for one in ready[:DASHBOARDS]] if problem]
    looked = min(len(ready), DASHBOARDS)
    if bad:
        do = "look at the head's log, at network policies, and whether its Service has endpoints"
        yield Finding(check="dashboards", state="warn", found=f"{len(bad)} of {looked} do not answer: {bad[0]}", do=do)
    else:
        yield Finding(
            check="dashboards",
            state="ok",
            found=f"{looked} of {looked} that are ready answer" if ready else "no cluster is ready",
        )


async def _dashboard(session: Session, cluster: dict[str, Any]) -> str:
    """Why a dashboard does not answer; nothing if it does."""
    name = cells.at(cluster, ".status.head.serviceName") or f"{cluster['metadata']['name']}-head-svc"
    path = SERVICE.object_path(Key(cluster["metadata"]["namespace"], f"{name}:dashboard"), "proxy")
    try:
        await session.kube.fetch(f"{path}/api/version")
    except MantaError as error:
        return f"{cluster['metadata']['namespace']}/{name}: {error}"
    return ""
