"""The store and the API server make the same of the same object: of our manifests, and of what chance makes of them."""

import copy
import functools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from manta_common.keys import Key
from manta_common.kinds import NAMESPACE, Kind
from tests.contract.api.api import Api, EmbeddedApi, RealApi
from tests.contract.api.steps import causes, serve
from tests.contract.api.test_cel import KINDS, ray_definitions
from tests.manifests.files import manifests
from tests.parts.cluster import ApiError, Cluster

Obj = dict[str, Any]
BATCHES, CASES = 6, 25
SPACE = "alike"
GIVEN = [one for one in manifests().values() if one.get("spec")]
ODD: tuple[Any, ...] = (
    None, "", "x", "5", 0, -1, 2**40, 1.5, True, [], {}, [None], [{}], ["a", "a"], {"a": 1}, {"a": None}
)  # fmt: skip


@pytest.fixture(scope="module")
def both(kubernetes: Cluster) -> list[Api]:
    """Both APIs, serving our four kinds."""
    found: list[Api] = [RealApi(kubernetes), EmbeddedApi()]
    for api in found:
        serve(api, ray_definitions())
        api.create(NAMESPACE, "", {"metadata": {"name": SPACE}})
    return found


def answer(api: Api, kind: Kind, body: Obj, old: Obj | None = None) -> Any:
    """The spec that was stored, or what was said against it."""
    try:
        if old is None:
            return api.create(kind, SPACE, body).get("spec")
        api.create(kind, SPACE, old)
        place = Key(SPACE, old["metadata"]["name"])
        current = api.get(kind, place)
        return api.update(kind, place, {**current, "spec": body["spec"]}).get("spec")
    except ApiError as error:
        return error.code, causes(error.status)


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


@pytest.mark.parametrize("name", manifests())
def test_a_manifest_of_ours_is_stored_alike(both: list[Api], name: str) -> None:
    given = manifests()[name]
    body = {**given, "metadata": {**given["metadata"], "namespace": SPACE}}
    one, other = (answer(api, KINDS[given["kind"]], body) for api in both)
    assert one == other


@pytest.mark.parametrize("batch", range(BATCHES))
def test_what_chance_makes_of_a_manifest_is_judged_alike(both: list[Api], batch: int) -> None:
    chance = random.Random(batch)
    for case in range(CASES):
        body = mutated(chance, chance.choice(GIVEN), f"chance-{batch}-{case}")
        one, other = (answer(api, KINDS[body["kind"]], body) for api in both)
        assert one == other, body


@pytest.mark.parametrize("batch", range(BATCHES, 2 * BATCHES))
def test_a_change_by_chance_is_judged_alike(both: list[Api], batch: int) -> None:
    chance = random.Random(batch)
    for case in range(CASES):
        old = copy.deepcopy(chance.choice(GIVEN))
        old["metadata"] = {"name": f"change-{batch}-{case}"}
        new = mutated(chance, old, old["metadata"]["name"])
        one, other = (answer(api, KINDS[old["kind"]], new, old) for api in both)
        assert one == other, new
