"""Server-side apply: who holds what, what is merged, what goes, and what is a conflict."""

from typing import Any

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, POD, SERVICE, Kind
from manta_common.kube.protocol import Apply, MergePatch
from tests.contract.api.api import MANAGER, Api
from tests.contract.api.asserts import refused
from tests.contract.api.objects import GADGET, OLD_GADGET, WIDGET, Obj, configmap, gadget, pod, service, widget


class Desk:
    """Writes gadgets called `one` in different ways."""

    def __init__(self, api: Api, space: str) -> None:
        self.api, self.key = api, Key(space, "one")

    def apply(self, manager: str = "first", *, force: bool = False, **spec: Any) -> Obj:
        """Apply a gadget with this spec; the spec that came of it."""
        found: Obj = self.api.patch(GADGET, self.key, Apply(gadget("one", **spec), manager, force))
        return found

    def update(self, **spec: Any) -> Obj:
        """Change the spec without an apply."""
        return self.api.patch(GADGET, self.key, MergePatch({"spec": spec}))

    def create(self, **spec: Any) -> Obj:
        return self.api.create(GADGET, self.key.namespace, gadget("one", **spec))


@pytest.fixture
def desk(api: Api, space: str) -> Desk:
    return Desk(api, space)


def held(obj: Obj) -> dict[str, Any]:
    """The fields by manager and operation."""
    return {f"{entry['manager']} {entry['operation']}": entry["fieldsV1"] for entry in obj["metadata"]["managedFields"]}


def names(items: list[Obj]) -> str:
    return "".join(item["name"] for item in items)


def test_an_applier_holds_what_it_applied_and_no_more(desk: Desk) -> None:
    made = desk.apply(colour="red", parts=[{"name": "x", "size": 1}], tags=["t"], steps=["s"], place={"row": 1})
    assert held(made) == {
        "first Apply": {
            "f:spec": {
                "f:colour": {},
                "f:parts": {'k:{"name":"x"}': {".": {}, "f:name": {}, "f:size": {}}},
                "f:tags": {'v:"t"': {}},
                "f:steps": {},
                "f:place": {},
            }
        }
    }


def test_an_entry_says_how_and_when(desk: Desk) -> None:
    (entry,) = desk.apply(colour="red")["metadata"]["managedFields"]
    assert (entry["apiVersion"], entry["fieldsType"]) == (GADGET.api_version, "FieldsV1")
    assert entry["time"]
    assert "subresource" not in entry


def test_a_creator_holds_what_it_wrote_with_every_part_on_the_way(desk: Desk) -> None:
    made = desk.create(colour="red", parts=[{"name": "x", "size": 1}], limits={"a": "1"})
    assert held(made) == {
        f"{MANAGER} Update": {
            "f:spec": {
                ".": {},
                "f:colour": {},
                "f:limits": {".": {}, "f:a": {}},
                "f:parts": {".": {}, 'k:{"name":"x"}': {".": {}, "f:name": {}, "f:size": {}}},
            }
        }
    }


def test_who_updates_takes_a_field_over(desk: Desk) -> None:
    desk.apply(colour="red", replicas=1)
    after = desk.update(colour="blue")
    assert held(after) == {
        "first Apply": {"f:spec": {"f:replicas": {}}},
        f"{MANAGER} Update": {"f:spec": {"f:colour": {}}},
    }


def test_who_updates_nothing_takes_nothing_over(desk: Desk) -> None:
    made = desk.apply(colour="red")
    assert held(desk.update(colour="red")) == held(made)


def test_what_an_update_removes_nobody_holds(desk: Desk) -> None:
    desk.apply(colour="red", replicas=1)
    assert held(desk.update(colour=None)) == {"first Apply": {"f:spec": {"f:replicas": {}}}}


def test_two_can_hold_the_same_value(desk: Desk) -> None:
    desk.apply(colour="red")
    both = desk.apply("second", colour="red")
    assert held(both) == {
        "first Apply": {"f:spec": {"f:colour": {}}},
        "second Apply": {"f:spec": {"f:colour": {}}},
    }
    desk.apply(replicas=1)
    assert desk.api.get(GADGET, desk.key)["spec"] == {"colour": "red", "replicas": 1}
    assert desk.apply("second", replicas=1)["spec"] == {"replicas": 1}


def test_holding_a_value_too_makes_a_version_once(desk: Desk) -> None:
    versions = [desk.apply(manager, colour="red")["metadata"]["resourceVersion"] for manager in ("a", "b", "b", "a")]
    assert versions[0] != versions[1] == versions[2] == versions[3]


def test_a_conflict_names_the_holder_and_the_field(desk: Desk) -> None:
    desk.apply(colour="red")
    message = 'Apply failed with 1 conflict: conflict with "first": .spec.colour'
    with refused(409, "Conflict", message=message) as status:
        desk.apply("second", colour="blue")
    assert status["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "first"', "field": ".spec.colour"}
    ]


def test_a_conflict_with_an_updater_names_its_version_of_the_api(desk: Desk) -> None:
    desk.create(colour="red")
    message = f'Apply failed with 1 conflict: conflict with "{MANAGER}" using {GADGET.api_version}: .spec.colour'
    with refused(409, "Conflict", message=message):
        desk.apply(colour="blue")


def test_several_conflicts_are_told_by_holder(desk: Desk) -> None:
    desk.apply(colour="red", replicas=1, parts=[{"name": "x", "size": 1}])
    message = (
        'Apply failed with 3 conflicts: conflicts with "first":\n- .spec.colour\n- .spec.replicas\n'
        '- .spec.parts[name="x"].size'
    )
    with refused(409, "Conflict", message=message):
        desk.apply("second", colour="blue", replicas=2, parts=[{"name": "x", "size": 2}])


def test_force_takes_a_field_from_its_holder(desk: Desk) -> None:
    desk.apply(colour="red", replicas=1)
    after = desk.apply("second", force=True, colour="blue")
    assert held(after) == {"first Apply": {"f:spec": {"f:replicas": {}}}, "second Apply": {"f:spec": {"f:colour": {}}}}


def test_a_value_that_is_there_already_is_no_conflict(desk: Desk) -> None:
    desk.create(colour="red")
    assert desk.apply(colour="red")["spec"] == {"colour": "red"}


def test_an_item_with_a_key_is_its_appliers(desk: Desk) -> None:
    desk.apply(parts=[{"name": "x", "size": 1}])
    assert names(desk.apply("second", parts=[{"name": "y", "size": 2}])["spec"]["parts"]) == "xy"
    assert names(desk.apply(parts=[{"name": "z"}, {"name": "x", "size": 1}])["spec"]["parts"]) == "zxy"
    assert names(desk.apply(parts=[{"name": "z"}])["spec"]["parts"]) == "zy"


def test_the_fields_of_one_item_can_have_different_holders(desk: Desk) -> None:
    desk.apply(parts=[{"name": "x", "size": 1}])
    both = desk.apply("second", parts=[{"name": "x", "colour": "red"}])
    assert both["spec"]["parts"] == [{"name": "x", "size": 1, "colour": "red"}]
    assert desk.apply(replicas=1)["spec"]["parts"] == [{"name": "x", "colour": "red"}]


def test_items_come_in_the_order_of_who_applied_last(desk: Desk) -> None:
    desk.apply(parts=[{"name": name} for name in "abc"])
    after = desk.apply("second", parts=[{"name": name} for name in "xcya"])
    assert names(after["spec"]["parts"]) == "bxcya"
    assert names(desk.apply(parts=[{"name": name} for name in "cba"])["spec"]["parts"]) == "xcyba"


def test_the_values_of_a_set_have_holders(desk: Desk) -> None:
    desk.apply(tags=["a", "b"])
    assert desk.apply("second", tags=["b", "c"])["spec"]["tags"] == ["a", "b", "c"]
    assert desk.apply(tags=["a"])["spec"]["tags"] == ["a", "b", "c"]
    assert desk.apply("second", tags=["d"])["spec"]["tags"] == ["a", "d"]


def test_a_list_without_a_type_is_one_value(desk: Desk) -> None:
    desk.apply(steps=["a", "b"])
    with refused(409, "Conflict", match=r"\.spec\.steps"):
        desk.apply("second", steps=["b"])
    assert desk.apply("second", force=True, steps=["b"])["spec"]["steps"] == ["b"]


def test_an_atomic_map_is_one_value(desk: Desk) -> None:
    desk.apply(place={"row": 1})
    with refused(409, "Conflict", match=r"\.spec\.place"):
        desk.apply("second", place={"column": 2})
    assert desk.apply("second", force=True, place={"column": 2})["spec"]["place"] == {"column": 2}


def test_the_entries_of_a_map_have_holders(desk: Desk) -> None:
    desk.apply(limits={"a": "1"}, replicas=1)
    assert desk.apply("second", limits={"b": "2"}, replicas=1)["spec"]["limits"] == {"a": "1", "b": "2"}
    assert desk.apply(replicas=1)["spec"]["limits"] == {"b": "2"}
    assert "limits" not in desk.apply("second", replicas=1)["spec"]


def test_what_others_added_to_an_applied_list_goes_or_stays_with_its_item(desk: Desk) -> None:
    desk.apply(parts=[{"name": "x", "size": 1}], replicas=1)
    desk.update(parts=[{"name": "x", "size": 1, "colour": "red"}, {"name": "y"}])
    assert desk.apply(replicas=1)["spec"]["parts"] == [{"name": "y"}]


def test_a_map_that_an_applier_empties_and_still_wants_is_null(desk: Desk) -> None:
    desk.apply(colour="red")
    message = (
        'Gadget.api.contract.manta.example "one" is invalid: spec: Invalid value: "null": spec in body must be of type'
        ' object: "null"'
    )
    with refused(422, "Invalid", message=message):
        desk.apply()


def test_an_update_of_the_same_manager_is_another_holder(desk: Desk) -> None:
    desk.create(colour="red")
    with refused(409, "Conflict", match=f'conflict with "{MANAGER}" using'):
        desk.apply(MANAGER, colour="blue")


def test_the_status_has_holders_of_its_own(desk: Desk) -> None:
    desk.apply(colour="red")
    body = {**gadget("one"), "status": {"state": "new"}}
    after = desk.api.patch(GADGET, desk.key, Apply(body, "first"), "status")
    entries = [(entry["manager"], entry.get("subresource", "")) for entry in after["metadata"]["managedFields"]]
    assert sorted(entries) == [("first", ""), ("first", "status")]
    assert (after["spec"], after["status"]) == ({"colour": "red"}, {"state": "new"})


def test_a_status_that_is_applied_to_the_object_does_not_count(desk: Desk) -> None:
    body = {**gadget("one", colour="red"), "status": {"state": "new"}}
    made = desk.api.patch(GADGET, desk.key, Apply(body, "first"))
    assert "status" not in made
    assert held(made) == {"first Apply": {"f:spec": {"f:colour": {}}}}


def test_an_apply_to_the_status_of_nothing_is_not_found(desk: Desk) -> None:
    with refused(404, "NotFound"):
        desk.api.patch(GADGET, desk.key, Apply({**gadget("one"), "status": {"state": "new"}}, "first"), "status")


def test_holders_can_be_forgotten_and_are_made_up_by_the_next_apply(desk: Desk) -> None:
    made = desk.create(colour="red")
    bare = {**made, "metadata": {**made["metadata"], "managedFields": [{}]}}
    assert "managedFields" not in desk.api.update(GADGET, desk.key, bare)["metadata"]
    assert "managedFields" not in desk.update(colour="blue")["metadata"]
    with refused(409, "Conflict", match='conflict with "before-first-apply" using'):
        desk.apply(colour="green")


def test_an_old_version_in_an_apply_is_a_conflict(desk: Desk) -> None:
    body = gadget("one", colour="blue")
    body["metadata"]["resourceVersion"] = desk.apply(colour="red")["metadata"]["resourceVersion"]
    desk.apply(colour="green")
    with refused(409, "Conflict", match="the object has been modified"):
        desk.api.patch(GADGET, desk.key, Apply(body, "first"))


def test_a_uid_in_an_apply_must_be_that_of_the_object(desk: Desk) -> None:
    body = gadget("one")
    body["metadata"]["uid"] = "another"
    message = (
        'Operation cannot be fulfilled on gadgets.api.contract.manta.example "one": uid mismatch: the provided object'
        " specified uid another, and no existing object was found"
    )
    with refused(409, "Conflict", message=message):
        desk.api.patch(GADGET, desk.key, Apply(body, "first"))
    desk.apply(colour="red")
    with refused(422, "Invalid", match='metadata.uid: Invalid value: "another": field is immutable'):
        desk.api.patch(GADGET, desk.key, Apply(body, "first"))


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param({"nonsense": 1}, ".spec.nonsense: field not declared in schema", id="an unknown field"),
        pytest.param(
            {"parts": [{"name": "x"}, {"name": "x"}]},
            '.spec.parts: duplicate entries for key [name="x"]',
            id="a key twice",
        ),
        pytest.param({"tags": ["x", "x"]}, '.spec.tags: duplicate entries for key [="x"]', id="a value twice"),
        pytest.param(
            {"parts": [{"size": 1}]},
            '.spec.parts: element 0: associative list with keys has an element that omits all key fields ["name"] (and'
            " doesn't have default values for any key fields)",
            id="no key",
        ),
    ],
)
def test_what_does_not_fit_the_schema_cannot_be_applied(desk: Desk, spec: Obj, why: str) -> None:
    kind = f"{GADGET.api_version}, Kind=Gadget"
    with refused(500, "", message=f"failed to create typed patch object (/one; {kind}): {why}"):
        desk.apply(**spec)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(
            {"apiVersion": OLD_GADGET.api_version},
            f"invalid object type: {OLD_GADGET.api_version}, Kind=Gadget",
            id="another version",
        ),
        pytest.param({"kind": ""}, f"invalid object type: {GADGET.api_version}, Kind=", id="no kind"),
        pytest.param(
            {"metadata": {}},
            "the name of the object (one based on URL) was undeterminable: name must be provided",
            id="no name",
        ),
        pytest.param(
            {"metadata": {"name": "one", "managedFields": [{"manager": "x"}]}},
            "metadata.managedFields must be nil",
            id="holders of its own",
        ),
    ],
)
def test_an_apply_must_say_what_it_is(desk: Desk, change: Obj, why: str) -> None:
    with refused(400, "BadRequest", message=why):
        desk.api.patch(GADGET, desk.key, Apply({**gadget("one"), **change}, "first"))


def test_finalizers_are_a_set(api: Api, space: str) -> None:
    def apply(manager: str, *finalizers: str) -> list[str]:
        body = widget("one")
        body["metadata"]["finalizers"] = list(finalizers)
        found: list[str] = api.patch(WIDGET, Key(space, "one"), Apply(body, manager))["metadata"].get("finalizers", [])
        return found

    assert apply("first", "a.example/x") == ["a.example/x"]
    assert apply("second", "a.example/y") == ["a.example/x", "a.example/y"]
    assert apply("first") == ["a.example/y"]
    assert apply("second") == []


def test_labels_and_entries_of_a_config_map_go_with_their_applier(api: Api, space: str) -> None:
    key = Key(space, "one")
    api.patch(CONFIGMAP, key, Apply(configmap("one", {"x": "1"}, a="1", b="2"), "first"))
    after = api.patch(CONFIGMAP, key, Apply(configmap("one", b="2"), "first"))
    assert (after["metadata"]["labels"], after["data"]) == ({"suite": "api"}, {"b": "2"})
    api.patch(CONFIGMAP, key, MergePatch({"data": {"c": "3"}}))
    bare = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    after = api.patch(CONFIGMAP, key, Apply(bare, "first"))
    assert after["data"] == {"c": "3"}
    assert "labels" not in after["metadata"]


def test_the_ports_of_a_service_are_told_apart_by_port_and_protocol(api: Api, space: str) -> None:
    key = Key(space, "one")
    ports = [{"name": "http", "port": 80}, {"name": "more", "port": 81}]
    api.patch(SERVICE, key, Apply(service("one"), "first"))
    both = api.patch(SERVICE, key, Apply(service("one", ports=ports), "second"))
    assert [port["name"] for port in both["spec"]["ports"]] == ["http", "more"]
    after = api.patch(SERVICE, key, Apply(service("one", ports=ports[1:]), "second"))
    assert [port["name"] for port in after["spec"]["ports"]] == ["http", "more"]
    entry = next(entry for entry in after["metadata"]["managedFields"] if entry["manager"] == "second")
    assert list(entry["fieldsV1"]["f:spec"]["f:ports"]) == ['k:{"port":81,"protocol":"TCP"}']


def test_the_containers_of_a_pod_are_told_apart_by_name(api: Api, space: str) -> None:
    key = Key(space, "one")
    made = api.patch(POD, key, Apply(pod("one"), "first"))
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:spec"]["f:containers"] == {'k:{"name":"main"}': {".": {}, "f:name": {}, "f:image": {}}}
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    other = pod("one", containers=[{"name": "main", "image": "example/none:2"}])
    with refused(409, "Conflict", match=r'\.spec\.containers\[name="main"\]\.image'):
        api.patch(POD, key, Apply(other, "second", force=False))


@pytest.mark.parametrize(
    ("kind", "body", "fields"),
    [
        pytest.param(
            CONFIGMAP,
            configmap("one", a="1"),
            {"f:data": {".": {}, "f:a": {}}, "f:metadata": {"f:labels": {".": {}, "f:suite": {}}}},
            id="a config map",
        ),
        pytest.param(
            SERVICE,
            service("one"),
            {
                "f:spec": {
                    "f:internalTrafficPolicy": {},
                    "f:ports": {
                        ".": {},
                        'k:{"port":80,"protocol":"TCP"}': {
                            ".": {},
                            "f:name": {},
                            "f:port": {},
                            "f:protocol": {},
                            "f:targetPort": {},
                        },
                    },
                    "f:selector": {},
                    "f:sessionAffinity": {},
                    "f:type": {},
                }
            },
            id="a service with its defaults, without its address",
        ),
    ],
)
def test_a_creator_holds_defaults_and_not_what_the_server_gives(
    api: Api, space: str, kind: Kind, body: Obj, fields: Obj
) -> None:
    assert held(api.create(kind, space, body)) == {f"{MANAGER} Update": fields}


def test_maps_without_a_schema_are_merged_and_lists_are_not(api: Api, space: str) -> None:
    key = Key(space, "one")
    api.patch(WIDGET, key, Apply(widget("one", a={"b": {"c": 1}}, items=[1]), "first"))
    both = api.patch(WIDGET, key, Apply(widget("one", a={"b": {"d": 2}}), "second"))
    assert both["spec"] == {"a": {"b": {"c": 1, "d": 2}}, "items": [1]}
    with refused(409, "Conflict", match=r"\.spec\.items"):
        api.patch(WIDGET, key, Apply(widget("one", items=[1, 2]), "second", force=False))
