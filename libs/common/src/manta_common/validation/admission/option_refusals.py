"""The rules for a cluster's options, in CEL."""

from typing import Final

from manta_common.api import annotations, containers, env
from manta_common.validation import auth, autoscaling, fault_tolerance, history, network, tls
from manta_common.validation.admission.cel import Refusal, fullmatch, has_name, is_set, text, texts
from manta_common.validation.admission.group_refusals import GROUPS, older_than
from manta_common.validation.problem import Rule
from manta_common.validation.syntax import DNS1123_LABEL, DNS1123_LABEL_RULE, DNS1123_SUBDOMAIN, MAX_LABEL

_HEAD_ENV: Final = "variables.headEnv"
_GROUP_NAME: Final = {"group": "g.groupName"}
_ADDRESS: Final = has_name(_HEAD_ENV, text(env.RAY_REDIS_ADDRESS))
_FT_ANNOTATION: Final = f"variables.annotations[?{text(annotations.FT_ENABLED)}].orValue('')"
_NAMESPACE: Final = f"variables.annotations[?{text(annotations.EXTERNAL_STORAGE_NAMESPACE)}].orValue('')"


def _fault_tolerance() -> tuple[Refusal, ...]:
    off = f"!variables.hasFt && {_FT_ANNOTATION}.lowerAscii() != 'true'"
    password = "variables.headParams[?'redis-password'].orValue('') != ''"
    username = "variables.headParams[?'redis-username'].orValue('') != ''"
    rules = {
        fault_tolerance.FT_TWICE: f"variables.hasFt && {_FT_ANNOTATION} != ''",
        fault_tolerance.REDIS_ADDRESS_WITHOUT_FT: f"{off} && {_ADDRESS}",
        fault_tolerance.PASSWORD_IN_PARAMS: f"variables.hasFt && {password}",
        fault_tolerance.PASSWORD_IN_ENV: f"variables.hasFt && {has_name(_HEAD_ENV, text(env.REDIS_PASSWORD))}",
        fault_tolerance.ADDRESS_IN_ENV: f"variables.hasFt && {_ADDRESS}",
        fault_tolerance.NAMESPACE_IN_ANNOTATION: f"variables.hasFt && {_NAMESPACE} != ''",
    }
    misplaced = f"{username} || {has_name(_HEAD_ENV, text(env.REDIS_USERNAME))}"
    return (
        *(Refusal(rule, bad) for rule, bad in rules.items()),
        *_storage(),
        Refusal(fault_tolerance.USERNAME_ELSEWHERE, misplaced),
    )


def _storage() -> tuple[Refusal, ...]:
    fields = {
        "RedisAddress": "variables.ft.?redisAddress.orValue('') != ''",
        "RedisUsername": "has(variables.ft.redisUsername)",
        "RedisPassword": "has(variables.ft.redisPassword)",
        "ExternalStorageNamespace": "variables.ft.?externalStorageNamespace.orValue('') != ''",
    }
    variables = texts((env.GCS_STORAGE, env.GCS_STORAGE_PATH))
    pod = {
        fault_tolerance.CLAIM_WITH_SETTINGS: _claim_clashes(),
        fault_tolerance.ROCKSDB_ENV: f"{_HEAD_ENV}.exists(e, e.name in {variables})",
        fault_tolerance.ROCKSDB_MOUNT: _mounted(containers.GCS_STORAGE_VOLUME, containers.GCS_STORAGE_PATH),
        fault_tolerance.ROCKSDB_VOLUME: has_name(
            "variables.headPod.?volumes.orValue([])", text(containers.GCS_STORAGE_VOLUME)
        ),
    }
    with_storage = "variables.hasFt && !variables.rocksdb && has(variables.ft.storage)"
    return (
        *(
            Refusal(fault_tolerance.ROCKSDB_WITH_REDIS, f"variables.rocksdb && {bad}", holes={"field": text(field)})
            for field, bad in fields.items()
        ),
        *(Refusal(rule, f"variables.rocksdb && {bad}") for rule, bad in pod.items()),
        Refusal(fault_tolerance.REDIS_WITH_STORAGE, with_storage),
    )


def _claim_clashes() -> str:
    storage = "variables.ft.?storage"
    described = f"{storage}.?size.hasValue() || {storage}.?storageClassName.hasValue()"
    modes = f"size({storage}.?accessModes.orValue([])) > 0"
    return f"{storage}.?claimName.orValue('') != '' && ({described} || {modes})"


def _mounted(name: str, path: str) -> str:
    mounts = "variables.rayContainer.?volumeMounts.orValue([])"
    return f"{mounts}.exists(m, m.name == {text(name)} || m.mountPath == {text(path)})"


def _autoscaling() -> tuple[Refusal, ...]:
    switch = text(env.ENABLE_AUTOSCALER_V2)
    value = {"value": f"{_HEAD_ENV}.filter(e, e.name == {switch})[0].value"}
    on, v2 = "variables.autoscaling", "variables.autoscaling && variables.autoscaler.?version.orValue('') == 'v2'"
    suspended = f"{on} && g.?suspend.orValue(false)"
    twice = f"{on} && has(variables.autoscaler.version) && {has_name(_HEAD_ENV, switch)}"
    restarts = "!({pod}.?restartPolicy.orValue('') in ['', 'Never'])"
    head = f"{v2} && {restarts.format(pod='variables.headPod')}"
    worker = f"{v2} && {restarts.format(pod='g.?template.?spec')}"
    seconds = "variables.autoscaler.?idleTimeoutSeconds.orValue(0)"
    reserved = has_name("variables.autoscaler.?env.orValue([])", text(env.AUTOSCALER_START_CMD))
    return (
        Refusal(autoscaling.V2_ENV_WITHOUT_AUTOSCALING, f"!{on} && variables.v2ByEnv", holes=value),
        Refusal(autoscaling.SUSPEND_WITH_AUTOSCALING, suspended, each=GROUPS, holes=_GROUP_NAME),
        Refusal(autoscaling.VERSION_TWICE, twice),
        Refusal(autoscaling.V2_HEAD_RESTARTS, head),
        Refusal(autoscaling.V2_WORKER_RESTARTS, worker, each=GROUPS, holes=_GROUP_NAME),
        Refusal(autoscaling.IDLE_NEGATIVE, f"{seconds} < 0", holes={"count": seconds}),
        Refusal(autoscaling.RESERVED_ENV, reserved),
    )


def _history() -> tuple[Refusal, ...]:
    on, collector = "variables.hasHistory", "has(variables.cluster.historyServerOptions.collectorOptions)"
    variables = "variables.collectorEnv"
    reserved = f"{texts(env.COLLECTOR_RESERVED)}.filter(n, {variables}.exists(e, e.name == n))"
    named = has_name("{pod}.?containers.orValue([])", text(containers.HISTORY_COLLECTOR))
    return (
        Refusal(history.COLLECTOR_UNSET, f"{on} && !{collector}"),
        Refusal(history.IMAGE_UNSET, "variables.hasCollector && variables.collector.?image.orValue('') == ''"),
        Refusal(history.RESERVED_ENV, f"size({reserved}) > 0", holes={"name": f"{reserved}[0]"}),
        Refusal(history.BACKEND_UNSET, "variables.hasCollector && variables.storageBackend == ''"),
        *_backends(),
        Refusal(history.HEAD_CONTAINER, f"{on} && {named.format(pod='variables.headPod')}"),
        Refusal(
            history.WORKER_CONTAINER,
            f"{on} && {named.format(pod='g.?template.?spec.orValue({})')}",
            each=GROUPS,
            holes=_GROUP_NAME,
        ),
    )


def _backends() -> tuple[Refusal, ...]:
    variables, backend = "variables.collectorEnv", "variables.storageBackend"
    needs = tuple(
        Refusal(
            history.BACKEND_NEEDS,
            f"{backend} == {text(name)} && !{is_set(variables, variable)}",
            holes={"name": text(variable), "backend": text(name)},
        )
        for name, needed in history.BACKEND_VARIABLES.items()
        for variable in needed
    )
    azure, mode = f"{backend} == 'AZUREBLOB'", "variables.azureMode"
    by_mode = tuple(
        Refusal(
            history.AZURE_MODE_NEEDS,
            f"{azure} && {mode} == {text(name)} && !{is_set(variables, variable)}",
            holes={"name": text(variable), "mode": text(name)},
        )
        for name, variable in history.AZURE_VARIABLES.items()
    )
    either = f"{is_set(variables, env.AZURE_CONNECTION_STRING)} || {is_set(variables, env.AZURE_ACCOUNT_URL)}"
    other = f"{azure} && !({mode} in {texts(history.AZURE_VARIABLES)}) && !({either})"
    return (*needs, *by_mode, Refusal(history.AZURE_NEEDS_EITHER, other))


def _auth() -> tuple[Refusal, ...]:
    token = "variables.tokenAuth"
    version = {"version": "variables.rayVersion"}
    unreadable = f"{token} && variables.rayVersion != '' && variables.rayVersionFault != ''"
    return (
        Refusal(auth.VERSION_UNSET, f"{token} && variables.rayVersion == ''"),
        Refusal(auth.VERSION_UNREADABLE, unreadable, holes={**version, "fault": "variables.rayVersionFault"}),
        Refusal(auth.VERSION_OLD, f"{token} && {older_than(52)}", holes=version),
    )


def _k8s_tokens() -> tuple[Refusal, ...]:
    token, k8s = "variables.tokenAuth", "variables.k8sTokenAuth"
    version = {"version": "variables.rayVersion"}
    secret = "variables.cluster.authOptions.?secretName.orValue('') != ''"
    readable = "variables.rayVersion != '' && variables.rayVersionFault == ''"
    return (
        Refusal(auth.K8S_VERSION_OLD, f"{token} && {k8s} && {older_than(55)}", holes=version),
        Refusal(auth.K8S_WITH_SECRET, f"{token} && {k8s} && {readable} && {secret}"),
        Refusal(auth.K8S_WITHOUT_TOKEN, f"!{token} && {k8s}"),
    )


def _network() -> tuple[Refusal, ...]:
    policy = "variables.cluster.?networkPolicy"
    mode = f"{policy}.?mode.orValue('')"
    rules = {
        network.INGRESS_OPEN: f"{mode} == 'DenyAllEgress' && size({{place}}.?ingressRules.orValue([])) > 0",
        network.EGRESS_OPEN: f"{mode} == 'DenyAllIngress' && size({{place}}.?egressRules.orValue([])) > 0",
    }
    fault = (
        f"'[' + (size(g.groupName) > {MAX_LABEL} ? 'must be no more than {MAX_LABEL} characters' : "
        f"{fullmatch('g.groupName', DNS1123_SUBDOMAIN)} ? 'must not contain dots' : {text(DNS1123_LABEL_RULE)}) + ']'"
    )
    label = f"size(g.groupName) <= {MAX_LABEL} && {fullmatch('g.groupName', DNS1123_LABEL)}"
    entries = f"{policy}.?workerGroups.orValue([])"
    return (
        *(
            Refusal(rule, bad.format(place=f"{policy}.?{place}"), holes={"place": text(place)})
            for place in ("head", "worker")
            for rule, bad in rules.items()
        ),
        Refusal(
            network.GROUP_NAME, f"{policy}.hasValue() && !({label})", each=GROUPS, holes={**_GROUP_NAME, "fault": fault}
        ),
        *(
            Refusal(
                rule, bad.format(place="g"), each=entries, holes={"place": """'workerGroups["' + g.groupName + '"]'"""}
            )
            for rule, bad in rules.items()
        ),
        Refusal(
            network.GROUP_UNKNOWN, f"!{GROUPS}.exists(o, o.groupName == g.groupName)", each=entries, holes=_GROUP_NAME
        ),
    )


def _tls() -> tuple[Refusal, ...]:
    group = """'worker group "' + g.groupName + '"'"""
    scope = text("for the autoscaler ")
    options, container = "variables.autoscaler", "g.?template.?spec.?containers[?0]"
    return (
        *_tls_place("variables.rayContainer", places=(text("head Pod"),) * 2, scope="''"),
        *_tls_place(container, places=(group,) * 2, scope="''", each=GROUPS),
        *_tls_place(
            options, places=(text("autoscalerOptions.env"), text("autoscalerOptions.volumeMounts")), scope=scope
        ),
    )


def _tls_place(container: str, *, places: tuple[str, str], scope: str, each: str = "") -> tuple[Refusal, ...]:
    mounts = f"{container}.?volumeMounts.orValue([])"
    found = f"{texts(env.TLS)}.filter(n, {has_name(f'{container}.?env.orValue([])', 'n')})"
    holes = {"name": f"{found}[0]", "place": places[0], "scope": scope}
    rules: dict[Rule, str] = {
        tls.MOUNT_NAME: has_name(mounts, text(containers.TLS_VOLUME)),
        tls.MOUNT_PATH: f"{mounts}.exists(m, m.mountPath == {text(containers.TLS_PATH)})",
    }
    return (
        Refusal(tls.VARIABLE, f"variables.tls && size({found}) > 0", each=each, holes=holes),
        *(
            Refusal(rule, f"variables.tls && {bad}", each=each, holes={"place": places[1], "scope": scope})
            for rule, bad in rules.items()
        ),
    )


OPTION_REFUSALS: Final = (
    *_fault_tolerance(),
    *_autoscaling(),
    *_history(),
    *_auth(),
    *_network(),
    *_tls(),
)
# RayJob and RayService refuse Kubernetes' tokens as a whole.
K8S_TOKEN_REFUSALS: Final = _k8s_tokens()
