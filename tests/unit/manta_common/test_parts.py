"""Components of one process share its readiness, its pages and the word to stop, and count apart."""

from manta_common.parts import Parts
from manta_common.telemetry.definitions import gauge
from manta_common.telemetry.exposition import exposition
from manta_common.telemetry.health import Health
from manta_common.telemetry.http import Pages
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.tracing import Tracing

LEVEL = gauge("level", "Level.")


class Scene:
    """A process with two components."""

    def __init__(self) -> None:
        self.registries, self.health, self.pages = list[Registry](), Health(), Pages()
        self.one = Parts("one", Tracing(), registries=self.registries, health=self.health, pages=self.pages)
        self.two = self.one.beside("two")


async def test_a_process_is_ready_when_all_components_are() -> None:
    scene = Scene()
    assert scene.health.missing() == ["one: starting", "two: starting"]
    scene.one.ready()
    scene.two.need("nats", lambda: "not connected")
    assert scene.health.missing() == ["two: starting", "two: nats: not connected"]


async def test_all_components_are_told_to_stop_at_once() -> None:
    scene = Scene()
    for parts in (scene.one, scene.two):
        parts.ready()
    scene.one.stopping.set()
    assert scene.two.stopping.is_set()
    assert scene.health.missing() == ["one: stopping", "two: stopping"]


async def test_each_component_counts_and_shows_under_its_name() -> None:
    scene = Scene()
    scene.one.metrics.numbers(LEVEL).at().set(1)
    scene.two.metrics.numbers(LEVEL).at().set(2)
    text = exposition(scene.registries)
    assert 'level{component="one"} 1\n' in text
    assert 'level{component="two"} 2\n' in text
    scene.one.show("queue", lambda: 1)
    scene.two.show("queue", lambda: 2)
    scene.two.page("settings", dict)
    assert (scene.pages.body("state") or b"").split() == b'{ "one": { "queue": 1 }, "two": { "queue": 2 } }'.split()
    assert scene.pages.names() == ["settings", "state"]
