"""The controllers that only the live API has."""

import random
from typing import Any

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, ENDPOINTSLICE, JOB, NAMESPACE, POD, SERVICE, SERVICEACCOUNT
from manta_common.kube.protocol import MergePatch
from manta_embedded.api.accounts import Accounts
from manta_embedded.api.endpoints import EndpointSlices
from manta_embedded.api.expiry import Expiry
from manta_embedded.api.job_events import JobEvents
from manta_embedded.store.builtin import CORE_EVENT
from manta_embedded.store.deletion import Deletion
from manta_embedded.store.store import Store
from tests.contract.api.api import HandClock
from tests.contract.api.objects import job, pod, service

Obj = dict[str, Any]


def store() -> tuple[Store, HandClock]:
    clock = HandClock()
    return Store(clock, random.Random(0)), clock


def settle(controller: Any) -> None:
    while controller.step():
        pass


def slices(given: Store) -> list[Obj]:
    return list(given.objects(ENDPOINTSLICE, "default"))


def run(given: Store, name: str, address: str, *, ready: bool) -> None:
    condition = {"type": "Ready", "status": str(ready)}
    status = {"phase": "Running", "podIP": address, "conditions": [condition]}
    given.patch(POD, Key("default", name), MergePatch({"status": status}), subresource="status")


def test_a_namespace_gets_an_account_and_the_authority() -> None:
    given, _ = store()
    controller = Accounts(given, "the certificate")
    given.create(NAMESPACE, "", {"metadata": {"name": "new"}})
    settle(controller)
    assert given.find(SERVICEACCOUNT, Key("new", "default"))
    assert given.get(CONFIGMAP, Key("new", "kube-root-ca.crt"))["data"] == {"ca.crt": "the certificate"}
    given.delete(SERVICEACCOUNT, Key("new", "default"), Deletion())
    given.patch(CONFIGMAP, Key("new", "kube-root-ca.crt"), MergePatch({"data": {"ca.crt": "another"}}))
    settle(controller)
    assert given.find(SERVICEACCOUNT, Key("new", "default"))
    assert given.get(CONFIGMAP, Key("new", "kube-root-ca.crt"))["data"] == {"ca.crt": "the certificate"}


def test_a_service_has_a_slice_of_its_pods() -> None:
    given, _ = store()
    controller = EndpointSlices(given)
    given.create(SERVICE, "default", service("front", ports=[{"name": "web", "port": 80, "targetPort": 8080}]))
    body = pod("one")
    body["metadata"]["labels"] = {"app": "front"}
    given.create(POD, "default", body)
    settle(controller)
    (found,) = slices(given)
    assert not found.get("endpoints")
    assert found["ports"] == [{"name": "web", "port": 8080, "protocol": "TCP"}]
    run(given, "one", "10.1.0.1", ready=True)
    settle(controller)
    (found,) = slices(given)
    (endpoint,) = found["endpoints"]
    assert (endpoint["addresses"], endpoint["conditions"]["ready"]) == (["10.1.0.1"], True)
    run(given, "one", "10.1.0.1", ready=False)
    settle(controller)
    assert slices(given)[0]["endpoints"][0]["conditions"]["ready"] is False
    given.delete(POD, Key("default", "one"), Deletion(grace_seconds=0))
    settle(controller)
    assert not slices(given)[0].get("endpoints")


def test_a_job_that_is_suspended_is_told_of() -> None:
    given, _ = store()
    controller = JobEvents(given)
    given.create(JOB, "default", job("one", suspend=True))
    for status in ("True", "False"):
        change = {"status": {"conditions": [{"type": "Suspended", "status": status}]}}
        given.patch(JOB, Key("default", "one"), MergePatch(change), subresource="status")
    settle(controller)
    told = {event["reason"]: event["message"] for event in given.objects(CORE_EVENT, "default")}
    assert told == {"Suspended": "Job suspended", "Resumed": "Job resumed"}


def test_an_event_goes_after_an_hour_without_news() -> None:
    given, clock = store()
    controller = Expiry(given)
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    for name in ("old", "again"):
        given.create(CORE_EVENT, "default", {"metadata": {"name": name}, "involvedObject": about, "reason": "R"})
    clock.seconds = 3000
    settle(controller)
    given.patch(CORE_EVENT, Key("default", "again"), MergePatch({"count": 2}))
    clock.seconds = 3601
    settle(controller)
    assert [event["metadata"]["name"] for event in given.objects(CORE_EVENT)] == ["again"]
    clock.seconds = 6601
    settle(controller)
    assert not list(given.objects(CORE_EVENT))
