"""What an update changes, what it keeps, and when it is refused."""

import re

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, JOB, POD, ROLEBINDING, SECRET, SERVICE
from manta_common.kube.protocol import MergePatch
from tests.contract.api.api import Api
from tests.contract.api.asserts import refused
from tests.contract.api.objects import GADGET, OLD_GADGET, WIDGET, Obj, configmap, gadget, job, pod, service, widget

STALE = "the object has been modified; please apply your changes to the latest version and try again"


def changed(obj: Obj, **parts: object) -> Obj:
    """The object with these parts replaced."""
    return {**obj, **parts}


def test_an_update_replaces_everything_but_identity(api: Api, space: str) -> None:
    made = api.create(CONFIGMAP, space, configmap("one", a="1", b="2"))
    after = api.update(CONFIGMAP, Key(space, "one"), configmap("one", c="3"))
    assert after["data"] == {"c": "3"}
    kept = ("uid", "creationTimestamp", "name", "namespace")
    assert [after["metadata"][name] for name in kept] == [made["metadata"][name] for name in kept]
    assert int(after["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


def test_an_update_for_an_old_version_is_a_conflict(api: Api, space: str) -> None:
    made = api.create(CONFIGMAP, space, configmap("one", a="1"))
    api.update(CONFIGMAP, Key(space, "one"), changed(made, data={"a": "2"}))
    message = f'Operation cannot be fulfilled on configmaps "one": {STALE}'
    with refused(409, "Conflict", message=message) as status:
        api.update(CONFIGMAP, Key(space, "one"), changed(made, data={"a": "3"}))
    assert status["details"] == {"name": "one", "kind": "configmaps"}


def test_an_update_without_a_version_counts_for_built_in_kinds(api: Api, space: str) -> None:
    api.create(CONFIGMAP, space, configmap("one", a="1"))
    assert api.update(CONFIGMAP, Key(space, "one"), configmap("one", a="2"))["data"] == {"a": "2"}


def test_an_update_without_a_version_is_refused_for_custom_resources(api: Api, space: str) -> None:
    api.create(WIDGET, space, widget("one"))
    message = (
        'widgets.api.contract.manta.example "one" is invalid: metadata.resourceVersion: Invalid value: 0: must be'
        " specified for an update"
    )
    with refused(422, "Invalid", message=message):
        api.update(WIDGET, Key(space, "one"), widget("one", size=2))


def test_an_update_of_another_uid_is_a_conflict(api: Api, space: str) -> None:
    made = api.create(CONFIGMAP, space, configmap("one"))
    body = configmap("one", a="1")
    body["metadata"]["uid"] = "4b0b6d6e-0000-4000-8000-000000000000"
    message = (
        'Operation cannot be fulfilled on configmaps "one": StorageError: invalid object, Code: 4, Key:'
        f" /registry/configmaps/{space}/one, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in"
        f" precondition: 4b0b6d6e-0000-4000-8000-000000000000, UID in object meta: {made['metadata']['uid']}"
    )
    with refused(409, "Conflict", message=message):
        api.update(CONFIGMAP, Key(space, "one"), body)


def test_an_update_of_what_is_not_there_is_not_found(api: Api, space: str) -> None:
    with refused(404, "NotFound", message='configmaps "none" not found'):
        api.update(CONFIGMAP, Key(space, "none"), configmap("none"))


def test_an_update_with_another_name_is_refused(api: Api, space: str) -> None:
    api.create(CONFIGMAP, space, configmap("one"))
    message = "the name of the object (two) does not match the name on the URL (one)"
    with refused(400, "BadRequest", message=message):
        api.update(CONFIGMAP, Key(space, "one"), configmap("two"))


def test_an_update_that_changes_nothing_makes_no_version(api: Api, space: str) -> None:
    made = api.create(WIDGET, space, widget("one", size=1))
    assert (
        api.update(WIDGET, Key(space, "one"), made)["metadata"]["resourceVersion"]
        == (made["metadata"]["resourceVersion"])
    )


@pytest.mark.parametrize(
    ("body", "generation"),
    [
        pytest.param({"spec": {"size": 2}}, 2, id="a change of the spec raises it"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, 1, id="a change of labels does not"),
        pytest.param({"spec": {"size": 1}}, 1, id="no change does not"),
        pytest.param({"status": {"state": "x"}}, 1, id="a status that does not count does not"),
    ],
)
def test_the_generation_counts_changes_of_what_is_wanted(api: Api, space: str, body: Obj, generation: int) -> None:
    api.create(WIDGET, space, widget("one", size=1))
    after = api.patch(WIDGET, Key(space, "one"), MergePatch(body))
    assert after["metadata"]["generation"] == generation


def test_a_generation_in_the_body_does_not_count(api: Api, space: str) -> None:
    api.create(WIDGET, space, widget("one", size=1))
    after = api.patch(WIDGET, Key(space, "one"), MergePatch({"metadata": {"generation": 9}, "spec": {"size": 2}}))
    assert after["metadata"]["generation"] == 2


def test_the_status_of_a_custom_resource_is_written_alone(api: Api, space: str) -> None:
    made = api.create(WIDGET, space, widget("one", size=1))
    body = {**made, "spec": {"size": 2}, "status": {"state": "new"}}
    body["metadata"] = {**made["metadata"], "labels": {"a": "b"}}
    after = api.update(WIDGET, Key(space, "one"), body, "status")
    assert (after["spec"], after["status"]) == ({"size": 1}, {"state": "new"})
    assert "labels" not in after["metadata"]


def test_the_status_of_a_pod_is_written_with_labels(api: Api, space: str) -> None:
    api.create(POD, space, pod("one"))
    body = {"metadata": {"labels": {"a": "b"}}, "spec": {"activeDeadlineSeconds": 5}, "status": {"reason": "Because"}}
    after = api.patch(POD, Key(space, "one"), MergePatch(body), "status")
    assert after["status"]["reason"] == "Because"
    assert after["metadata"]["labels"] == {"a": "b"}
    assert "activeDeadlineSeconds" not in after["spec"]


def test_a_part_that_a_kind_does_not_have_is_not_found(api: Api, space: str) -> None:
    made = api.create(CONFIGMAP, space, configmap("one"))
    with refused(404, "NotFound", match="could not find the requested resource"):
        api.update(CONFIGMAP, Key(space, "one"), made, "status")


def test_a_status_can_be_removed(api: Api, space: str) -> None:
    api.create(WIDGET, space, widget("one"))
    api.patch(WIDGET, Key(space, "one"), MergePatch({"status": {"state": "new"}}), "status")
    after = api.patch(WIDGET, Key(space, "one"), MergePatch({"status": None}), "status")
    assert "status" not in after


def test_a_frozen_config_map_stays_as_it_is(api: Api, space: str) -> None:
    api.create(CONFIGMAP, space, {**configmap("one", a="1"), "immutable": True})
    with refused(422, "Invalid", match="data: Forbidden: field is immutable when `immutable` is set"):
        api.patch(CONFIGMAP, Key(space, "one"), MergePatch({"data": {"a": "2"}}))
    with refused(422, "Invalid", match="immutable: Forbidden: field is immutable when `immutable` is set"):
        api.patch(CONFIGMAP, Key(space, "one"), MergePatch({"immutable": False}))


def test_the_type_of_a_secret_stays(api: Api, space: str) -> None:
    api.create(SECRET, space, {"metadata": {"name": "one"}})
    message = 'Secret "one" is invalid: type: Invalid value: "other": field is immutable'
    with refused(422, "Invalid", message=message):
        api.patch(SECRET, Key(space, "one"), MergePatch({"type": "other"}))


def test_the_address_of_a_service_stays(api: Api, space: str) -> None:
    address = api.create(SERVICE, space, service("one"))["spec"]["clusterIP"]
    after = api.update(SERVICE, Key(space, "one"), service("one", selector={"app": "two"}))
    assert (after["spec"]["clusterIP"], after["spec"]["selector"]) == (address, {"app": "two"})
    with refused(422, "Invalid", match=r"spec.clusterIPs\[0\]: Invalid value: .*: may not change once set"):
        api.patch(SERVICE, Key(space, "one"), MergePatch({"spec": {"clusterIP": "10.96.77.77"}}))


def test_the_spec_of_a_pod_stays_but_for_its_images(api: Api, space: str) -> None:
    api.create(POD, space, pod("one"))
    containers = [{"name": "main", "image": "example/none:2"}]
    after = api.patch(POD, Key(space, "one"), MergePatch({"spec": {"containers": containers}}))
    assert after["spec"]["containers"][0]["image"] == "example/none:2"
    assert after["metadata"]["generation"] == 2
    with refused(422, "Invalid", match="spec: Forbidden: pod updates may not change fields other than"):
        api.patch(POD, Key(space, "one"), MergePatch({"spec": {"hostname": "other"}}))


def test_the_template_and_the_selector_of_a_job_stay(api: Api, space: str) -> None:
    api.create(JOB, space, job("one"))
    after = api.patch(JOB, Key(space, "one"), MergePatch({"spec": {"suspend": True, "backoffLimit": 2}}))
    assert (after["spec"]["suspend"], after["metadata"]["generation"]) == (True, 2)
    with refused(422, "Invalid", match=r"spec.template.spec: Invalid value: .*field is immutable"):
        api.patch(JOB, Key(space, "one"), MergePatch({"spec": {"template": {"spec": {"hostname": "other"}}}}))
    with refused(422, "Invalid", match=r"spec.completions: Invalid value: .*field is immutable"):
        api.patch(JOB, Key(space, "one"), MergePatch({"spec": {"completions": 5}}))


def test_the_role_of_a_binding_stays(api: Api, space: str) -> None:
    role = {"kind": "Role", "name": "a", "apiGroup": "rbac.authorization.k8s.io"}
    api.create(ROLEBINDING, space, {"metadata": {"name": "one"}, "roleRef": role})
    with refused(422, "Invalid", match="roleRef: Invalid value: .*: cannot change roleRef"):
        api.patch(ROLEBINDING, Key(space, "one"), MergePatch({"roleRef": {"name": "b"}}))


def test_a_service_can_be_withdrawn_from_the_world(api: Api, space: str) -> None:
    key = Key(space, "one")
    address = api.create(SERVICE, space, service("one", type="NodePort"))["spec"]["clusterIP"]
    after = api.patch(SERVICE, key, MergePatch({"spec": {"type": "ClusterIP"}}))["spec"]
    assert after["clusterIP"] == address
    assert "nodePort" not in after["ports"][0]
    assert "externalTrafficPolicy" not in after
    again = api.patch(SERVICE, key, MergePatch({"spec": {"type": "NodePort"}}))["spec"]
    assert again["ports"][0]["nodePort"] >= 30000


def test_ports_of_a_service_on_nodes_stay_with_their_names(api: Api, space: str) -> None:
    http, grpc, more = ({"name": name, "port": port} for name, port in (("http", 80), ("grpc", 81), ("more", 82)))
    made = api.create(SERVICE, space, service("one", type="NodePort", ports=[http, grpc]))["spec"]["ports"]
    given = {port["name"]: port["nodePort"] for port in made}
    change = MergePatch({"spec": {"ports": [more, {**grpc, "port": 83}, http], "selector": {"app": "other"}}})
    after = api.patch(SERVICE, Key(space, "one"), change)["spec"]["ports"]
    found = {port["name"]: port["nodePort"] for port in after}
    assert (found["http"], found["grpc"]) == (given["http"], given["grpc"])
    assert found["more"] not in given.values()
    taken = MergePatch({"spec": {"ports": [{**more, "nodePort": given["http"]}, grpc, http]}})
    last = api.patch(SERVICE, Key(space, "one"), taken)["spec"]["ports"]
    assert len({port["nodePort"] for port in last}) == 3


def test_a_pod_tells_its_address_in_two_ways(api: Api, space: str) -> None:
    api.create(POD, space, pod("one"))
    status = api.patch(POD, Key(space, "one"), MergePatch({"status": {"podIP": "10.0.0.1"}}), "status")["status"]
    assert status["podIPs"] == [{"ip": "10.0.0.1"}]
    status = api.patch(POD, Key(space, "one"), MergePatch({"status": {"podIP": "10.0.0.2"}}), "status")["status"]
    assert status["podIPs"] == [{"ip": "10.0.0.2"}]


def test_a_pod_keeps_its_quality_of_service(api: Api, space: str) -> None:
    made = api.create(POD, space, pod("one"))
    after = api.update(POD, Key(space, "one"), {**made, "status": {"phase": "Running"}}, "status")
    assert after["status"] == {"phase": "Running", "qosClass": "BestEffort"}


def test_names_and_namespaces_cannot_be_patched(api: Api, space: str) -> None:
    api.create(CONFIGMAP, space, configmap("one"))
    message = "the name of the object (two) does not match the name on the URL (one)"
    with refused(400, "BadRequest", message=message):
        api.patch(CONFIGMAP, Key(space, "one"), MergePatch({"metadata": {"name": "two"}}))
    with refused(400, "BadRequest", match="the namespace of the"):
        api.patch(CONFIGMAP, Key(space, "one"), MergePatch({"metadata": {"namespace": "default"}}))


def test_all_versions_of_a_kind_are_one_object(api: Api, space: str) -> None:
    made = api.create(OLD_GADGET, space, {**gadget("one", colour="red"), "apiVersion": OLD_GADGET.api_version})
    assert made["apiVersion"] == OLD_GADGET.api_version
    found = api.get(GADGET, Key(space, "one"))
    assert (found["apiVersion"], found["metadata"]["uid"]) == (GADGET.api_version, made["metadata"]["uid"])
    after = api.patch(OLD_GADGET, Key(space, "one"), MergePatch({"spec": {"colour": "blue"}}))
    assert after["apiVersion"] == OLD_GADGET.api_version
    assert api.get(GADGET, Key(space, "one"))["spec"] == {"colour": "blue"}
    assert [one["apiVersion"] for one in api.list(GADGET, space)["items"]] == [GADGET.api_version]


def test_a_scale_shows_and_changes_replicas(api: Api, space: str) -> None:
    key = Key(space, "one")
    api.create(GADGET, space, gadget("one", replicas=3))
    api.patch(GADGET, key, MergePatch({"status": {"replicas": 2, "selector": "a=b"}}), "status")
    scale = api.get(GADGET, key, "scale")
    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "a=b"})
    after = api.update(GADGET, key, {**scale, "spec": {"replicas": 5}}, "scale")
    assert after["spec"] == {"replicas": 5}
    found = api.get(GADGET, key)
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (5, 2)
    least = api.patch(OLD_GADGET, key, MergePatch({"spec": {"replicas": 1}}), "scale")
    assert (least["apiVersion"], least["spec"]) == ("autoscaling/v1", {"replicas": 1})


def test_a_scale_for_an_old_version_is_a_conflict(api: Api, space: str) -> None:
    key = Key(space, "one")
    api.create(GADGET, space, gadget("one", replicas=3))
    scale = api.get(GADGET, key, "scale")
    api.patch(GADGET, key, MergePatch({"spec": {"replicas": 4}}))
    with refused(409, "Conflict", match=re.escape(STALE)):
        api.update(GADGET, key, {**scale, "spec": {"replicas": 5}}, "scale")
