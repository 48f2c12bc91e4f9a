"""The names that pods can resolve."""

from typing import Any

from manta_embedded.node.hosts import HEADER, hosts


def pod(name: str, address: str, *, ready: bool = True, **spec: Any) -> dict[str, Any]:
    """A pod of an application with an address."""
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {
        "metadata": {"name": name, "namespace": "ns", "labels": {"app": "x"}},
        "spec": spec,
        "status": {"podIP": address, "phase": "Running", "conditions": conditions},
    }


def service(**spec: Any) -> dict[str, Any]:
    """A service in front of the application."""
    return {"metadata": {"name": "svc", "namespace": "ns"}, "spec": {"selector": {"app": "x"}, **spec}}


def lines(
    asker: dict[str, Any], services: list[dict[str, Any]], pods: list[dict[str, Any]], api: str = ""
) -> list[str]:
    """The lines of its file after the usual ones."""
    text = hosts(asker, "10.0.0.1", services, pods, api=api)
    assert text.startswith(HEADER)
    return text.removeprefix(HEADER).splitlines()


NAMES = "svc.ns.svc.cluster.local svc.ns.svc svc.ns svc"


def test_a_service_leads_to_its_ready_pods() -> None:
    pods = [pod("a", "10.0.0.2"), pod("b", "10.0.0.3", ready=False)]
    assert lines(pods[0], [service(clusterIP="10.96.0.9")], pods) == ["10.0.0.1\ta", f"10.0.0.2\t{NAMES}"]


def test_a_service_whose_pods_call_its_port_otherwise_leads_to_its_own_address() -> None:
    ready = pod("a", "10.0.0.2")
    same = service(clusterIP="10.96.0.9", ports=[{"port": 8000, "targetPort": 8000}])
    other = service(clusterIP="10.96.0.9", ports=[{"port": 80, "targetPort": 8000}])
    headless = service(clusterIP="None", ports=[{"port": 80, "targetPort": 8000}])
    found = [lines(ready, [one], [ready])[1:] for one in (same, other, headless)]
    assert found == [[f"10.0.0.2\t{NAMES}"], [f"10.96.0.9\t{NAMES}"], [f"10.0.0.2\t{NAMES}"]]


def test_a_head_is_found_before_it_is_ready() -> None:
    pods = [pod("b", "10.0.0.3", ready=False)]
    found = service(clusterIP="None", publishNotReadyAddresses=True)
    assert lines(pods[0], [found], pods)[1:] == [f"10.0.0.3\t{NAMES}"]


def test_other_namespaces_have_longer_names() -> None:
    asker = {"metadata": {"name": "q", "namespace": "other"}, "spec": {}}
    assert lines(asker, [service()], [pod("a", "10.0.0.2")])[1:] == [
        "10.0.0.2\tsvc.ns.svc.cluster.local svc.ns.svc svc.ns"
    ]


def test_hosts_of_a_headless_service() -> None:
    asker = pod("a", "10.0.0.2", hostname="h", subdomain="svc")
    found = lines(asker, [service(clusterIP="None")], [asker])
    assert found == [
        "10.0.0.1\th.svc.ns.svc.cluster.local h",
        f"10.0.0.2\t{NAMES}",
        "10.0.0.2\th.svc.ns.svc.cluster.local h.svc.ns.svc h.svc.ns h.svc",
    ]


def test_the_api_and_aliases() -> None:
    api = {"metadata": {"name": "kubernetes", "namespace": "default"}, "spec": {"clusterIP": "10.96.0.1"}}
    asker = pod("a", "10.0.0.2", hostAliases=[{"ip": "1.2.3.4", "hostnames": ["far", "away"]}])
    assert lines(asker, [api], [], api="10.0.0.254") == [
        "10.0.0.1\ta",
        "1.2.3.4\tfar away",
        "10.0.0.254\tkubernetes.default.svc.cluster.local kubernetes.default.svc kubernetes.default",
    ]
