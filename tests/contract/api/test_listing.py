"""What a list holds, by which selectors, and in which pages."""

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, JOB, NAMESPACE, POD, SECRET, SERVICE, Kind
from manta_common.kube.protocol import MergePatch
from tests.contract.api.api import Api
from tests.contract.api.asserts import refused
from tests.contract.api.objects import GADGET, WIDGET, Obj, configmap, gadget, pod, service, widget


def names(found: Obj) -> list[str]:
    return [item["metadata"]["name"] for item in found["items"]]


@pytest.fixture
def three(api: Api, space: str) -> str:
    """Three config maps with labels."""
    api.create(CONFIGMAP, space, configmap("a", {"tier": "front", "weight": "5"}))
    api.create(CONFIGMAP, space, configmap("b", {"tier": "back", "weight": "15"}))
    api.create(CONFIGMAP, space, configmap("c", {"example.com/tier": ""}))
    return space


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        pytest.param("tier==front", ["a"], id="two signs"),
        pytest.param("tier = front", ["a"], id="with spaces"),
        pytest.param("tier notin (front)", ["b", "c"], id="none of"),
        pytest.param("tier notin (front),tier", ["b"], id="none of, and there"),
        pytest.param("tier in (front, back)", ["a", "b"], id="one of, with a space"),
        pytest.param("tier in (front)", ["a"], id="one of one"),
        pytest.param("weight>10", ["b"], id="greater"),
        pytest.param("weight<10", ["a"], id="less"),
        pytest.param("example.com/tier=", ["c"], id="an empty value"),
        pytest.param("example.com/tier", ["c"], id="a prefix"),
        pytest.param("!tier", ["c"], id="not there"),
        pytest.param("tier!=front,!example.com/tier", ["b"], id="several"),
        pytest.param("tier=nobody", [], id="nothing"),
    ],
)
def test_a_label_selector(api: Api, three: str, selector: str, found: list[str]) -> None:
    assert names(api.list(CONFIGMAP, three, labelSelector=f"suite=api,{selector}")) == found


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        pytest.param(
            "a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt", id="words"
        ),
        pytest.param("a in b", "unable to parse requirement: found 'b' expected: '('", id="no bracket"),
        pytest.param("a in (b", "unable to parse requirement: found '', expected: ',' or ')'", id="no end"),
        pytest.param("a=b c", "found 'c', expected: ',' or 'end of string'", id="something after it"),
        pytest.param("=b", "found '=', expected: !, identifier, or 'end of string'", id="no key"),
        pytest.param(
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be"
            " an integer",
            id="no number",
        ),
    ],
)
def test_a_label_selector_that_is_none_is_refused(api: Api, space: str, selector: str, why: str) -> None:
    with refused(400, "BadRequest", message=why):
        api.list(CONFIGMAP, space, labelSelector=selector)


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        pytest.param("metadata.name!=a", ["b", "c"], id="not equal"),
        pytest.param("metadata.name==a", ["a"], id="two signs"),
        pytest.param("metadata.name=a,metadata.name=b", [], id="both at once"),
    ],
)
def test_a_field_selector(api: Api, three: str, selector: str, found: list[str]) -> None:
    assert names(api.list(CONFIGMAP, three, fieldSelector=selector, labelSelector="suite=api")) == found


def test_pods_are_selected_by_node_phase_and_restarts(api: Api, space: str) -> None:
    api.create(POD, space, pod("one", restartPolicy="Never"))
    api.create(POD, space, pod("two"))
    for selector, found in (
        ("spec.nodeName=", ["one", "two"]),
        ("spec.nodeName!=", []),
        ("status.phase=Pending", ["one", "two"]),
        ("status.phase!=Pending", []),
        ("spec.restartPolicy=Never", ["one"]),
    ):
        assert names(api.list(POD, space, fieldSelector=selector)) == found, selector


def test_other_kinds_have_fields_to_select_by(api: Api, space: str) -> None:
    api.create(SERVICE, space, service("one", clusterIP="None"))
    api.create(SECRET, space, {"metadata": {"name": "one"}, "type": "example.com/kind"})
    api.create(GADGET, space, gadget("one", colour="red"))
    api.create(GADGET, space, gadget("two", colour="blue"))
    assert names(api.list(SERVICE, space, fieldSelector="spec.clusterIP=None")) == ["one"]
    assert names(api.list(SECRET, space, fieldSelector="type=example.com/kind")) == ["one"]
    assert names(api.list(GADGET, space, fieldSelector="spec.colour=red")) == ["one"]
    assert names(api.list(NAMESPACE, fieldSelector=f"metadata.name={space},status.phase=Active")) == [space]


@pytest.mark.parametrize(
    ("kind", "selector", "why"),
    [
        pytest.param(
            CONFIGMAP,
            "data.a=1",
            '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
            id="a config map",
        ),
        pytest.param(POD, "spec.hostname=a", "field label not supported: spec.hostname", id="a pod"),
        pytest.param(WIDGET, "spec.size=1", "field label not supported: spec.size", id="a custom resource"),
        pytest.param(JOB, "spec.suspend=1", 'field label "spec.suspend" not supported for Job', id="a job"),
        pytest.param(
            POD, "spec.nodeName", "invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'", id="no"
        ),
    ],
)
def test_a_field_that_cannot_be_selected_by_is_told(api: Api, space: str, kind: Kind, selector: str, why: str) -> None:
    with refused(400, "BadRequest", message=why):
        api.list(kind, space, fieldSelector=selector)


def test_a_list_says_what_it_is(api: Api, space: str) -> None:
    for kind, name in ((CONFIGMAP, "ConfigMapList"), (WIDGET, "WidgetList")):
        found = api.list(kind, space)
        assert (found["kind"], found["apiVersion"]) == (name, kind.api_version)


def test_a_list_is_in_the_order_of_names(api: Api, space: str) -> None:
    for name in ("b", "a-b", "a", "a.b", "c"):
        api.create(WIDGET, space, widget(name))
    assert names(api.list(WIDGET, space)) == ["a", "a-b", "a.b", "b", "c"]


def test_pages_go_on_where_they_end_and_tell_what_is_left(api: Api, space: str) -> None:
    for number in range(5):
        api.create(WIDGET, space, widget(f"item-{number}"))
    first = api.list(WIDGET, space, limit="2")
    assert names(first) == ["item-0", "item-1"]
    assert first["metadata"]["remainingItemCount"] == 3
    second = api.list(WIDGET, space, **{"limit": "2", "continue": first["metadata"]["continue"]})
    assert (names(second), second["metadata"]["remainingItemCount"]) == (["item-2", "item-3"], 1)
    third = api.list(WIDGET, space, **{"limit": "2", "continue": second["metadata"]["continue"]})
    assert names(third) == ["item-4"]
    assert not third["metadata"].get("continue")
    assert "remainingItemCount" not in third["metadata"]


def test_pages_are_of_the_version_of_the_first(api: Api, space: str) -> None:
    for name in ("a", "b", "d"):
        api.create(WIDGET, space, widget(name, size=1))
    first = api.list(WIDGET, space, limit="1")
    api.create(WIDGET, space, widget("c"))
    api.delete(WIDGET, Key(space, "d"))
    api.patch(WIDGET, Key(space, "b"), MergePatch({"spec": {"size": 2}}))
    rest = api.list(WIDGET, space, **{"continue": first["metadata"]["continue"]})
    assert names(rest) == ["b", "d"]
    assert rest["items"][0]["spec"] == {"size": 1}
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert names(api.list(WIDGET, space)) == ["a", "b", "c"]


def test_pages_by_labels_do_not_tell_what_is_left(api: Api, space: str) -> None:
    for number in range(6):
        api.create(CONFIGMAP, space, configmap(f"item-{number}", {"odd": str(number % 2)}))
    first = api.list(CONFIGMAP, space, labelSelector="odd=0", limit="2")
    assert names(first) == ["item-0", "item-2"]
    assert "remainingItemCount" not in first["metadata"]
    again = {"labelSelector": "odd=0", "limit": "2", "continue": first["metadata"]["continue"]}
    assert names(api.list(CONFIGMAP, space, **again)) == ["item-4"]


def test_a_page_can_be_had_again(api: Api, space: str) -> None:
    for number in range(3):
        api.create(WIDGET, space, widget(f"item-{number}"))
    token = api.list(WIDGET, space, limit="1")["metadata"]["continue"]
    pages = [names(api.list(WIDGET, space, **{"limit": "1", "continue": token})) for _ in range(2)]
    assert pages == [["item-1"], ["item-1"]]


def test_a_token_that_is_none_is_refused(api: Api, space: str) -> None:
    with refused(400, "BadRequest", match="invalid continue token: continue key is not valid"):
        api.list(WIDGET, space, **{"continue": "nonsense"})


def test_a_version_of_the_future_is_not_waited_for_ever(api: Api, space: str) -> None:
    with refused(504, "Timeout", match="Timeout: Too large resource version: 999999999") as status:
        api.list(WIDGET, space, resourceVersion="999999999")
    assert status["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]


def test_a_version_that_is_none_is_refused(api: Api, space: str) -> None:
    message = (
        'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'
    )
    with refused(400, "BadRequest", message=message):
        api.list(WIDGET, space, resourceVersion="x")


def test_a_list_can_be_had_as_it_was(api: Api, space: str) -> None:
    made = api.create(WIDGET, space, widget("one", size=1))
    version = made["metadata"]["resourceVersion"]
    api.patch(WIDGET, Key(space, "one"), MergePatch({"spec": {"size": 2}}))
    api.create(WIDGET, space, widget("two"))
    found = api.list(WIDGET, space, resourceVersion=version, resourceVersionMatch="Exact")
    assert [(item["metadata"]["name"], item["spec"]) for item in found["items"]] == [("one", {"size": 1})]
    assert found["metadata"]["resourceVersion"] == version


def test_a_list_of_a_namespace_that_is_not_there_is_empty(api: Api) -> None:
    assert api.list(CONFIGMAP, "no-such-namespace")["items"] == []
