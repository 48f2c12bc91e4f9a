"""What the content of built-in objects must and may be."""

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, JOB, LEASE, POD, ROLE, SERVICE, Kind
from manta_common.kube.protocol import MergePatch
from tests.contract.api.api import Api
from tests.contract.api.asserts import refused
from tests.contract.api.objects import WIDGET, Obj, configmap, job, pod, service, widget

MOUNT = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}


def container(**parts: object) -> Obj:
    return {"name": "a", "image": "b", **parts}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param({"containers": []}, "spec.containers: Required value", id="no containers"),
        pytest.param({"containers": [{"image": "b"}]}, "spec.containers[0].name: Required value", id="no name"),
        pytest.param({"containers": [{"name": "a"}]}, "spec.containers[0].image: Required value", id="no image"),
        pytest.param(
            {"containers": [container(), container()]},
            'spec.containers[1].name: Duplicate value: "a"',
            id="a name twice",
        ),
        pytest.param(
            {"containers": [container(**MOUNT)]},
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
            id="a volume that is not there",
        ),
        pytest.param(
            {"restartPolicy": "Sometimes"},
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
            id="no such restart policy",
        ),
    ],
)
def test_a_pod_that_cannot_run_is_refused(api: Api, space: str, spec: Obj, why: str) -> None:
    with refused(422, "Invalid", message=f'Pod "one" is invalid: {why}'):
        api.create(POD, space, pod("one", **spec))


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param({"ports": []}, "spec.ports: Required value", id="no ports"),
        pytest.param(
            {"ports": [{"port": 80}, {"port": 81}]},
            "[spec.ports[0].name: Required value, spec.ports[1].name: Required value]",
            id="several ports without names",
        ),
        pytest.param(
            {"ports": [{"port": 70000, "targetPort": 80}]},
            "spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive",
            id="no such port",
        ),
        pytest.param(
            {"type": "Funny"},
            'spec.type: Unsupported value: "Funny": supported values: "ClusterIP", "ExternalName", "LoadBalancer",'
            ' "NodePort"',
            id="no such type",
        ),
        pytest.param(
            {"clusterIP": "1.2.3.4"},
            'spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided network does not'
            " match the current range",
            id="an address of elsewhere",
        ),
    ],
)
def test_a_service_that_cannot_be_served_is_refused(api: Api, space: str, spec: Obj, why: str) -> None:
    with refused(422, "Invalid", message=f'Service "one" is invalid: {why}'):
        api.create(SERVICE, space, service("one", **spec))


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(
            {"template": {"spec": {"containers": [container()]}}},
            'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
            id="pods that never end",
        ),
        pytest.param(
            {"backoffLimit": -1},
            "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
            id="a negative limit",
        ),
        pytest.param(
            {"template": {"spec": {"restartPolicy": "Never"}}},
            "spec.template.spec.containers: Required value",
            id="no containers",
        ),
    ],
)
def test_a_job_that_cannot_be_done_is_refused(api: Api, space: str, spec: Obj, why: str) -> None:
    with refused(422, "Invalid", message=f'Job.batch "one" is invalid: {why}'):
        api.create(JOB, space, job("one", **spec))


def test_fields_that_a_kind_does_not_have_are_left_out(api: Api, space: str) -> None:
    made = api.create(POD, space, pod("one", nonsense=1, containers=[container(nonsense=2)]))
    assert "nonsense" not in made["spec"]
    assert "nonsense" not in made["spec"]["containers"][0]
    after = api.patch(POD, Key(space, "one"), MergePatch({"spec": {"nonsense": 3}, "metadata": {"nonsense": 4}}))
    assert after["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert "nonsense" not in api.create(CONFIGMAP, space, {**configmap("one"), "nonsense": 5})


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        pytest.param(POD, pod("one", containers=[container(env=[{"name": "A", "value": 1}])]), id="a number as text"),
        pytest.param(POD, pod("one", terminationGracePeriodSeconds="5"), id="text as a number"),
        pytest.param(POD, pod("one", hostNetwork="yes"), id="text as a truth"),
        pytest.param(POD, pod("one", containers={"a": container()}), id="a map as a list"),
        pytest.param(CONFIGMAP, {**configmap("one"), "data": {"a": 1}}, id="a number in a config map"),
        pytest.param(SERVICE, service("one", selector={"a": True}), id="a truth in a selector"),
        pytest.param(
            WIDGET, {**widget("one"), "metadata": {"name": "one", "labels": {"a": 1}}}, id="a number as a label"
        ),
    ],
)
def test_a_value_of_another_type_cannot_be_read(api: Api, space: str, kind: Kind, body: Obj) -> None:
    why = f'{kind.kind} in version "v1" cannot be handled as a {kind.kind}: json: cannot unmarshal'
    with refused(400, "BadRequest", match=why):
        api.create(kind, space, body)


def test_a_target_port_of_0_is_none_as_go_clients_send_it(api: Api, space: str) -> None:
    made = api.create(SERVICE, space, service("one", ports=[{"port": 80, "targetPort": 0}]))
    assert made["spec"]["ports"][0]["targetPort"] == 80


def test_ports_and_amounts_are_texts_or_numbers(api: Api, space: str) -> None:
    ports = [{"port": 80, "targetPort": "http"}]
    assert api.create(SERVICE, space, service("one", ports=ports))["spec"]["ports"][0]["targetPort"] == "http"
    limits = {"limits": {"cpu": 2, "memory": "1Gi"}}
    assert api.create(POD, space, pod("one", containers=[container(resources=limits)]))["metadata"]["uid"]


def test_empty_lists_and_maps_are_left_out(api: Api, space: str) -> None:
    body = pod("one", nodeSelector={}, volumes=[], containers=[container(env=[], command=[])])
    body["metadata"] |= {"labels": {}, "annotations": {}, "finalizers": []}
    made = api.create(POD, space, body)
    assert not {"labels", "annotations", "finalizers"} & set(made["metadata"])
    assert not {"nodeSelector", "volumes"} & set(made["spec"])
    assert not {"env", "command"} & set(made["spec"]["containers"][0])


def test_an_owner_is_named_once(api: Api, space: str) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "8b5c07a9-0000-4000-8000-000000000000"}
    body = configmap("one")
    body["metadata"]["ownerReferences"] = [owner, owner]
    assert api.create(CONFIGMAP, space, body)["metadata"]["ownerReferences"] == [owner]


@pytest.mark.parametrize("kind", [pytest.param(LEASE, id="a lease"), pytest.param(ROLE, id="a role")])
def test_some_kinds_are_made_by_an_update(api: Api, space: str, kind: Kind) -> None:
    assert api.update(kind, Key(space, "one"), {"metadata": {"name": "one"}})["metadata"]["uid"]


def test_a_patch_cannot_take_the_name_away(api: Api, space: str) -> None:
    api.create(CONFIGMAP, space, configmap("one"))
    message = "the name of the object (one based on URL) was undeterminable: name must be provided"
    with refused(400, "BadRequest", message=message):
        api.patch(CONFIGMAP, Key(space, "one"), MergePatch({"metadata": None}))
