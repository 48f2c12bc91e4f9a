"""Examples of the rules for the autoscaler, authentication, network policy and TLS; paths are within the spec."""

from manta_common.validation import auth, autoscaling, network, tls
from tests.examples.example import DEFAULT_GATES, NO_GATES, Example, Json
from tests.examples.manifests import both, env, head_container, head_env, head_pod, mount, worker, worker_container

AUTOSCALED: Json = {"enableInTreeAutoscaling": True}
V2: Json = {"enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v2"}}
SWITCH = "headGroupSpec.template.spec.containers[0].env[RAY_enable_autoscaler_v2]"
TLS: Json = {"tlsOptions": {"enabled": True}}
MANAGED = "when tlsOptions is set - the operator manages TLS configuration automatically"
AUTOSCALER_MANAGED = "when tlsOptions is set - the operator manages TLS configuration for the autoscaler automatically"
RULE: Json = {"from": [{"podSelector": {}}]}
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def token(version: str, **fields: object) -> Json:
    """Token authentication with some Ray version."""
    return {"rayVersion": version, "authOptions": {"mode": "token", **fields}}


def policy(**fields: object) -> Json:
    """A network policy."""
    return {"networkPolicy": fields}


AUTOSCALER = (
    Example(
        says="a suspended group needs its feature gate",
        rule=autoscaling.SUSPEND_GATE,
        good=worker(suspend=False),
        bad=worker(suspend=True),
        path="workerGroupSpecs[0].suspend",
        message="worker group small can be suspended only when the RayJobDeletionPolicy feature gate is enabled",
        gates=NO_GATES,
    ),
    Example(
        says="the variable for autoscaler v2 needs autoscaling",
        rule=autoscaling.V2_ENV_WITHOUT_AUTOSCALING,
        good=head_env(RAY_enable_autoscaler_v2="0"),
        bad=head_env(RAY_enable_autoscaler_v2="true"),
        path=SWITCH,
        message="environment variable RAY_enable_autoscaler_v2 cannot be set to 'true' when enableInTreeAutoscaling "
        "is false. Please set enableInTreeAutoscaling: true to use autoscaler v2",
    ),
    Example(
        says="no group is suspended under the autoscaler",
        rule=autoscaling.SUSPEND_WITH_AUTOSCALING,
        good=worker(suspend=True),
        bad=both(AUTOSCALED, worker(suspend=True)),
        path="workerGroupSpecs[0].suspend",
        message="worker group small cannot be suspended with Autoscaler enabled",
    ),
    Example(
        says="the autoscaler's version is given in one place",
        rule=autoscaling.VERSION_TWICE,
        good=both(AUTOSCALED, head_env(RAY_enable_autoscaler_v2="1")),
        bad=both(V2, head_env(RAY_enable_autoscaler_v2="0")),
        path=SWITCH,
        message="both .spec.autoscalerOptions.version and head Pod env var RAY_enable_autoscaler_v2 are set, please "
        "only use the former",
    ),
    Example(
        says="under autoscaler v2 the head does not restart in place",
        rule=autoscaling.V2_HEAD_RESTARTS,
        good=both(V2, head_pod(restartPolicy="Never")),
        bad=both(V2, head_pod(restartPolicy="Always")),
        path="headGroupSpec.template.spec.restartPolicy",
        message="restartPolicy for head Pod should be Never or unset when using autoscaler V2",
    ),
    Example(
        says="under autoscaler v2 workers do not restart in place",
        rule=autoscaling.V2_WORKER_RESTARTS,
        good=both(AUTOSCALED, worker(template={"spec": {"restartPolicy": "Always"}})),
        bad=both(V2, worker(template={"spec": {"restartPolicy": "OnFailure"}})),
        path="workerGroupSpecs[0].template.spec.restartPolicy",
        message="restartPolicy for worker group small should be Never or unset when using autoscaler V2",
    ),
    Example(
        says="the autoscaler's idle time is not negative",
        rule=autoscaling.IDLE_NEGATIVE,
        good={"autoscalerOptions": {"idleTimeoutSeconds": 0}},
        bad={"autoscalerOptions": {"idleTimeoutSeconds": -5}},
        path="autoscalerOptions.idleTimeoutSeconds",
        message="autoscalerOptions.idleTimeoutSeconds must be non-negative, got -5",
    ),
    Example(
        says="the autoscaler's start command is not a user's variable",
        rule=autoscaling.RESERVED_ENV,
        good={"autoscalerOptions": {"env": env(A="b")}},
        bad={"autoscalerOptions": {"env": env(A="b", KUBERAY_GEN_AUTOSCALER_START_CMD="x")}},
        path="autoscalerOptions.env[1]",
        message="autoscalerOptions.env must not contain KUBERAY_GEN_AUTOSCALER_START_CMD: it is managed by KubeRay and "
        "injected automatically into the autoscaler container",
    ),
)

AUTH = (
    Example(
        says="token authentication needs a Ray version",
        rule=auth.VERSION_UNSET,
        good={"rayVersion": "", "authOptions": {}},
        bad=token(""),
        path="rayVersion",
        message="authOptions.mode is 'token' but RayVersion was not specified. Ray version 2.52.0 or later is required",
    ),
    Example(
        says="token authentication needs a readable Ray version",
        rule=auth.VERSION_UNREADABLE,
        good=token(" v2.52"),
        bad=token("2"),
        path="rayVersion",
        message="authOptions.mode is 'token' but RayVersion format is invalid: 2, illegal version string \"2\"",
    ),
    Example(
        says="token authentication needs a Ray version without leading zero",
        rule=auth.VERSION_UNREADABLE,
        good=token("2.052.1"),
        bad=token("02.52"),
        path="rayVersion",
        message="authOptions.mode is 'token' but RayVersion format is invalid: 02.52, "
        'illegal zero-prefixed version component "02" in "02.52"',
    ),
    Example(
        says="token authentication needs Ray 2.52.0",
        rule=auth.VERSION_OLD,
        good=token("2.52.0"),
        bad=token("2.51.9"),
        path="rayVersion",
        message="authOptions.mode is 'token' but minimum Ray version is 2.52.0, got 2.51.9",
    ),
    Example(
        says="an old major version is old",
        rule=auth.VERSION_OLD,
        good=token("3.0"),
        bad=token("1.99.0"),
        path="rayVersion",
        message="authOptions.mode is 'token' but minimum Ray version is 2.52.0, got 1.99.0",
    ),
)

# RayJob and RayService refuse Kubernetes' tokens before they look at these.
K8S_AUTH = (
    Example(
        says="Kubernetes' tokens need Ray 2.55.0",
        rule=auth.K8S_VERSION_OLD,
        good=token("2.55.0", enableK8sTokenAuth=True),
        bad=token("2.54.1", enableK8sTokenAuth=True),
        path="rayVersion",
        message="authOptions.enableK8sTokenAuth is enabled but minimum Ray version is 2.55.0, got 2.54.1",
    ),
    Example(
        says="Kubernetes' tokens need no secret",
        rule=auth.K8S_WITH_SECRET,
        good=token("2.55.0", enableK8sTokenAuth=True, secretName=""),
        bad=token("2.55.0", enableK8sTokenAuth=True, secretName="mine"),
        path="authOptions.secretName",
        message="authOptions.enableK8sTokenAuth is enabled and authOptions.secretName is also set",
    ),
    Example(
        says="Kubernetes' tokens need the mode token",
        rule=auth.K8S_WITHOUT_TOKEN,
        good={"authOptions": {"mode": "disabled", "enableK8sTokenAuth": False}},
        bad={"authOptions": {"mode": "disabled", "enableK8sTokenAuth": True}},
        path="authOptions.mode",
        message="authOptions.enableK8sTokenAuth is enabled but authOptions.mode not set to 'token'",
    ),
)

NETWORK = (
    Example(
        says="a network policy needs its feature gate",
        rule=network.GATE,
        good={},
        bad=policy(),
        path="networkPolicy",
        message="spec.networkPolicy requires the RayClusterNetworkPolicy feature gate to be enabled",
        gates=DEFAULT_GATES,
    ),
    Example(
        says="the head's way in is not ruled where it is open",
        rule=network.INGRESS_OPEN,
        good=policy(mode="DenyAll", head={"ingressRules": [RULE]}),
        bad=policy(mode="DenyAllEgress", head={"ingressRules": [RULE]}),
        path="networkPolicy.head.ingressRules",
        message='networkPolicy.head.ingressRules cannot be set when mode is "DenyAllEgress" '
        "(ingress is not restricted)",
    ),
    Example(
        says="the workers' way out is not ruled where it is open",
        rule=network.EGRESS_OPEN,
        good=policy(mode="DenyAllIngress", worker={"ingressRules": [RULE], "egressRules": []}),
        bad=policy(mode="DenyAllIngress", worker={"egressRules": [{}]}),
        path="networkPolicy.worker.egressRules",
        message='networkPolicy.worker.egressRules cannot be set when mode is "DenyAllIngress" '
        "(egress is not restricted)",
    ),
    Example(
        says="under a network policy group names are DNS labels",
        rule=network.GROUP_NAME,
        good=worker(groupName="Small_1"),
        bad=both(policy(), worker(groupName="Small_1")),
        path="workerGroupSpecs[0].groupName",
        message='worker group name "Small_1" must be a valid DNS1123 label when networkPolicy is enabled '
        f"(it is embedded in the NetworkPolicy name): [{LABEL_RULE}]",
    ),
    Example(
        says="under a network policy group names have no dots",
        rule=network.GROUP_NAME,
        good=both(policy(), worker(groupName="1-small")),
        bad=both(policy(), worker(groupName="a.b")),
        path="workerGroupSpecs[0].groupName",
        message='worker group name "a.b" must be a valid DNS1123 label when networkPolicy is enabled '
        "(it is embedded in the NetworkPolicy name): [must not contain dots]",
    ),
    Example(
        says="a group's way in is not ruled where it is open",
        rule=network.INGRESS_OPEN,
        good=policy(mode="DenyAllEgress", workerGroups=[{"groupName": "small", "egressRules": [{}]}]),
        bad=policy(mode="DenyAllEgress", workerGroups=[{"groupName": "small", "ingressRules": [RULE]}]),
        path="networkPolicy.workerGroups[0].ingressRules",
        message='networkPolicy.workerGroups["small"].ingressRules cannot be set when mode is "DenyAllEgress" '
        "(ingress is not restricted)",
    ),
    Example(
        says="a group's way out is not ruled where it is open",
        rule=network.EGRESS_OPEN,
        good=policy(mode="DenyAll", workerGroups=[{"groupName": "small", "egressRules": [{}]}]),
        bad=policy(mode="DenyAllIngress", workerGroups=[{"groupName": "small", "egressRules": [{}]}]),
        path="networkPolicy.workerGroups[0].egressRules",
        message='networkPolicy.workerGroups["small"].egressRules cannot be set when mode is "DenyAllIngress" '
        "(egress is not restricted)",
    ),
    Example(
        says="a network policy's groups are there",
        rule=network.GROUP_UNKNOWN,
        good=policy(workerGroups=[{"groupName": "small"}]),
        bad=policy(workerGroups=[{"groupName": "large"}]),
        path="networkPolicy.workerGroups[0].groupName",
        message='networkPolicy.workerGroups["large"] does not match any group name in workerGroupSpecs',
    ),
)

ENCRYPTION = (
    Example(
        says="TLS options need their feature gate even when they turn nothing on",
        rule=tls.GATE,
        good={},
        bad={"tlsOptions": {}},
        path="tlsOptions",
        message="spec.tlsOptions requires the RayClusterMTLS feature gate to be enabled",
        gates=DEFAULT_GATES,
    ),
    Example(
        says="under TLS the head's variables for it are ours",
        rule=tls.VARIABLE,
        good=both({"tlsOptions": {"enabled": False}}, head_env(RAY_USE_TLS="1")),
        bad=both(TLS, head_env(RAY_USE_TLS="1")),
        path="headGroupSpec.template.spec.containers[0].env[RAY_USE_TLS]",
        message=f"cannot set RAY_USE_TLS environment variable in head Pod {MANAGED}",
    ),
    Example(
        says="under TLS the head's mount for it is ours",
        rule=tls.MOUNT_NAME,
        good=both(TLS, head_container(**mount("tls", "/etc/tls"))),
        bad=both(TLS, head_container(**mount("ray-tls", "/etc/tls"))),
        path="headGroupSpec.template.spec.containers[0].volumeMounts[/etc/tls]",
        message=f'cannot use volume mount named "ray-tls" in head Pod {MANAGED}',
    ),
    Example(
        says="under TLS the head's path for it is ours",
        rule=tls.MOUNT_PATH,
        good=head_container(**mount("tls", "/etc/ray/tls")),
        bad=both(TLS, head_container(**mount("tls", "/etc/ray/tls"))),
        path="headGroupSpec.template.spec.containers[0].volumeMounts[/etc/ray/tls]",
        message=f'cannot use volume mount at path "/etc/ray/tls" in head Pod {MANAGED}',
    ),
    Example(
        says="under TLS a group's variables for it are ours",
        rule=tls.VARIABLE,
        good=worker_container(env=env(RAY_TLS_CA_CERT="x")),
        bad=both(TLS, worker_container(env=env(RAY_TLS_CA_CERT="x"))),
        path="workerGroupSpecs[0].template.spec.containers[0].env[RAY_TLS_CA_CERT]",
        message=f'cannot set RAY_TLS_CA_CERT environment variable in worker group "small" {MANAGED}',
    ),
    Example(
        says="under TLS a group's mount for it is ours",
        rule=tls.MOUNT_NAME,
        good=both(TLS, worker_container(**mount("tls", "/etc/tls"))),
        bad=both(TLS, worker_container(**mount("ray-tls", "/etc/tls"))),
        path="workerGroupSpecs[0].template.spec.containers[0].volumeMounts[/etc/tls]",
        message=f'cannot use volume mount named "ray-tls" in worker group "small" {MANAGED}',
    ),
    Example(
        says="under TLS a group's path for it is ours",
        rule=tls.MOUNT_PATH,
        good=both(TLS, worker_container(**mount("tls", "/etc/ray"))),
        bad=both(TLS, worker_container(**mount("tls", "/etc/ray/tls"))),
        path="workerGroupSpecs[0].template.spec.containers[0].volumeMounts[/etc/ray/tls]",
        message=f'cannot use volume mount at path "/etc/ray/tls" in worker group "small" {MANAGED}',
    ),
    Example(
        says="under TLS the autoscaler's variables for it are ours",
        rule=tls.VARIABLE,
        good=both(TLS, {"autoscalerOptions": {"env": env(A="b")}}),
        bad=both(TLS, {"autoscalerOptions": {"env": env(RAY_TLS_SERVER_KEY="x")}}),
        path="autoscalerOptions.env[RAY_TLS_SERVER_KEY]",
        message=f"cannot set RAY_TLS_SERVER_KEY environment variable in autoscalerOptions.env {AUTOSCALER_MANAGED}",
    ),
    Example(
        says="under TLS the autoscaler's mount for it is ours",
        rule=tls.MOUNT_NAME,
        good={"autoscalerOptions": mount("ray-tls", "/etc/tls")},
        bad=both(TLS, {"autoscalerOptions": mount("ray-tls", "/etc/tls")}),
        path="autoscalerOptions.volumeMounts[/etc/tls]",
        message=f'cannot use volume mount named "ray-tls" in autoscalerOptions.volumeMounts {AUTOSCALER_MANAGED}',
    ),
    Example(
        says="under TLS the autoscaler's path for it is ours",
        rule=tls.MOUNT_PATH,
        good=both(TLS, {"autoscalerOptions": mount("tls", "/etc/tls")}),
        bad=both(TLS, {"autoscalerOptions": mount("tls", "/etc/ray/tls")}),
        path="autoscalerOptions.volumeMounts[/etc/ray/tls]",
        message='cannot use volume mount at path "/etc/ray/tls" in autoscalerOptions.volumeMounts '
        f"{AUTOSCALER_MANAGED}",
    ),
)

EXAMPLES = (*AUTOSCALER, *AUTH, *NETWORK, *ENCRYPTION)
