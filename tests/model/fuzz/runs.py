"""Plays what a user does to one object: makes it, edits it, corrects it, deletes it; and looks at it after each."""

import asyncio
import copy
import random

from manta_common.keys import Key
from manta_common.kinds import NAMESPACE
from manta_embedded.sim.loop import Limits
from manta_embedded.sim.simulate import ScenarioFailed, simulate
from manta_embedded.sim.world import USER, Climate, World
from manta_embedded.store.errors import StatusError
from manta_embedded.store.objects import Obj
from tests.examples.example import DEFAULT_GATES, Json
from tests.model.fuzz import truth
from tests.model.fuzz.edits import edited
from tests.model.fuzz.facts import is_refused, told, wanted_workers
from tests.model.fuzz.known import plain
from tests.model.fuzz.stage import WIDE, Stage, listening
from tests.model.fuzz.truth import KINDS

CLIMATE = Climate(validation=True, limits=Limits(seconds=7 * 24 * 3600, steps=20_000_000))
QUIET_SECONDS = 65.0  # longer than anything is put off, as clusters of a RayService are for a minute
SETTLE_SECONDS = 3600.0
PATIENCE_SECONDS = 400.0  # a job that Ray does not know is given up after 300 s
MOST_WORKERS = 12
STORIES = 3  # of each kind
MOST_TRIES = 15  # from the first after 5 ms on, each after twice as long
AGAIN = "pass will be tried again"
SHOWN_LINES = 300
GOOD_NAMES = ("a", "a-1", "a" * 30)  # for every kind
NAMES = (*GOOD_NAMES * 3, "a" * 47, "a" * 53, "a" * 60, "1a", "a.b", "A")


class Story:
    """One object's life, by its seed."""

    def __init__(self, stage: Stage, kind: str, number: int) -> None:
        self._stage, self._world, self._kind = stage, stage.world, kind
        self._chance = random.Random(f"{stage.world.seed}/{kind}/{number}")
        self.place, self._name, self._sent = f"{kind.lower()}-{number}", "a", plain(kind)
        self._world.create(NAMESPACE, {"metadata": {"name": self.place}})

    async def play(self) -> None:
        """All of it."""
        await self._begin()
        for _ in range(self._chance.randrange(4)):
            if self._found() is None:
                break  # it was told to delete itself
            await self._edit()
        await self._correct()
        await self._end()

    async def _begin(self) -> None:
        first = plain(self._kind)
        if self._chance.random() < 0.6:
            made = edited(self._kind, first, self._chance)
            made.manifest["metadata"]["name"] = self._chance.choice(NAMES)
            if self._make(made.manifest, made.says):
                return await self._look()
        assert self._make(first, "as it should be"), "a manifest without a fault is refused"
        return await self._look()

    async def _edit(self) -> None:
        made = edited(self._kind, self._sent, self._chance)
        if self._change(made.manifest, made.says):
            await (self._look() if self._chance.random() < 0.8 else self._world.sleep(self._chance.uniform(0, 10)))

    async def _correct(self) -> None:
        """Back to what can be served; an object that has not ended is well then."""
        if self._found() is None:
            return
        # The name of a RayCronJob is not looked at, as in KubeRay: with a bad one each of its jobs is refused.
        right = plain(self._kind, soon=self._name in GOOD_NAMES)
        right["spec"] |= {name: each for name, each in self._sent["spec"].items() if name == "managedBy"}
        if self._change(right, "as it should be"):
            await self._look()
            found = self._found()
            is_well = found is None or not is_refused(found) or self._name not in GOOD_NAMES
            assert is_well, "it is corrected and still refused"
            if found is not None and self._name in GOOD_NAMES and (lack := truth.lacking(self._stage, found)):
                raise AssertionError(f"it is corrected and still not served: {lack}")

    async def _end(self) -> None:
        if self._found() is not None:
            self._world.delete(KINDS[self._kind], self._name, self.place)
        await self._rest()
        left = truth.leftovers(self._world, self.place)
        assert not left, f"it is deleted, and yet:\n{chr(10).join(left)}"

    def _make(self, manifest: Json, says: str) -> bool:
        """Whether the API takes it; the body is a copy, since what is sent is remembered."""
        if _is_too_large(manifest):
            return False
        kind = KINDS[self._kind]
        self._tell("makes", says)
        try:
            made = self._world.create(kind, copy.deepcopy(manifest), self.place)
        except StatusError as error:
            self._refused(error)
            return False
        self._name = made["metadata"]["name"]
        self._send(manifest)
        return True

    def _change(self, manifest: Json, says: str) -> bool:
        found = self._found()
        if found is None or _is_too_large(manifest):
            return False
        self._tell("edits", says)
        body = {**found, "spec": copy.deepcopy(manifest["spec"]), "metadata": self._metadata(found, manifest)}
        try:
            self._world.store.update(KINDS[self._kind], Key(self.place, self._name), body, USER)
        except StatusError as error:
            self._refused(error)
            return False
        self._send(manifest)
        return True

    def _send(self, manifest: Json) -> None:
        """Remember what was taken."""
        self._sent = manifest
        if manifest["spec"].get("rayClusterDeletionDelaySeconds", 0) > QUIET_SECONDS:
            self._stage.put_off.add(self.place)

    def _metadata(self, found: Obj, manifest: Json) -> Json:
        """The object's metadata with the labels and annotations that the user wants, and none of those sent before."""
        meta = dict(found["metadata"])
        for part in ("labels", "annotations"):
            before, wanted = self._sent["metadata"].get(part, {}), manifest["metadata"].get(part, {})
            kept = {name: text for name, text in meta.get(part, {}).items() if name not in before}
            meta[part] = {**kept, **wanted}
        return meta

    def _refused(self, error: StatusError) -> None:
        """A refusal says which field is wrong."""
        self._world.history.tell("api", "refuses", f"{self._kind} {self.place}/{self._name}", error.message[:300])
        fields = [cause.get("field") for cause in error.details.get("causes", ())]
        assert error.code in (400, 422, 403), f"the API answers {error.code}: {error.message}"
        assert error.code == 400 or (fields and all(fields)), f"the refusal names no field: {error.message}"

    async def _look(self) -> None:
        """When all is at rest; what is not true then may be so when a job has been waited for."""
        await self._rest()
        if self._lies():
            await self._world.sleep(PATIENCE_SECONDS)
            await self._rest()
        lies = self._lies()
        assert not lies, "\n".join(lies)

    def _lies(self) -> list[str]:
        return [*truth.lies(self._stage, self.place), *self._vain()]

    def _vain(self) -> list[str]:
        """What is tried again and again: it must be told of, and come up more and more rarely."""
        since, here = self._world.loop.time() - QUIET_SECONDS, f"{self.place}/"
        tries = [line for line in self._world.history.lines if line.action == AGAIN and line.about.startswith(here)]
        late = [line for line in tries if line.at > since]
        found = self._found()
        return told(
            [
                (len(late) > MOST_TRIES, f"it is tried {len(late)} times in {QUIET_SECONDS:g} s"),
                (
                    bool(late) and found is not None and not truth.is_told(self._world, found),
                    f"nobody is told what is tried in vain: {late[-1].because if late else ''}",
                ),
            ]
        )

    async def _rest(self) -> None:
        """Wait until nobody writes any more."""
        ends_at, is_quiet = self._world.loop.time() + SETTLE_SECONDS, False
        while not is_quiet:
            assert self._world.loop.time() < ends_at, "the services go on writing for ever"
            before = self._writes()
            await self._world.sleep(QUIET_SECONDS)
            is_quiet = self._writes() == before

    def _writes(self) -> int:
        """How many things services have done so far; events and refusals are not a change."""
        return sum(
            1
            for line in self._world.history.lines
            if line.who in self._world.services
            and f" {self.place}/" in line.about
            and not line.about.startswith("event ")
            and "refused" not in line.action
        )

    def _found(self) -> Obj | None:
        return self._world.find(KINDS[self._kind], self._name, self.place)

    def _tell(self, action: str, says: str) -> None:
        self._world.history.tell("user", action, f"{self._kind} {self.place}/{self._name}", says)


def _is_too_large(manifest: Json) -> bool:
    """Whether so many pods are asked for that nothing would be learnt from waiting for them."""
    spec = manifest["spec"]
    try:
        for field in ("jobTemplate", "rayClusterSpec", "rayClusterConfig"):
            spec = spec.get(field) or spec
        return wanted_workers(spec) > MOST_WORKERS
    except (TypeError, AttributeError):
        return False  # something of another type than it should be, which the API is asked about


async def scenario(world: World) -> None:
    """Stories of every kind, all at once: none may hold up another, and all wait together."""
    stage = Stage(world, world.chance.choice((DEFAULT_GATES, WIDE)))
    stories = [Story(stage, kind, number) for kind in KINDS for number in range(1, STORIES + 1)]
    with listening(world):
        ends = await asyncio.gather(*(story.play() for story in stories), return_exceptions=True)
    failed = [(story.place, end) for story, end in zip(stories, ends, strict=True) if isinstance(end, BaseException)]
    if failed:
        raise Untrue(failed)


class Untrue(AssertionError):
    """Stories that did not come out, by their namespaces."""

    def __init__(self, failed: list[tuple[str, BaseException]]) -> None:
        self.places = [place for place, _ in failed]
        super().__init__("\n".join(f"{place}: {type(error).__name__}: {error}" for place, error in failed))


def retold(failed: ScenarioFailed) -> str:
    """What happened to the first object that did not fare as it should, without what the others did meanwhile."""
    place = failed.error.places[0] if isinstance(failed.error, Untrue) else ""
    lines = [str(line) for line in failed.history.lines if "/" not in line.about or f"{place}/" in line.about]
    text = "\n".join(lines[-SHOWN_LINES:])
    return f"seed {failed.seed}:\n{text}\n\n{type(failed.error).__name__}: {failed.error}"


def run(seed: int) -> World:
    """Play the stories of a seed; ScenarioFailed tells what happened if something is not as it should be."""
    return simulate(scenario, seed=seed, climate=CLIMATE)


def trouble(seed: int) -> str:
    """How a seed fails, or nothing: for processes that play seeds for others."""
    try:
        run(seed)
    except ScenarioFailed as failed:
        return f"{retold(failed)}\nagain: python -m tests.model.fuzz {seed}"
    return ""
