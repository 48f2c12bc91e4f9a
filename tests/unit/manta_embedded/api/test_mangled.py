"""Whatever is in a request, the embedded API answers it, or says with a Status of the asker's fault what is wrong."""

import copy
import random
from typing import Any

import pytest
import yaml
from hypothesis import given

from manta_common.clock import SystemClock
from manta_common.keys import Key
from manta_common.kinds import (
    CONFIGMAP,
    CRD,
    JOB,
    LEASE,
    NAMESPACE,
    POD,
    RAYCLUSTER,
    RAYJOB,
    RAYSERVICE,
    ROLEBINDING,
    SECRET,
    SERVICE,
    Kind,
)
from manta_embedded.api import media
from manta_embedded.api.asked import asked
from manta_embedded.api.calls import Calls, Given
from manta_embedded.api.forms import Forms
from manta_embedded.api.tables import Tables
from manta_embedded.store.errors import StatusError
from manta_embedded.store.schema.custom import CustomResources
from manta_embedded.store.schema.ray import definitions
from manta_embedded.store.store import Store
from manta_embedded.store.writers import Writer
from tests.examples import manifests
from tests.parts.mangling import SEEDS, encoded, examples, mangled, mangled_text

Json = dict[str, Any]
SPACE = "default"
POD_SPEC: Json = {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "b"}]}]}
OBJECTS: dict[Kind, Json] = {
    RAYCLUSTER: manifests.cluster(),
    RAYJOB: manifests.job(),
    RAYSERVICE: manifests.service(),
    POD: {"metadata": {"name": "demo", "labels": {"a": "b"}}, "spec": POD_SPEC},
    SERVICE: {"metadata": {"name": "demo"}, "spec": {"selector": {"a": "b"}, "ports": [{"name": "p", "port": 80}]}},
    CONFIGMAP: {"metadata": {"name": "demo"}, "data": {"a": "b"}, "binaryData": {"c": "YWJj"}},
    SECRET: {"metadata": {"name": "demo"}, "type": "Opaque", "data": {"a": "YWJj"}, "stringData": {"b": "c"}},
    JOB: {"metadata": {"name": "demo"}, "spec": {"template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}}},
    LEASE: {"metadata": {"name": "demo"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 5}},
    ROLEBINDING: {
        "metadata": {"name": "demo"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "default"}],
    },
    NAMESPACE: {"metadata": {"name": "demo"}},
}
PATCH: Json = {
    "metadata": {"labels": {"x": "y"}, "finalizers": ["a/b"], "ownerReferences": []},
    "spec": {"suspend": True},
}
STEPS = [
    {"op": "test", "path": "/metadata/name", "value": "demo"},
    {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
    {"op": "replace", "path": "/spec/suspend", "value": True},
    {"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/c"},
    {"op": "move", "from": "/metadata/labels/c", "path": "/metadata/labels/d"},
    {"op": "remove", "path": "/metadata/labels/d"},
]
OPTIONS: Json = {
    "kind": "DeleteOptions",
    "gracePeriodSeconds": 0,
    "propagationPolicy": "Background",
    "preconditions": {"uid": "u", "resourceVersion": "1"},
    "dryRun": ["All"],
}
QUERY = {
    "labelSelector": "a=b,c in (d,e),!f",
    "fieldSelector": "metadata.name=demo",
    "limit": "2",
    "continue": "abc",
    "resourceVersion": "1",
    "resourceVersionMatch": "Exact",
    "fieldManager": "me",
    "fieldValidation": "Strict",
    "dryRun": "All",
    "force": "true",
    "gracePeriodSeconds": "5",
    "propagationPolicy": "Orphan",
    "includeObject": "Object",
}
ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/yaml, */*"
WAYS = ["POST", "PUT", "PATCH", "DELETE", "GET"]


def made() -> tuple[Calls, Store]:
    """An API with one object of each kind."""
    store = Store(SystemClock(), random.Random(0))
    store.admissions += [CustomResources()]
    for definition in definitions():
        store.create(CRD, "", definition, Writer("test"))
    for kind, manifest in OBJECTS.items():
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **copy.deepcopy(manifest)}
        if kind is not NAMESPACE:
            store.create(kind, SPACE, body, Writer("test"))
    return Calls(store, Forms(Tables(store.now))), store


@pytest.fixture(scope="module")
def api() -> tuple[Calls, Store]:
    """One that refuses everything, and so stays as it is."""
    return made()


class Requests:
    """Requests that have something wrong, by a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.kind = self.chance.choice([*OBJECTS])
        self.method = self.chance.choice(WAYS)

    def content(self) -> tuple[str, bytes]:
        """A type and a body that should be of it."""
        if self.method == "PATCH":
            kind = self.chance.choice(media.PATCHES)
            good = encoded(STEPS) if kind == media.PATCHES[0] else encoded(self.chance.choice([PATCH, self._whole()]))
        else:
            kind = self.chance.choice([*media.BODIES, ""])
            good = encoded(OPTIONS if self.method == "DELETE" else self._whole())
        if "yaml" in kind:
            good = yaml.safe_dump(yaml.safe_load(good)).encode()
        return kind, self._mangled(good)

    def query(self) -> dict[str, str]:
        """Some of what a query can hold, much of it wrong."""
        some = self.chance.sample([*QUERY], self.chance.choice([0, 0, 1, 2]))
        return {name: self.chance.choice([QUERY[name], mangled_text(QUERY[name], self._seed())]) for name in some}

    def path(self) -> str:
        """Where it goes."""
        named = "" if self.method == "POST" else self.chance.choice(["demo", "demo", "nobody", ""])
        part = self.chance.choice(["", "", "status", "scale"]) if named and self.kind.namespaced else ""
        return self.kind.path(SPACE, named, part)

    def accept(self) -> str:
        """In which form the answer is wanted."""
        return self.chance.choice(["", ACCEPT, mangled_text(ACCEPT, self._seed())])

    def _whole(self) -> Json:
        return {"apiVersion": self.kind.api_version, "kind": self.kind.kind, **OBJECTS[self.kind]}

    def _mangled(self, good: bytes) -> bytes:
        return mangled(good, self._seed()) if self.chance.random() < 0.9 else good

    def _seed(self) -> int:
        return self.chance.getrandbits(48)


def answered(calls: Calls, store: Store, seed: int) -> int:
    """The code of an answer."""
    ask = Requests(seed)
    content_type, raw = ask.content()
    query = ask.query()
    what = asked(ask.method, ask.path(), query)
    served = store.registry.at(what.group, what.version, what.resource)
    assert served is not None
    try:
        wanted = media.wanted(ask.accept())
        given = Given(query=query, content_type=content_type, agent="test/1", raw=raw)
        return calls.answer(served, what, given, wanted)[0]
    except StatusError as error:
        return error.code if encoded(error.status()) else 0


@examples(8)
@given(seed=SEEDS)
def test_a_request_is_carried_out_or_the_askers_fault(seed: int) -> None:
    calls, store = made()
    for one in range(60):
        code = answered(calls, store, seed * 1000 + one)
        assert 200 <= code < 300 or 400 <= code < 500, f"{seed * 1000 + one} was answered {code}"
    for kind in OBJECTS:
        found = [copy.deepcopy(dict(one)) for one in store.objects(kind, "")]
        assert all(encoded_whole(one) for one in found)


def encoded_whole(one: Json) -> bytes:
    """Whether it can be sent at all."""
    return encoded({name: value for name, value in one.items() if name != "metadata"})


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"\xff", id="no text"),
        pytest.param(b'{"kind": "\xff"}', id="no text in JSON"),
        pytest.param(b"a: \xff", id="no text in YAML"),
        pytest.param(b"[" * 100_000, id="nested without end"),
        pytest.param(b"a: &a [*a]", id="a list in itself"),
        pytest.param(b"{1: 2}", id="a number for a name"),
        pytest.param(b"a: !!binary YWJj", id="bytes"),
        pytest.param(b"- ", id="a list"),
    ],
)
@pytest.mark.parametrize("content_type", [media.JSON, media.YAML, media.PATCHES[3], media.PATCHES[1]])
def test_a_body_that_is_no_text_is_refused(api: tuple[Calls, Store], raw: bytes, content_type: str) -> None:
    calls, store = api
    method = "PATCH" if "patch" in content_type else "PUT"
    what = asked(method, RAYJOB.path(SPACE, "demo"), {})
    served = store.registry.at(what.group, what.version, what.resource)
    assert served is not None
    given = Given(query={"fieldManager": "me"}, content_type=content_type, agent="test/1", raw=raw)
    with pytest.raises(StatusError) as refused:
        calls.answer(served, what, given, media.PLAIN)
    assert 400 <= refused.value.code < 500
    assert store.find(RAYJOB, Key(SPACE, "demo")) is not None
