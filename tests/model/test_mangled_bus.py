"""Bytes that went wrong on the bus, anywhere in it: no service ends, and the world settles as if they had not been."""

import random
from functools import partial
from typing import Any

from hypothesis import given

from manta_common.bus.channel import call_subject
from manta_common.bus.protocol import Message
from manta_common.dashboard import calls
from manta_common.errors import MantaError
from manta_common.kinds import JOB, POD, RAYCLUSTER, RAYJOB
from manta_embedded.sim.bus import SimulatedBus
from manta_embedded.sim.simulate import simulate
from manta_embedded.sim.stream import Stream
from manta_embedded.sim.world import World
from tests.examples import manifests
from tests.model.manta import begin, deployment, make
from tests.parts.mangling import SEEDS, encoded, examples, mangled, mangled_text, mangled_token, sample

ROUNDS, EACH = 12, 4
CLEAN: dict[str, Any] = {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 5}
QUESTIONS: dict[str, Any] = {
    calls.SUBMIT.verb: calls.Submission,
    calls.GET.verb: calls.AboutJob,
    calls.LIST.verb: calls.AboutCluster,
    calls.STOP.verb: calls.AboutJob,
    calls.LOGS.verb: calls.LogRange,
    calls.GET_APPLICATIONS.verb: calls.AboutCluster,
    calls.PUT_APPLICATIONS.verb: calls.ServeConfig,
    calls.VERSION.verb: calls.AboutCluster,
}


@examples(6)
@given(seed=SEEDS)
def test_the_world_settles_whatever_is_on_the_bus(seed: int) -> None:
    simulate(partial(through_noise, seed), seed=seed)


async def through_noise(seed: int, world: World) -> None:
    """A job and a cluster live while everything on the bus is mangled now and then."""
    begin(world, replicas=2)
    noise = Noise(world, random.Random(seed))
    make(world, "a", entrypoint="sleep 15", workers=1, submissionMode="HTTPMode", **CLEAN)
    world.create(RAYCLUSTER, manifests.cluster(manifests.worker(replicas=2, maxReplicas=9), name="ray"))
    for _ in range(ROUNDS):
        await world.sleep(noise.chance.choice([0.1, 1, 3]))
        for _ in range(EACH):
            noise.in_stream()
            noise.in_buckets()
            await noise.in_calls()
    world.patch(RAYCLUSTER, "ray", {"spec": {"suspend": True}})
    await world.until("no pod of the cluster is left", lambda: not pods(world, "ray"), limit_seconds=900)
    world.patch(RAYCLUSTER, "ray", {"spec": {"suspend": False}})
    await world.until("the cluster is whole", lambda: len(pods(world, "ray")) == 3, limit_seconds=900)
    await world.until("the job has ended", lambda: deployment(world, "a") == "Complete", limit_seconds=900)
    world.delete(RAYJOB, "a")
    world.delete(RAYCLUSTER, "ray")
    left = partial(_left, world)
    await world.until("nothing is left", lambda: left() == 0, limit_seconds=900)


class Noise:
    """Whoever writes where only services should, and nothing that makes sense."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.chance, self._nats, self._bus = chance, world.nats, SimulatedBus(world.nats)

    def in_stream(self) -> None:
        """Something that stands in the stream, with other bytes, at another place, or with other headers."""
        self._write(self._nats.stream, "manta.v1.state.1.plain.pod.default.x")

    def in_buckets(self) -> None:
        """The same for members and claims."""
        stream = self.chance.choice([*self._nats.buckets.values()])
        self._write(stream, f"job-reconciler.{self.chance.choice(['0', '07', 'x', '9' * 30])}")

    async def in_calls(self) -> None:
        """A question that is none."""
        verb = self.chance.choice([*QUESTIONS])
        body = mangled(encoded(sample(QUESTIONS[verb])), self._seed())
        try:
            await self._bus.request(call_subject("dashboard", verb), body, limit_seconds=1)
        except MantaError:
            return

    def _write(self, stream: Stream, usual: str) -> None:
        found = [*stream.living().values()]
        one = self.chance.choice(found) if found else Message(subject=usual, body=b"{}", sequence=0)
        subject, body, headers = one.subject, one.body, dict(one.headers)
        match self.chance.randrange(5):
            case 0:
                subject = self._elsewhere(subject)
            case 1:
                subject, body = self._elsewhere(subject), mangled(body, self._seed())
            case 2:
                headers = {"traceparent": mangled_text("00-1-1-01", self._seed()), "Manta-Seen": self._text("1.5")}
                body = mangled(body, self._seed())
            case _:
                body = mangled(body, self._seed())
        stream.write(Message(subject=subject, body=body[:4_000_000], sequence=0, headers=headers), None, None)

    def _elsewhere(self, subject: str) -> str:
        parts = subject.split(".")
        place = self.chance.randrange(len(parts))
        parts[place] = mangled_token(parts[place], self._seed()).decode(errors="replace")
        return ".".join(parts)

    def _text(self, text: str) -> str:
        return mangled_text(text, self._seed())

    def _seed(self) -> int:
        return self.chance.getrandbits(48)


def pods(world: World, cluster: str) -> list[Any]:
    """The pods of a cluster that are not going."""
    found = [one["metadata"] for one in world.objects(POD)]
    return [one for one in found if one["labels"].get("ray.io/cluster") == cluster and "deletionTimestamp" not in one]


def _left(world: World) -> int:
    return sum(len(world.objects(kind)) for kind in (RAYJOB, RAYCLUSTER, POD, JOB))
