"""A pass decides on a whole view only, checks it before the first act, and shows each act in its trace."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from manta_common.api.meta import ObjectMeta
from manta_common.errors import NotCaughtUp
from manta_common.execute import Phase
from manta_common.feed import Source, View
from manta_common.fence import Fence
from manta_common.keys import Key
from manta_common.kinds import CONFIGMAP, Kind
from manta_common.kube.protocol import EVERYTHING, Listing, Scope
from manta_common.settle import Children, Settler
from manta_common.store import Held
from tests.unit.manta_common.telemetry.spans import Kept


class Paint(msgspec.Struct, frozen=True):
    """An action."""

    because: str = "it is grey"


PARTS = Source("configmap", Paint)


class Scene:
    """A settler whose decision and view are set by hand; it has no children that the API server could list."""

    def __init__(self, *phases: Phase[Paint], view: View | None = None) -> None:
        self.phases, self.acted = phases, list[Paint]()
        self.fence: Fence[str] = Fence(lambda: 0.0)
        self.settler: Settler[str, Paint] = Settler(
            kube=None,  # type: ignore[arg-type]
            fence=self.fence,
            view_of=lambda _: view,
            decide=self._decide,
            carry_out=self._carry_out,
            children=(),
        )

    def _decide(self, view: View, key: str) -> Sequence[Phase[Paint]]:
        return self.phases

    async def _carry_out(self, key: str, action: Paint) -> None:
        self.acted.append(action)


async def test_nothing_is_decided_without_a_view() -> None:
    scene = Scene([Paint()])
    with pytest.raises(NotCaughtUp, match="not whole"):
        await scene.settler.settle("a")
    assert scene.acted == []


async def test_a_view_is_verified_before_the_first_act_and_only_then() -> None:
    idle, busy = Scene([], view=View(())), Scene([Paint()], view=View(()))
    for scene in (idle, busy):
        await scene.settler.settle("a")
    assert not idle.fence.is_verified("a")
    assert busy.fence.is_verified("a")
    assert busy.acted == [Paint()]


async def test_each_act_is_a_span_below_the_pass() -> None:
    kept, scene = Kept(), Scene([Paint(), Paint()], [Paint()], view=View(()))
    with kept.tracing.span("pass"):
        await scene.settler.settle("a")
    assert [span.name for span in kept.all] == ["action Paint"] * 3 + ["pass"]
    assert kept.parent("action Paint") == "pass"
    assert kept.spans["action Paint"].attributes == {"manta.because": "it is grey"}


class Lists:
    """A part of `Kube`: one list, during which something happens."""

    def __init__(self, meanwhile: Callable[[], None], *listed: ObjectMeta) -> None:
        self._meanwhile, self._listed = meanwhile, listed

    async def list_versions(self, kind: Kind, scope: Scope) -> Listing[ObjectMeta]:
        self._meanwhile()
        return Listing(self._listed, "9")


class Compared:
    """A settler that acts once it has compared its view, in which a part may appear in the meantime."""

    def __init__(self, meanwhile: Callable[["Compared"], None]) -> None:
        self.view, self.fence, self.acts = View([PARTS]), Fence[str](lambda: 0.0), 0
        part = ObjectMeta(namespace="n", name="a-0", uid="u", resource_version="7")
        self.settler: Settler[str, Paint] = Settler(
            kube=Lists(lambda: meanwhile(self), part),  # type: ignore[arg-type]
            fence=self.fence,
            view_of=lambda _: self.view,
            decide=lambda view, _: [] if view.of(PARTS).held(Key("n", "a-0")) else [[Paint()]],
            carry_out=self._carry_out,
            children=(Children(CONFIGMAP, PARTS, lambda _: EVERYTHING, _all),),
        )

    def show(self) -> None:
        self.view.writer("configmap").put(Held(Key("n", "a-0"), "u", 7, Paint()))

    def replace(self) -> None:
        self.view = View([PARTS])

    async def _carry_out(self, key: str, action: Paint) -> None:
        self.acts += 1


@pytest.mark.parametrize(
    ("meanwhile", "told"),
    [
        pytest.param(lambda _: None, "not seen yet", id="the view lacks what the API server has"),
        pytest.param(Compared.show, "moved on", id="the view has got it while the API server was asked"),
        pytest.param(Compared.replace, "replaced", id="another view has taken its place"),
    ],
)
async def test_what_was_decided_without_knowing_of_a_child_is_not_done(
    meanwhile: Callable[[Compared], None], told: str
) -> None:
    compared = Compared(meanwhile)
    with pytest.raises(NotCaughtUp, match=told):
        await compared.settler.settle("a")
    assert compared.acts == 0


async def test_a_view_in_doubt_is_compared_again() -> None:
    compared = Compared(lambda _: None)
    compared.fence.verified("a")
    compared.fence.doubt(lambda key: key == "a")
    with pytest.raises(NotCaughtUp):
        await compared.settler.settle("a")


def _all(view: View, key: str) -> list[Key]:
    return [held.key for held in view.of(PARTS)]
