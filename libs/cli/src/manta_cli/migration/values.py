"""The values of Manta's chart that mean what a KubeRay operator was told. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from manta_cli.migration.flags import Told, told
from manta_cli.migration.found import Operator
from manta_cli.migration.gates import effective

Values = dict[str, Any]
PLACE: Final = ("nodeSelector", "tolerations", "affinity", "priorityClassName", "imagePullSecrets")
# Values of KubeRay's chart that its Deployment does not show.
ONLY_HELM: Final = (
    "singleNamespaceInstall",
    "rbacEnable",
    "crNamespacedRbacEnable",
    "labels",
    "annotations",
    "service",
)
CONFIGURATION: Final = (
    "defaultContainerEnvs",
    "defaultPodAnnotations",
    "defaultPodLabels",
    "headSidecarContainers",
    "workerSidecarContainers",
)
MONITOR: Final = ("enabled", "interval", "honorLabels", "additionalLabels", "namespace")
DEFAULT_QPS, DEFAULT_BURST = 100.0, 200
LEVELS: Final = {"debug": "debug", "info": "info", "warn": "warning", "warning": "warning", "error": "error"}
WEBHOOKS: Final = "ENABLE_WEBHOOKS"
# KubeRay writes these beside its own; in Manta's pods the chart does.
OWN_VARIABLES: Final = frozenset({"POD_NAME", "POD_NAMESPACE", WEBHOOKS})


def command(operator: Operator) -> Told:
    """What an operator goes by."""
    words = [*operator.container.get("command", ())[1:], *operator.container.get("args", ())]
    return told(words, operator.file)


def values(operator: Operator) -> Values:
    """The values file, with nothing in it that is Manta's default anyway but for the gates."""
    flags = command(operator)
    gates, _ = effective(flags.text("feature-gates"), operator.version)
    made: Values = {"featureGates": [{"name": name, "enabled": on} for name, on in gates.items()]}
    made |= _namespaces(flags) | _scheduler(flags) | _calls(flags) | _logging(flags) | _environment(operator)
    if flags.switched("use-kubernetes-proxy"):
        made["useKubernetesProxy"] = True
    made |= _configuration(operator.file)
    pod: Mapping[str, Any] = operator.deployment.spec.template.get("spec", {})
    made |= {name: pod[name] for name in PLACE if pod.get(name)}
    return made | _of_helm(operator.values or {})


def notes(operator: Operator) -> Iterator[tuple[str, str]]:
    """What has no counterpart: the name, and why nothing is lost or what to do instead."""
    flags = command(operator)
    _, unknown = effective(flags.text("feature-gates"), operator.version)
    for name in unknown:
        yield f"gate {name}", "Manta does not have it; look whether you need it"
    if flags.text("log-file-path"):
        yield "--log-file-path", "Manta logs to standard output only: collect the logs of its pods"
    if flags.strange:
        yield "words on its command line", f"not understood: {' '.join(flags.strange)}"
    if flags.text("config") and not operator.file:
        yield "--config", "its file cannot be read: set `configuration` and the other values by hand"
    helm = operator.values
    if helm is None:
        yield "helm's values", "cannot be read: look whether singleNamespaceInstall or metrics.serviceMonitor were set"
    elif helm.get("resources"):
        yield "resources", "were for one process: services.<name>.resources has Manta's own"


def _namespaces(flags: Told) -> Values:
    names = [name.strip() for name in flags.text("watch-namespace").split(",") if name.strip()]
    return {"watchNamespace": names} if names else {}


def _scheduler(flags: Told) -> Values:
    if flags.text("batch-scheduler"):
        return {"batchScheduler": {"name": flags.text("batch-scheduler")}}
    return {"batchScheduler": {"enabled": True}} if flags.switched("enable-batch-scheduler") else {}


def _calls(flags: Told) -> Values:
    """A limit that somebody chose; KubeRay's own is not needed, each of Manta's services writes a part only."""
    made: Values = {}
    qps, burst = (_number(flags.text(name)) for name in ("qps", "burst"))
    if qps is not None and qps != DEFAULT_QPS:
        made["qps"] = qps
    if burst is not None and burst != DEFAULT_BURST:
        made["burst"] = int(burst)
    return {"kubeClient": made} if made else {}


def _number(text: str) -> float | None:
    """A number that stands in a flag; a reference to a variable is none."""
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else None


def _logging(flags: Told) -> Values:
    made: Values = {}
    level = flags.text("zap-log-level").lower()
    if level:
        made["level"] = LEVELS.get(level, "debug" if level.isdigit() else "error")
    if flags.text("log-stdout-encoder") == "console":
        made["stdoutEncoder"] = "console"
    return {"logging": made} if made.items() - {("level", "info")} else {}


def _environment(operator: Operator) -> Values:
    given = [one for one in operator.container.get("env") or () if one["name"] not in OWN_VARIABLES]
    checked = any(one["name"] == WEBHOOKS and one.get("value") == "true" for one in operator.container.get("env") or ())
    return ({"env": given} if given else {}) | ({"admissionPolicies": True} if checked else {})


def _configuration(file: Mapping[str, Any]) -> Values:
    made = {name: file[name] for name in CONFIGURATION if file.get(name)}
    return {"configuration": {"enabled": True, **made}} if made else {}


def _of_helm(given: Mapping[str, Any]) -> Values:
    made = {name: given[name] for name in ONLY_HELM if given.get(name) is not None}
    given_monitor = (given.get("metrics") or {}).get("serviceMonitor") or {}
    monitor = {name: given_monitor[name] for name in MONITOR if name in given_monitor}
    return made | ({"metrics": {"serviceMonitor": monitor}} if monitor else {})
