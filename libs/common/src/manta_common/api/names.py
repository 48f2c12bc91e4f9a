"""How objects are named and names shortened, byte for byte as KubeRay does it."""

import hashlib
import unicodedata
from typing import Final

MAX_CLUSTER_NAME: Final = 53
MAX_JOB_NAME: Final = 47
MAX_SERVICE_NAME: Final = 47
MAX_CRON_JOB_NAME: Final = 36
MAX_POD_PREFIX: Final = 50
MAX_LABEL: Final = 63
SUFFIX_LENGTH: Final = 5
SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"

API_GROUP: Final = "ray.io"
API_VERSION: Final = "ray.io/v1"
MANAGED_BY_KUBERAY: Final = "ray.io/kuberay-operator"
MANAGED_BY_MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
DEFAULT_DOMAIN: Final = "cluster.local"


def suffix(*seeds: str) -> str:
    """Return the five characters that belong to these seeds: the look of KubeRay's random ones, but repeatable."""
    number = int.from_bytes(hashlib.sha256("\0".join(seeds).encode()).digest())
    characters = []
    for _ in range(SUFFIX_LENGTH):
        number, index = divmod(number, len(SUFFIX_ALPHABET))
        characters.append(SUFFIX_ALPHABET[index])
    return "".join(characters)


def suffixed(name: str, *seeds: str) -> str:
    """Return a name for a child of which there may be several: a job's cluster, its job id, a replica group."""
    return f"{name}-{suffix(*seeds)}"


def object_name(name: str) -> str:
    """Return the last 50 bytes of a name, beginning with a letter (KubeRay's CheckName)."""
    short = _last(name, MAX_POD_PREFIX)
    return f"r{short[1:]}" if short[:1].isdigit() or _begins_with_punctuation(short) else short


def label_value(value: str) -> str:
    """Return the last 63 bytes of a label value or Job name, not beginning with punctuation (KubeRay's CheckLabel)."""
    short = _last(value, MAX_LABEL)
    return f"r{short[1:]}" if _begins_with_punctuation(short) else short


def identifier(owner: str, node_type: str) -> str:
    """Return the value of label ray.io/identifier for the nodes of one type."""
    return label_value(f"{owner}-{node_type}")


def head_pod(cluster: str) -> str:
    """Return the head Pod's fixed name."""
    return f"{_first(cluster, MAX_POD_PREFIX)}-head".lower()


def head_pod_prefix(cluster: str) -> str:
    """Return what the head Pod's name begins with; five characters follow."""
    return f"{head_pod(cluster)}-"


def worker_pod_prefix(cluster: str, group: str) -> str:
    """Return what the names of a group's worker Pods begin with; five characters follow."""
    return f"{_first(f'{cluster}-{group}', MAX_POD_PREFIX)}-worker-".lower()


def head_service(owner: str, custom: str = "") -> str:
    """Return the head Service's name of a cluster, or of a job or service (where no custom name counts)."""
    return custom or f"{owner}-head-svc"


def serve_service(owner: str) -> str:
    """Return the serve Service's name of a cluster or service."""
    return f"{owner}-serve-svc"


def serve_label(owner: str) -> str:
    """Return the value of label ray.io/serve on a serve Service."""
    return f"{owner}-serve"


def headless_service(cluster: str) -> str:
    """Return the name of the headless Service for workers with several hosts."""
    return f"{cluster}-headless"


def service_address(service: str, namespace: str, domain: str = DEFAULT_DOMAIN) -> str:
    """Return a Service's name in the cluster's DNS."""
    return f"{service}.{namespace}.svc.{domain}"


def ingress(cluster: str) -> str:
    """Return the name of the dashboard's Ingress."""
    return object_name(f"{cluster}-head-ingress")


def route(cluster: str, namespace: str) -> str:
    """Return the name of the dashboard's OpenShift Route, cut so that its host name fits with the namespace."""
    # KubeRay crashes on namespaces of 51 characters and more; one character is kept there.
    room = max(1, 51 - len(namespace.encode()))
    return object_name(_first(f"{cluster}-head-route", room))


def autoscaler_account(cluster: str, custom: str = "") -> str:
    """Return the name of the autoscaler's ServiceAccount."""
    return object_name(custom or cluster)


def autoscaler_role(cluster: str) -> str:
    """Return the name of the autoscaler's Role and RoleBinding."""
    return object_name(cluster)


def auth_secret(cluster: str, custom: str = "") -> str:
    """Return the name of the Secret with the cluster's token; a user's own name is taken as it is."""
    return custom or object_name(cluster)


def gcs_claim(cluster: str, custom: str = "") -> str:
    """Return the name of the claim that holds the GCS' embedded storage."""
    return custom or f"{cluster}-gcs-pvc"


def redis_cleanup_job(cluster: str) -> str:
    """Return the name of the Job that removes a deleted cluster's keys from Redis."""
    return label_value(f"{cluster}-redis-cleanup")


def cron_child(cron_job: str, scheduled_at_seconds: int) -> str:
    """Return the name of the RayJob for one tick, in whole minutes since 1970."""
    return f"{cron_job}-{scheduled_at_seconds // 60}"


def gateway(service: str) -> str:
    """Return the name of a RayService's Gateway."""
    return f"{service}-gateway"


def http_route(service: str) -> str:
    """Return the name of a RayService's HTTPRoute."""
    return f"{service}-httproute"


def head_network_policy(cluster: str) -> str:
    """Return the name of the head's NetworkPolicy."""
    return f"{cluster}-head"


def worker_network_policy(cluster: str, group: str) -> str:
    """Return the name of a worker group's NetworkPolicy."""
    return f"{cluster}-workers-{group}"


def self_signed_issuer(cluster: str) -> str:
    """Return the name of the Issuer that signs the cluster's CA."""
    return f"ray-selfsigned-issuer-{cluster}"


def ca_issuer(cluster: str) -> str:
    """Return the name of the Issuer that signs head and worker certificates."""
    return f"ray-ca-issuer-{cluster}"


def ca_certificate(cluster: str) -> str:
    """Return the name of the cluster's CA Certificate."""
    return f"ray-ca-certificate-{cluster}"


def ca_secret(cluster: str, uid: str) -> str:
    """Return the name of the Secret with the cluster's CA."""
    return f"{cluster}-ca-secret-{uid[:8]}"


def node_certificate(cluster: str, node_type: str) -> str:
    """Return the name of the head's or the workers' Certificate."""
    return f"ray-{node_type}-cert-{cluster}"


def node_secret(cluster: str, node_type: str) -> str:
    """Return the name of the Secret with the head's or the workers' certificate."""
    return f"ray-{node_type}-secret-{cluster}"


def volcano_pod_group(owner: str) -> str:
    """Return the name of Volcano's PodGroup for a cluster or job."""
    return f"ray-{owner}-pg"


def workload_pod_group(cluster: str) -> str:
    """Return the name of the PodGroup for Kubernetes' own gang scheduling."""
    return f"{cluster}-cluster"


def _first(text: str, length: int) -> str:
    return text.encode()[:length].decode(errors="ignore")


def _last(text: str, length: int) -> str:
    return text.encode()[-length:].decode(errors="ignore")


def _begins_with_punctuation(text: str) -> bool:
    return bool(text) and unicodedata.category(text[0]).startswith("P")
