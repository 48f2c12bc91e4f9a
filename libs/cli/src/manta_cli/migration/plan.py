"""From what was found to what to do: findings, the values file, the steps, and the way back. Pure."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from manta_cli.findings import Finding
from manta_cli.migration import transit
from manta_cli.migration.found import Found, Operator, RayObject
from manta_cli.migration.values import WEBHOOKS, notes, values

CHART: Final = "deploy/helm/manta"
RELEASE: Final = "manta"
OLDEST: Final = (1, 3)  # before it RayClusters have no conditions, and pods no version of their operator
TESTED: Final = "1.6.2"
KEEPERS: Final = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "argocd.argoproj.io/instance": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
}


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One command, and what it is for."""

    why: str
    run: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer."""

    findings: tuple[Finding, ...]
    values: dict[str, Any]
    steps: tuple[Step, ...]
    back: tuple[Step, ...]

    @property
    def ready(self) -> bool:
        """Whether nothing has to be done before the first step."""
        return all(finding.state != "fail" for finding in self.findings)


def plan(found: Found, operator: Operator | None, *, namespace: str, file: str) -> Plan:
    """What to do to move from this operator to a Manta in a namespace, with the values in a file."""
    chosen = values(operator) if operator else {}
    objects = _looked_after(found, chosen.get("watchNamespace", []))
    findings = (*_operators(found, operator), *_definitions(found), *transit.findings(objects), *_unread(found))
    if operator is None:
        return Plan(findings=findings, values={}, steps=(), back=())
    if found.roles:
        chosen["userRoles"] = False
    return Plan(
        findings=(*findings, *_lost(operator)),
        values=chosen,
        steps=tuple(_steps(found, operator, namespace, file)),
        back=tuple(_back(found, operator, namespace)),
    )


def _looked_after(found: Found, namespaces: Sequence[str]) -> dict[str, tuple[RayObject, ...]]:
    """The objects of these namespaces; of all when none is named."""
    return {
        plural: tuple(one for one in objects if not namespaces or one.metadata.namespace in namespaces)
        for plural, objects in found.objects.items()
    }


def _operators(found: Found, chosen: Operator | None) -> Iterator[Finding]:
    running = [one for one in found.operators if one.running]
    if not found.operators:
        do = "nothing to move from: install Manta as new; an operator that runs elsewhere must be ended by hand"
        yield Finding(check="KubeRay", state="warn", found="no operator is in this cluster", do=do)
    for one in found.operators:
        yield _operator(one)
    if len(running) > 1:
        do = "move them one after the other, a release of Manta for each: say --operator NAMESPACE/NAME"
        many = f"{len(running)} run"
        yield (
            Finding(check="operators", state="ok", found=f"{many}, the plan is for {chosen.name}")
            if chosen
            else Finding(check="operators", state="fail", found=many, do=do)
        )
    if found.webhooks:
        do = "without the operator they would refuse every change: the steps take them away"
        yield Finding(check="webhooks", state="warn", found=", ".join(found.webhooks), do=do)


def _operator(operator: Operator) -> Finding:
    image, version = operator.container.get("image", ""), operator.version
    found = f"{operator.name}, {image}, {operator.deployment.spec.replicas} replicas"
    about = operator.deployment.metadata
    keeper = next((who for name, who in KEEPERS.items() if name in {**about.labels, **about.annotations}), None)
    if version is None:
        do = "its tag does not tell the version: gates that no flag sets are taken as those of 1.7; check them"
        return Finding(check="KubeRay", state="warn", found=found, do=do)
    if version < OLDEST:
        return Finding(check="KubeRay", state="fail", found=found, do=f"upgrade it first; tested is {TESTED}")
    if keeper:
        do = f"{keeper} looks after it: tell it there to have no replicas, or it will start the operator again"
        return Finding(check="KubeRay", state="warn", found=found, do=do)
    return Finding(check="KubeRay", state="ok", found=found)


def _definitions(found: Found) -> Iterator[Finding]:
    for one in found.definitions:
        check, said = f"CRD {one.name}", f"serves {', '.join(one.served)}; stored: {', '.join(one.stored)}"
        if "v1" not in one.served:
            yield Finding(
                check=check, state="fail", found=said, do="bring KubeRay, and this CRD, to 1.3 or newer first"
            )
        elif set(one.stored) != {"v1"}:
            do = "objects may still be stored as such; Manta's CRD serves them, write them anew when you can"
            yield Finding(check=check, state="warn", found=said, do=do)
        else:
            state = "" if one.current else "; Manta's has more fields"
            yield Finding(check=check, state="ok", found=said + state)


def _unread(found: Found) -> Iterator[Finding]:
    for what in found.unread:
        yield Finding(check=what, state="warn", found="cannot be read", do="run this as somebody who may")


def _lost(operator: Operator) -> Iterator[Finding]:
    for name, why in notes(operator):
        yield Finding(check=f"not in the values: {name}", state="warn", found=why)
    checked = any(one["name"] == WEBHOOKS and one.get("value") == "true" for one in operator.container.get("env") or ())
    if checked:
        why = "in the place of KubeRay's webhooks the chart's admission policies are turned on"
        yield Finding(check=WEBHOOKS, state="ok", found=why)


def _steps(found: Found, operator: Operator, namespace: str, file: str) -> Iterator[Step]:
    about, quoted = operator.deployment.metadata, shlex.quote(file)
    where = f"kubectl -n {about.namespace}"
    flags = f"--namespace {namespace} --skip-crds --values {quoted}"
    install = f"helm install {RELEASE} {CHART} {flags}"
    yield Step(why="look whether the chart takes the values", run=f"{install} --dry-run=server >/dev/null")
    for name in found.webhooks:
        kept = f"kubectl get validatingwebhookconfiguration {name} -o yaml > {name}.yaml"
        yield Step(why="keep the webhook for the way back", run=kept)
        yield Step(why="take it away", run=f"kubectl delete validatingwebhookconfiguration {name}")
    yield Step(
        why="end KubeRay; Ray itself goes on, and from here on do not change specs until Manta runs",
        run=f"{where} scale deployment {about.name} --replicas=0",
    )
    yield Step(
        why="wait until it has ended",
        run=f"{where} wait --for=delete pod --selector {_selector(operator)} --timeout=120s",
    )
    if not all(one.current for one in found.definitions):
        yield Step(why="bring the CRDs up to date; KubeRay works with them too", run="manta crds apply")
    yield Step(why="install Manta", run=f"{install} --create-namespace --wait")


def _back(found: Found, operator: Operator, namespace: str) -> Iterator[Step]:
    about = operator.deployment.metadata
    yield Step(
        why="end Manta; clusters, jobs and CRDs stay", run=f"helm uninstall {RELEASE} --namespace {namespace} --wait"
    )
    yield Step(
        why="start KubeRay again",
        run=f"kubectl -n {about.namespace} scale deployment {about.name}"
        f" --replicas={max(operator.deployment.spec.replicas, 1)}",
    )
    for name in found.webhooks:
        yield Step(why="put its webhook back", run=f"kubectl create -f {name}.yaml")


def _selector(operator: Operator) -> str:
    labels = operator.deployment.spec.selector.get("matchLabels", {})
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
