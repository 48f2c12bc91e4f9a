"""What built-in objects have when their writer did not say."""

import pytest

from manta_common.keys import Key
from manta_common.kinds import EVENT, INGRESS, JOB, NETWORKPOLICY, POD, PVC, ROLEBINDING, SECRET, SERVICE
from manta_common.kube.protocol import MergePatch
from manta_embedded.store.builtin import CORE_EVENT
from tests.contract.api.api import Api
from tests.contract.api.asserts import refused
from tests.contract.api.objects import Obj, job, pod, service


def subset(whole: Obj, part: Obj) -> Obj:
    """The fields of an object that another one has too."""
    return {name: whole.get(name) for name in part}


def test_a_pod_is_always_restarted_and_given_half_a_minute(api: Api, space: str) -> None:
    body = pod("one")
    del body["spec"]["schedulerName"]
    spec = api.create(POD, space, {**body, "spec": {**body["spec"], "nodeSelector": {"none": "such"}}})["spec"]
    wanted = {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "securityContext": {},
        "enableServiceLinks": True,
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    assert subset(spec, wanted) == wanted


def test_a_pod_bears_a_node_in_trouble_for_five_minutes(api: Api, space: str) -> None:
    tolerations = api.create(POD, space, pod("one"))["spec"]["tolerations"]
    assert tolerations == [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    everything = [{"operator": "Exists"}]
    assert api.create(POD, space, pod("two", tolerations=everything))["spec"]["tolerations"] == everything


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        pytest.param("example/a", "Always", id="no tag"),
        pytest.param("example/a:latest", "Always", id="latest"),
        pytest.param("example/a:1", "IfNotPresent", id="a tag"),
        pytest.param("example.com:5000/a", "Always", id="a port is no tag"),
        pytest.param("example/a@sha256:" + "0" * 64, "IfNotPresent", id="a digest"),
    ],
)
def test_an_image_is_pulled_by_its_tag(api: Api, space: str, image: str, policy: str) -> None:
    (container,) = api.create(POD, space, pod("one", containers=[{"name": "main", "image": image}]))["spec"][
        "containers"
    ]
    assert container == {
        "name": "main",
        "image": image,
        "imagePullPolicy": policy,
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }


def test_the_parts_of_a_container_have_defaults(api: Api, space: str) -> None:
    container = {
        "name": "main",
        "image": "example/a:1",
        "ports": [{"containerPort": 80}],
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "B", "value": ""}],
        "resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1Gi"}},
        "livenessProbe": {"httpGet": {"port": 80}},
    }
    (made,) = api.create(POD, space, pod("one", containers=[container]))["spec"]["containers"]
    assert made["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert made["env"] == [
        {"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
        {"name": "B"},
    ]
    assert made["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1", "memory": "1Gi"}}
    assert made["livenessProbe"] == {
        "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def test_the_volumes_of_a_pod_have_defaults(api: Api, space: str) -> None:
    volumes = [
        {"name": "a"},
        {"name": "b", "secret": {"secretName": "x"}},
        {"name": "c", "configMap": {"name": "x"}},
        {"name": "d", "hostPath": {"path": "/x"}},
    ]
    assert api.create(POD, space, pod("one", volumes=volumes))["spec"]["volumes"] == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "secret": {"secretName": "x", "defaultMode": 420}},
        {"name": "c", "configMap": {"name": "x", "defaultMode": 420}},
        {"name": "d", "hostPath": {"path": "/x", "type": ""}},
    ]


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        pytest.param({}, "BestEffort", id="nothing asked"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="something asked"),
        pytest.param({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", id="limits"),
        pytest.param(
            {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable", id="less than limits"
        ),
    ],
)
def test_a_new_pod_is_pending_with_a_quality_of_service(api: Api, space: str, resources: Obj, quality: str) -> None:
    containers = [{"name": "main", "image": "example/a:1", "resources": resources}]
    status = api.create(POD, space, pod("one", containers=containers))["status"]
    assert status == {"phase": "Pending", "qosClass": quality}


def test_a_service_gets_an_address_of_its_own(api: Api, space: str) -> None:
    spec = api.create(SERVICE, space, service("one"))["spec"]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert spec["clusterIP"] != api.create(SERVICE, space, service("two"))["spec"]["clusterIP"]
    wanted = {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 80}],
    }
    assert subset(spec, wanted) == wanted


def test_a_headless_service_gets_none(api: Api, space: str) -> None:
    spec = api.create(SERVICE, space, service("one", clusterIP="None"))["spec"]
    assert (spec["clusterIP"], spec["clusterIPs"], spec["ipFamilies"]) == ("None", ["None"], ["IPv4"])


def test_a_headless_service_of_nobody_is_of_both_families(api: Api, space: str) -> None:
    spec = api.create(SERVICE, space, {"metadata": {"name": "one"}, "spec": {"clusterIP": "None"}})["spec"]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")


def test_an_external_name_has_neither_address_nor_family(api: Api, space: str) -> None:
    body = {"metadata": {"name": "one"}, "spec": {"type": "ExternalName", "externalName": "a.example"}}
    spec = api.create(SERVICE, space, body)["spec"]
    assert spec == {"type": "ExternalName", "externalName": "a.example", "sessionAffinity": "None"}


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        pytest.param("NodePort", {"externalTrafficPolicy": "Cluster"}, id="a node port"),
        pytest.param(
            "LoadBalancer",
            {"externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": True},
            id="a load balancer",
        ),
    ],
)
def test_a_service_for_the_world_gets_ports_on_nodes(api: Api, space: str, kind: str, more: Obj) -> None:
    spec = api.create(SERVICE, space, service("one", type=kind))["spec"]
    assert 30000 <= spec["ports"][0]["nodePort"] <= 32767
    assert subset(spec, more) == more


def test_an_address_that_is_taken_is_refused(api: Api, space: str) -> None:
    taken = api.create(SERVICE, space, service("one"))["spec"]["clusterIP"]
    why = (
        f'spec.clusterIPs: Invalid value: ["{taken}"]: failed to allocate IP {taken}: provided IP is already allocated'
    )
    with refused(422, "Invalid", message=f'Service "two" is invalid: {why}'):
        api.create(SERVICE, space, service("two", clusterIP=taken))


def test_an_address_is_free_again_after_its_service(api: Api, space: str) -> None:
    taken = api.create(SERVICE, space, service("one"))["spec"]["clusterIP"]
    api.delete(SERVICE, Key(space, "one"))
    assert api.create(SERVICE, space, service("two", clusterIP=taken))["spec"]["clusterIP"] == taken


def test_defaults_come_with_every_write(api: Api, space: str) -> None:
    api.create(SERVICE, space, service("one"))
    after = api.patch(SERVICE, Key(space, "one"), MergePatch({"spec": {"ports": [{"port": 81}]}}))
    assert after["spec"]["ports"] == [{"port": 81, "protocol": "TCP", "targetPort": 81}]


def test_a_job_knows_its_pods_by_its_uid(api: Api, space: str) -> None:
    made = api.create(JOB, space, job("one"))
    uid = made["metadata"]["uid"]
    own = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "one"}
    labels = {**own, "controller-uid": uid, "job-name": "one"}
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert made["spec"]["template"]["metadata"]["labels"] == labels
    assert made["metadata"]["labels"] == labels


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param(
            {},
            {
                "parallelism": 1,
                "completions": 1,
                "backoffLimit": 6,
                "completionMode": "NonIndexed",
                "suspend": False,
                "podReplacementPolicy": "TerminatingOrFailed",
                "manualSelector": False,
            },
            id="nothing said",
        ),
        pytest.param({"parallelism": 3}, {"parallelism": 3, "completions": None}, id="a work queue"),
        pytest.param({"completions": 3}, {"parallelism": 1, "completions": 3}, id="completions"),
    ],
)
def test_a_job_has_defaults(api: Api, space: str, spec: Obj, wanted: Obj) -> None:
    assert subset(api.create(JOB, space, job("one", **spec))["spec"], wanted) == wanted


def test_the_text_of_a_secret_is_stored_as_data(api: Api, space: str) -> None:
    made = api.create(SECRET, space, {"metadata": {"name": "one"}, "stringData": {"a": "ü"}, "data": {"b": "Yg=="}})
    assert (made["type"], made["data"]) == ("Opaque", {"a": "w7w=", "b": "Yg=="})
    assert "stringData" not in made


def test_a_claim_is_pending_and_protected(api: Api, space: str) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = api.create(PVC, space, {"metadata": {"name": "one"}, "spec": spec})
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert (made["spec"]["volumeMode"], made["status"]) == ("Filesystem", {"phase": "Pending"})


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        pytest.param({"ingress": [{"ports": [{"port": 80}]}]}, ["Ingress"], id="ingress"),
        pytest.param({"egress": [{}]}, ["Ingress", "Egress"], id="egress"),
        pytest.param({}, ["Ingress"], id="nothing"),
    ],
)
def test_a_network_policy_is_of_the_types_it_has_rules_for(api: Api, space: str, spec: Obj, types: list[str]) -> None:
    made = api.create(NETWORKPOLICY, space, {"metadata": {"name": "one"}, "spec": {"podSelector": {}, **spec}})
    assert made["spec"]["policyTypes"] == types
    ports = [port for rule in made["spec"].get("ingress", []) for port in rule["ports"]]
    assert all(port["protocol"] == "TCP" for port in ports)


def test_an_ingress_waits_for_its_load_balancer(api: Api, space: str) -> None:
    backend = {"service": {"name": "x", "port": {"number": 80}}}
    rule = {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    made = api.create(INGRESS, space, {"metadata": {"name": "one"}, "spec": {"rules": [rule]}})
    assert (made["status"], made["metadata"]["generation"]) == ({"loadBalancer": {}}, 1)


def test_the_subjects_of_a_binding_have_groups(api: Api, space: str) -> None:
    group = "rbac.authorization.k8s.io"
    body = {
        "metadata": {"name": "one"},
        "roleRef": {"kind": "Role", "name": "one", "apiGroup": group},
        "subjects": [{"kind": "ServiceAccount", "name": "x", "namespace": "y"}, {"kind": "User", "name": "u"}],
    }
    assert api.create(ROLEBINDING, space, body)["subjects"] == [
        {"kind": "ServiceAccount", "name": "x", "namespace": "y"},
        {"apiGroup": group, "kind": "User", "name": "u"},
    ]


def test_an_event_has_two_faces(api: Api, space: str) -> None:
    about = {"kind": "Pod", "name": "x", "namespace": space}
    body = {
        "metadata": {"name": "one"},
        "regarding": about,
        "note": "text",
        "reason": "Because",
        "type": "Normal",
        "action": "Doing",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "contract",
        "reportingInstance": "contract-1",
    }
    made = api.create(EVENT, space, body)
    found = api.get(CORE_EVENT, Key(space, "one"))
    wanted = {
        "apiVersion": "v1",
        "involvedObject": about,
        "message": "text",
        "reportingComponent": "contract",
        "reportingInstance": "contract-1",
        "source": {},
        "firstTimestamp": None,
    }
    assert subset(found, wanted) == wanted
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert made["deprecatedSource"] == {}
    events = api.list(CORE_EVENT, space, fieldSelector="involvedObject.name=x,reason=Because")["items"]
    assert [event["metadata"]["name"] for event in events] == ["one"]


def test_an_event_of_the_core_group_is_one_of_events(api: Api, space: str) -> None:
    body = {
        "metadata": {"name": "one"},
        "involvedObject": {"kind": "Pod", "name": "x", "namespace": space},
        "message": "text",
        "source": {"component": "contract"},
        "count": 2,
    }
    api.create(CORE_EVENT, space, body)
    found = api.get(EVENT, Key(space, "one"))
    assert (found["apiVersion"], found["note"]) == ("events.k8s.io/v1", "text")
    assert (found["deprecatedCount"], found["deprecatedSource"]) == (2, {"component": "contract"})


def test_null_is_the_same_as_nothing(api: Api, space: str) -> None:
    body = pod("one", nodeSelector=None, containers=[{"name": "main", "image": "example/a:1", "command": None}])
    spec = api.create(POD, space, body)["spec"]
    assert "nodeSelector" not in spec
    assert "command" not in spec["containers"][0]
