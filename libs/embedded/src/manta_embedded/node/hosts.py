"""The names that a pod can resolve: itself, services, and pods behind headless services; as a file of hosts. Pure."""

from collections.abc import Iterable, Iterator

from manta_embedded.sim.pods import is_ready
from manta_embedded.store.objects import Obj, at_path, is_terminating

DOMAIN = "cluster.local"
HEADER = """\
# Kept current by the node: services stand here with the addresses of their pods.
127.0.0.1\tlocalhost
"""


def hosts(pod: Obj, address: str, services: Iterable[Obj], pods: Iterable[Obj], *, api: str = "") -> str:
    """The file for a pod; `api` is where the API server is reached."""
    namespace = pod["metadata"]["namespace"]
    by_namespace: dict[str, list[Obj]] = {}
    for one in pods:
        by_namespace.setdefault(one["metadata"]["namespace"], []).append(one)
    lines = [f"{address}\t{_own_names(pod)}"] if address else []
    lines += [_alias(given) for given in at_path(pod, "spec.hostAliases") or ()]
    for service in sorted(services, key=_sorted_by):
        behind = by_namespace.get(service["metadata"]["namespace"], [])
        lines += _service_lines(service, behind, namespace=namespace, api=api)
    return HEADER + "".join(f"{line}\n" for line in lines)


def addresses(service: Obj, pods: Iterable[Obj]) -> list[str]:
    """The addresses of the pods behind a service, in order."""
    return [at_path(pod, "status.podIP") for pod in pods_behind(service, pods)]


def pods_behind(service: Obj, pods: Iterable[Obj]) -> Iterator[Obj]:
    """The pods to which a service leads now."""
    selector: dict[str, str] = at_path(service, "spec.selector") or {}
    unready_too = bool(at_path(service, "spec.publishNotReadyAddresses"))
    for pod in pods:
        labels = pod["metadata"].get("labels") or {}
        alive = at_path(pod, "status.podIP") and at_path(pod, "status.phase") not in ("Succeeded", "Failed")
        counts = unready_too or (is_ready(pod) and not is_terminating(pod))
        if selector and selector.items() <= labels.items() and alive and counts:
            yield pod


def _service_lines(service: Obj, pods: list[Obj], *, namespace: str, api: str) -> list[str]:
    name, own = service["metadata"]["name"], service["metadata"]["namespace"]
    names = _names(name, own, namespace)
    if (name, own) == ("kubernetes", "default"):
        return [f"{api}\t{names}"] if api else []
    behind, address = list(pods_behind(service, pods)), at_path(service, "spec.clusterIP")
    if address not in (None, "", "None") and _has_other_ports(service):
        return [f"{address}\t{names}"]  # only there its ports are what they are called
    lines = [f"{at_path(pod, 'status.podIP')}\t{names}" for pod in behind]
    if address == "None":
        lines += [line for pod in behind if (line := _host_line(pod, service, namespace))]
    return lines


def _has_other_ports(service: Obj) -> bool:
    ports = at_path(service, "spec.ports") or ()
    return any(port.get("targetPort") not in (None, 0, port["port"]) for port in ports)


def _host_line(pod: Obj, service: Obj, namespace: str) -> str:
    """A pod with a host name and the service as its subdomain has a name of its own."""
    host, subdomain = at_path(pod, "spec.hostname"), at_path(pod, "spec.subdomain")
    if not host or subdomain != service["metadata"]["name"]:
        return ""
    return (
        f"{at_path(pod, 'status.podIP')}\t{_names(f'{host}.{subdomain}', service['metadata']['namespace'], namespace)}"
    )


def _names(name: str, own: str, namespace: str) -> str:
    short = [name] if own == namespace else []
    return " ".join([f"{name}.{own}.svc.{DOMAIN}", f"{name}.{own}.svc", f"{name}.{own}", *short])


def _own_names(pod: Obj) -> str:
    host, subdomain = at_path(pod, "spec.hostname"), at_path(pod, "spec.subdomain")
    name = host or pod["metadata"]["name"]
    if not subdomain:
        return str(name)
    return f"{name}.{subdomain}.{pod['metadata']['namespace']}.svc.{DOMAIN} {name}"


def _alias(given: Obj) -> str:
    return f"{given['ip']}\t{' '.join(given.get('hostnames') or ())}"


def _sorted_by(service: Obj) -> tuple[str, str]:
    return service["metadata"]["namespace"], service["metadata"]["name"]
