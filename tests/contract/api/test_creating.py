"""What a created object has, and which ones are not created."""

import re

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, JOB, LEASE, NAMESPACE, POD, ROLE, SECRET, SERVICE
from tests.contract.api.api import Api
from tests.contract.api.asserts import refused
from tests.contract.api.objects import GADGET, UNKNOWN, WIDGET, Obj, configmap, gadget, job, pod, service, widget

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def test_the_server_gives_a_uid_a_version_and_a_time(api: Api, space: str) -> None:
    meta = api.create(CONFIGMAP, space, configmap("one"))["metadata"]
    assert UID.fullmatch(meta["uid"])
    assert int(meta["resourceVersion"]) > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["creationTimestamp"])
    assert (meta["name"], meta["namespace"]) == ("one", space)


def test_uid_time_generation_and_deletion_of_the_body_do_not_count(api: Api, space: str) -> None:
    body = widget("one")
    body["metadata"] |= {
        "uid": "4b0b6d6e-0000-4000-8000-000000000000",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 7,
        "generation": 7,
        "selfLink": "/somewhere",
    }
    meta = api.create(WIDGET, space, body)["metadata"]
    assert meta["uid"] != body["metadata"]["uid"]
    assert not meta["creationTimestamp"].startswith("2001")
    assert meta["generation"] == 1
    assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & set(meta)


def test_a_version_in_the_body_is_refused(api: Api, space: str) -> None:
    body = configmap("one")
    body["metadata"]["resourceVersion"] = "5"
    with refused(500, "", match="resourceVersion should not be set on objects to be created"):
        api.create(CONFIGMAP, space, body)


@pytest.mark.parametrize(
    ("kind", "body", "generation"),
    [
        pytest.param(WIDGET, widget("one"), 1, id="a custom resource"),
        pytest.param(POD, pod("one"), 1, id="a pod"),
        pytest.param(JOB, job("one"), 1, id="a job"),
        pytest.param(CONFIGMAP, configmap("one"), None, id="no config map"),
        pytest.param(SERVICE, service("one"), None, id="no service"),
        pytest.param(SECRET, {"metadata": {"name": "one"}}, None, id="no secret"),
        pytest.param(ROLE, {"metadata": {"name": "one"}}, None, id="no role"),
        pytest.param(LEASE, {"metadata": {"name": "one"}}, None, id="no lease"),
    ],
)
def test_some_kinds_have_a_generation(api: Api, space: str, kind: object, body: Obj, generation: int | None) -> None:
    assert api.create(kind, space, body)["metadata"].get("generation") == generation  # type: ignore[arg-type]


def test_a_made_up_name_has_five_letters_that_make_no_words(api: Api, space: str) -> None:
    made = api.create(CONFIGMAP, space, {"metadata": {"generateName": "some-"}})
    assert re.fullmatch(r"some-[bcdfghjklmnpqrstvwxz2456789]{5}", made["metadata"]["name"])
    assert made["metadata"]["generateName"] == "some-"


def test_a_long_stem_of_a_made_up_name_is_cut(api: Api, space: str) -> None:
    made = api.create(CONFIGMAP, space, {"metadata": {"generateName": "x" * 70}})
    assert re.fullmatch(r"x{58}[bcdfghjklmnpqrstvwxz2456789]{5}", made["metadata"]["name"])


def test_a_given_name_counts_more_than_a_stem(api: Api, space: str) -> None:
    made = api.create(CONFIGMAP, space, {"metadata": {"name": "mine", "generateName": "some-"}})
    assert made["metadata"]["name"] == "mine"


def test_an_object_without_a_name_is_refused(api: Api, space: str) -> None:
    message = 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
    with refused(422, "Invalid", message=message) as status:
        api.create(CONFIGMAP, space, {"metadata": {}})
    assert status["details"]["causes"] == [
        {
            "reason": "FieldValueRequired",
            "message": "Required value: name or generateName is required",
            "field": "metadata.name",
        }
    ]


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        pytest.param(CONFIGMAP, "Upper", "a lowercase RFC 1123 subdomain", id="upper case"),
        pytest.param(CONFIGMAP, "x" * 254, "must be no more than 253", id="too long"),
        pytest.param(WIDGET, "under_score", "a lowercase RFC 1123 subdomain", id="a custom resource"),
        pytest.param(SERVICE, "with.dot", "must not contain dots", id="a service is a label"),
        pytest.param(SERVICE, "x" * 64, "must be no more than 63", id="a service that is too long"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(api: Api, space: str, kind: object, name: str, why: str) -> None:
    body = {WIDGET: widget("one"), SERVICE: service("one")}.get(kind, configmap("one"))  # type: ignore[call-overload]
    body["metadata"]["name"] = name
    with refused(422, "Invalid", match=re.escape(why)) as status:
        api.create(kind, space, body)  # type: ignore[arg-type]
    assert {cause["field"] for cause in status["details"]["causes"]} == {"metadata.name"}


def test_a_role_may_have_nearly_any_name(api: Api, space: str) -> None:
    assert api.create(ROLE, space, {"metadata": {"name": "system:Some_Role"}})["metadata"]["uid"]


@pytest.mark.parametrize(
    ("part", "value", "field"),
    [
        pytest.param("labels", {"a b": "c"}, "metadata.labels", id="a label's key"),
        pytest.param("labels", {"a": "b c"}, "metadata.labels", id="a label's value"),
        pytest.param("labels", {"a": "x" * 64}, "metadata.labels", id="a label's long value"),
        pytest.param("annotations", {"a b": "c"}, "metadata.annotations", id="an annotation's key"),
        pytest.param("finalizers", ["a b/c"], "metadata.finalizers", id="a finalizer"),
    ],
)
def test_metadata_that_breaks_a_rule_is_refused(api: Api, space: str, part: str, value: object, field: str) -> None:
    body = configmap("one")
    body["metadata"][part] = value
    with refused(422, "Invalid", match=r'ConfigMap "one" is invalid') as status:
        api.create(CONFIGMAP, space, body)
    assert all(cause["field"].startswith(field) for cause in status["details"]["causes"])


def test_a_taken_name_is_told_with_group_and_kind(api: Api, space: str) -> None:
    api.create(WIDGET, space, widget("one"))
    message = 'widgets.api.contract.manta.example "one" already exists'
    with refused(409, "AlreadyExists", message=message) as status:
        api.create(WIDGET, space, widget("one"))
    assert status["details"] == {"name": "one", "group": "api.contract.manta.example", "kind": "widgets"}


def test_what_breaks_a_rule_is_refused_before_its_name_is_looked_for(api: Api, space: str) -> None:
    api.create(CONFIGMAP, space, configmap("one"))
    with refused(422, "Invalid"):
        api.create(CONFIGMAP, space, {**configmap("one"), "data": {"not a key": ""}})


def test_the_same_name_in_another_namespace_or_kind_is_free(api: Api, space: str, other_space: str) -> None:
    made = [
        api.create(CONFIGMAP, space, configmap("one")),
        api.create(CONFIGMAP, other_space, configmap("one")),
        api.create(WIDGET, space, widget("one")),
    ]
    assert len({one["metadata"]["uid"] for one in made}) == 3


def test_a_namespace_that_is_not_there_is_told(api: Api) -> None:
    with refused(404, "NotFound", message='namespaces "no-such-namespace" not found') as status:
        api.create(CONFIGMAP, "no-such-namespace", configmap("one"))
    assert status["details"] == {"name": "no-such-namespace", "kind": "namespaces"}


def test_a_body_of_another_namespace_is_refused(api: Api, space: str) -> None:
    body = configmap("one")
    body["metadata"]["namespace"] = "default"
    message = "the namespace of the provided object does not match the namespace sent on the request"
    with refused(400, "BadRequest", message=message):
        api.create(CONFIGMAP, space, body)


def test_a_body_of_another_kind_is_refused(api: Api, space: str) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}
    with refused(400, "BadRequest", match='Secret in version "v1" cannot be handled as a ConfigMap'):
        api.create(CONFIGMAP, space, body)


def test_a_body_of_another_version_is_refused(api: Api, space: str) -> None:
    body = {**gadget("one"), "apiVersion": "api.contract.manta.example/v1beta1"}
    message = (
        "the API version in the data (api.contract.manta.example/v1beta1) does not match the expected API version"
        " (api.contract.manta.example/v1)"
    )
    with refused(400, "BadRequest", message=message):
        api.create(GADGET, space, body)


def test_a_built_in_body_may_leave_out_what_it_is(api: Api, space: str) -> None:
    made = api.create(CONFIGMAP, space, {"metadata": {"name": "one"}})
    assert (made["apiVersion"], made["kind"]) == ("v1", "ConfigMap")


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        pytest.param("kind", "(must be of type Widget): Object 'Kind' is missing", id="its kind"),
        pytest.param("apiVersion", "the API version in the data () does not match", id="its version"),
    ],
)
def test_a_custom_body_must_say_what_it_is(api: Api, space: str, left_out: str, message: str) -> None:
    body = {name: value for name, value in widget("one").items() if name != left_out}
    with refused(400, "BadRequest", match=re.escape(message)):
        api.create(WIDGET, space, body)


def test_a_kind_that_is_not_served_is_told(api: Api, space: str) -> None:
    with pytest.raises(Exception, match="404") as refusal:
        api.create(UNKNOWN, space, {**widget("one"), "kind": "Gizmo"})
    assert refusal.value.code == 404  # type: ignore[attr-defined]


def test_a_namespace_is_active_and_labelled_with_its_name(api: Api, space: str) -> None:
    found = api.get(NAMESPACE, Key("", space))
    assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": space, "suite": "api"}
    assert found["spec"] == {"finalizers": ["kubernetes"]}
    assert found["status"] == {"phase": "Active"}


def test_a_status_in_the_body_is_left_out(api: Api, space: str) -> None:
    assert "status" not in api.create(WIDGET, space, {**widget("one"), "status": {"state": "claimed"}})
    assert api.create(POD, space, {**pod("one"), "status": {"phase": "Running"}})["status"]["phase"] == "Pending"
