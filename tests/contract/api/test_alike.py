"""The store and the API server make the same of the same object: of our manifests, and of what chance makes of them."""

import contextlib
import copy
import functools
import random
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, NAMESPACE, ROLE, Kind
from tests.contract.api.api import Api, EmbeddedApi, RealApi
from tests.contract.api.steps import causes, serve
from tests.contract.api.test_cel import KINDS, ray_definitions
from tests.manifests.files import manifests
from tests.parts.cluster import ApiError, Cluster

Obj = dict[str, Any]
BATCHES, CASES = 4, 25
OWNER: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
BAD_METADATA: tuple[Obj, ...] = (
    {"name": ""},
    {"name": "Upper"},
    {"name": "-a"},
    {"name": "a..b"},
    {"name": "x" * 254},
    {"name": "a", "generateName": "_"},
    {"name": "a", "labels": {"a b": "c d", "/x": "", "x/": "", "a/b/c": "", "k" * 64: "v" * 64}},
    {"name": "a", "annotations": {"a b": "", "Ex.com/K": "", "b": "x" * 262145}},
    {"name": "a", "ownerReferences": [OWNER | {"uid": "", "name": ""}, OWNER | {"kind": "", "apiVersion": ""}]},
    {"name": "a", "ownerReferences": [OWNER | {"controller": True}, OWNER | {"uid": "v", "controller": True}]},
    {"name": "a", "ownerReferences": [OWNER | {"kind": "Event"}]},
    {"name": "a", "finalizers": ["plain", "x y/z", "example.com/fine"]},
    {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]},
)
GIVEN = [one for one in manifests().values() if one.get("spec")]
ODD: tuple[Any, ...] = (
    None, "", "x", "5", 0, -1, 2**40, 1.5, True, [], {}, [None], [{}], ["a", "a"], {"a": 1}, {"a": None}
)  # fmt: skip


class Pair:
    """Both APIs, with a namespace of the same name in each."""

    def __init__(self, real: Api, embedded: Api, space: str) -> None:
        self._apis, self._space = (real, embedded), space
        for api in self._apis:
            serve(api, ray_definitions())
            api.create(NAMESPACE, "", {"metadata": {"name": space}})

    def answers(self, kind: Kind, body: Obj, old: Obj | None = None) -> list[Any]:
        """Of each the spec that was stored, or what was said against it."""
        return [self._answer(api, kind, body, old) for api in self._apis]

    def clear(self) -> None:
        """Leave nothing behind."""
        for api in self._apis:
            api.delete(NAMESPACE, Key("", self._space))

    def _answer(self, api: Api, kind: Kind, body: Obj, old: Obj | None) -> Any:
        try:
            if old is None:
                return api.create(kind, self._space, body).get("spec")
            made = api.create(kind, self._space, old)
            place = Key(self._space, old["metadata"]["name"])
            return api.update(kind, place, {**made, "spec": body["spec"]}).get("spec")
        except ApiError as error:
            return error.code, causes(error.status)


@pytest.fixture
def pair(kubernetes: Cluster) -> Iterator[Pair]:
    """Both APIs, serving our four kinds."""
    real = RealApi(kubernetes)
    with contextlib.closing(real):
        found = Pair(real, EmbeddedApi(), f"alike-{secrets.token_hex(4)}")
        yield found
        found.clear()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def mutated(chance: random.Random, given: Obj, name: str) -> Obj:
    """A manifest with a few things in it that should not be there, or gone."""
    found = copy.deepcopy(given)
    found["metadata"] = {"name": name}
    for _ in range(chance.randint(1, 3)):
        path = chance.choice(list(places(found["spec"])) or [()])
        holder = functools.reduce(lambda held, key: held[key], path[:-1], found["spec"])
        if path:
            _spoil(chance, holder, path[-1])
    return found


def _spoil(chance: random.Random, holder: Any, key: Any) -> None:
    fate = chance.random()
    if fate < 0.15:
        del holder[key]
    elif fate < 0.3 and isinstance(holder, dict):
        holder["unknown"] = 1
    elif fate < 0.4 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    else:
        holder[key] = copy.deepcopy(chance.choice(ODD))


def test_our_manifests_are_stored_alike(pair: Pair) -> None:
    for name, given in manifests().items():
        body = {**given, "metadata": {"name": name}}
        one, other = pair.answers(KINDS[given["kind"]], body)
        assert one == other, name


@pytest.mark.parametrize("kind", [CONFIGMAP, ROLE], ids=lambda kind: kind.plural)
def test_bad_metadata_is_judged_alike(pair: Pair, kind: Kind) -> None:
    for metadata in BAD_METADATA:
        body: Obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        one, other = pair.answers(kind, body)
        assert one == other, metadata


@pytest.mark.parametrize("batch", range(BATCHES))
def test_what_chance_makes_of_a_manifest_is_judged_alike(pair: Pair, batch: int) -> None:
    chance = random.Random(batch)
    for case in range(CASES):
        body = mutated(chance, chance.choice(GIVEN), f"chance-{case}")
        one, other = pair.answers(KINDS[body["kind"]], body)
        assert one == other, body


@pytest.mark.parametrize("batch", range(BATCHES, 2 * BATCHES))
def test_a_change_by_chance_is_judged_alike(pair: Pair, batch: int) -> None:
    chance = random.Random(batch)
    for case in range(CASES):
        old = {**chance.choice(GIVEN), "metadata": {"name": f"change-{case}"}}
        new = mutated(chance, old, f"change-{case}")
        one, other = pair.answers(KINDS[old["kind"]], new, old)
        assert one == other, new
