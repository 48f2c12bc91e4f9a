"""The options of a Ray cluster: authentication, autoscaler, fault tolerance, history, network policy and TLS."""

from typing import Annotated, Literal

from msgspec import UNSET, Raw, UnsetType, field

from manta_common.api.wire import Int32, Quantity, Raws, Strings, Wire, doc

ENV_VAR = "io.k8s.api.core.v1.EnvVar"
ENV_VAR_SOURCE = "io.k8s.api.core.v1.EnvVarSource"
ENV_FROM_SOURCE = "io.k8s.api.core.v1.EnvFromSource"
VOLUME_MOUNT = "io.k8s.api.core.v1.VolumeMount"
RESOURCES = "io.k8s.api.core.v1.ResourceRequirements"
SECURITY_CONTEXT = "io.k8s.api.core.v1.SecurityContext"
INGRESS_RULE = "io.k8s.api.networking.v1.NetworkPolicyIngressRule"
EGRESS_RULE = "io.k8s.api.networking.v1.NetworkPolicyEgressRule"


class AuthOptions(Wire, frozen=True, kw_only=True):
    """How clients of a Ray cluster prove who they are."""

    enable_k8s_token_auth: Annotated[
        bool | None, doc("Let Kubernetes check the tokens; RayClusters on their own only, Ray 2.55, mode `token`.")
    ] = field(default=None, name="enableK8sTokenAuth")
    secret_name: Annotated[
        str | None, doc("Secret with the token in `auth_token`; absent and empty make the operator generate one.")
    ] = None
    mode: Annotated[
        Literal["disabled", "token"] | None,
        doc("`token` asks every client for the token (Ray 2.52); absent makes the Secret but asks nobody."),
    ] = None


class RedisCredential(Wire, frozen=True, kw_only=True):
    """A user name or a password, as text or from elsewhere."""

    value_from: Annotated[Raw | UnsetType, doc("Where to take it from.", kubernetes=ENV_VAR_SOURCE)] = UNSET
    value: Annotated[str, doc("The text itself.")] = ""


class GcsEmbeddedStorage(Wire, frozen=True, kw_only=True):
    """The volume of the embedded backend."""

    claim_name: Annotated[
        str, doc("An existing claim; not together with `size`, `storageClassName` or `accessModes`.")
    ] = ""
    size: Annotated[Quantity | None, doc("Size of the claim that the operator makes; absent is 1Gi.")] = None
    storage_class_name: Annotated[str | None, doc("Its storage class; absent is the default class, empty is none.")] = (
        None
    )
    access_modes: Annotated[Strings, doc("Its access modes; none given is ReadWriteOnce.")] = ()
    sub_path: Annotated[str, doc("Folder within the volume.")] = ""
    deletion_policy: Annotated[
        Literal["DeleteWithCluster", "Retain"] | None,
        doc("Whether the claim goes with the cluster; absent is `DeleteWithCluster`."),
    ] = None


class GcsFaultToleranceOptions(Wire, frozen=True, kw_only=True):
    """Where the state of Ray's GCS is kept."""

    backend: Annotated[
        Literal["redis", "rocksdb"] | None, doc("What keeps the state; absent is `redis`. Cannot be changed.")
    ] = None
    redis_username: Annotated[RedisCredential | None, doc("User name at Redis.")] = None
    redis_password: Annotated[RedisCredential | None, doc("Password at Redis.")] = None
    external_storage_namespace: Annotated[
        str, doc("Prefix of the cluster's keys in Redis; absent is the cluster's uid.")
    ] = ""
    redis_address: Annotated[str, doc("Address of Redis.")] = ""
    storage: Annotated[GcsEmbeddedStorage | None, doc("The volume of the `rocksdb` backend.")] = None


class CollectorOptions(Wire, frozen=True, kw_only=True):
    """The container that collects for the history server."""

    image: Annotated[str | None, doc("Its image; must be given.")] = None
    image_pull_policy: Annotated[str | None, doc("When its image is pulled.")] = None
    resources: Annotated[Raw | UnsetType, doc("What it asks for.", kubernetes=RESOURCES)] = UNSET
    env: Annotated[Raws, doc("Its environment; must hold STORAGE_BACKEND.", kubernetes=ENV_VAR)] = ()


class HistoryServerOptions(Wire, frozen=True, kw_only=True):
    """What is collected for the history server."""

    collector_options: Annotated[
        CollectorOptions | None, doc("The collecting container in every pod; must be given.")
    ] = None


class NetworkPolicyRules(Wire, frozen=True, kw_only=True):
    """Traffic allowed beyond what Ray itself needs."""

    ingress_rules: Annotated[Raws, doc("Traffic let in.", kubernetes=INGRESS_RULE)] = ()
    egress_rules: Annotated[
        Raws, doc("Traffic let out; name resolution is not added by itself.", kubernetes=EGRESS_RULE)
    ] = ()


class NetworkPolicyGroup(Wire, frozen=True, kw_only=True):
    """The rules of one worker group."""

    group_name: Annotated[str, doc("The worker group that these rules are for.")]
    ingress_rules: Annotated[Raws, doc("Traffic let in.", kubernetes=INGRESS_RULE)] = ()
    egress_rules: Annotated[
        Raws, doc("Traffic let out; name resolution is not added by itself.", kubernetes=EGRESS_RULE)
    ] = ()


class NetworkPolicyConfig(Wire, frozen=True, kw_only=True):
    """How far a Ray cluster is shut off from the network."""

    mode: Annotated[
        Literal["DenyAll", "DenyAllIngress", "DenyAllEgress"] | None,
        doc("Which directions are shut.", default="DenyAll"),
    ] = None
    head: Annotated[NetworkPolicyRules | None, doc("What the head may do besides.")] = None
    worker: Annotated[NetworkPolicyRules | None, doc("What workers may do besides.")] = None
    worker_groups: Annotated[
        tuple[NetworkPolicyGroup, ...],
        doc("Groups with rules of their own instead of `worker`.", list_type="map", list_map_keys=["groupName"]),
    ] = ()


class TLSOptions(Wire, frozen=True, kw_only=True):
    """Encryption between the nodes of a Ray cluster."""

    enabled: Annotated[bool | None, doc("Turn it on; needs cert-manager.")] = None


class AutoscalerOptions(Wire, frozen=True, kw_only=True):
    """Ray's autoscaler, a container beside the head."""

    resources: Annotated[
        Raw | UnsetType, doc("What it asks for; absent is 500m CPU and 512Mi memory.", kubernetes=RESOURCES)
    ] = UNSET
    image: Annotated[str | None, doc("Its image; absent is the head's.")] = None
    image_pull_policy: Annotated[str | None, doc("When its image is pulled; absent is `IfNotPresent`.")] = None
    security_context: Annotated[Raw | UnsetType, doc("Its security context.", kubernetes=SECURITY_CONTEXT)] = UNSET
    idle_timeout_seconds: Annotated[
        Int32 | None, doc("How long a worker may idle before it is taken away; Ray's default is 60.")
    ] = None
    upscaling_mode: Annotated[
        Literal["Default", "Aggressive", "Conservative"] | None, doc("How fast it adds workers.")
    ] = None
    version: Annotated[
        Literal["v1", "v2"] | None, doc("Which autoscaler runs; absent leaves it to Ray (v2 from Ray 2.47).")
    ] = None
    env: Annotated[Raws, doc("More environment variables.", kubernetes=ENV_VAR)] = ()
    env_from: Annotated[Raws, doc("More sources of environment variables.", kubernetes=ENV_FROM_SOURCE)] = ()
    volume_mounts: Annotated[Raws, doc("More volume mounts.", kubernetes=VOLUME_MOUNT)] = ()
    command: Annotated[Strings, doc("Its command instead of the usual one.")] = ()
    args: Annotated[Strings, doc("Its arguments instead of the usual ones.")] = ()
