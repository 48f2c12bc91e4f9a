"""The fence lets a key pass only when its view shows what was written for it."""

import pytest

from manta_common.errors import NotCaughtUp
from manta_common.fence import PATIENCE_SECONDS, Fence, Seen
from manta_common.keys import Key
from manta_common.kinds import POD, SERVICE

OWNER = Key("n", "cluster")
CHILD = Key("n", "pod")


def seen(version: int = 5, uid: str = "u", kind: str = "pod", *, gone: bool = False, terminating: bool = False) -> Seen:
    return Seen(kind=kind, key=CHILD, uid=uid, version=version, gone=gone, terminating=terminating)


class Recorder:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.waits, self.causes = list[float](), list[str]()

    def waited(self, seconds: float) -> None:
        self.waits.append(seconds)

    def verified(self, cause: str) -> None:
        self.causes.append(cause)


class Scene:
    """A fence with a clock that is set by hand."""

    def __init__(self) -> None:
        self.time, self.recorder = 0.0, Recorder()
        self.shown: Seen | None = None
        self.fence: Fence[Key] = Fence(lambda: self.time, self.recorder, lambda *_: self.shown)

    def is_open(self) -> bool:
        try:
            self.fence.check(OWNER)
        except NotCaughtUp:
            return False
        return True


def test_a_key_without_writes_passes() -> None:
    assert Scene().is_open()


@pytest.mark.parametrize(
    ("shown", "passes"),
    [
        pytest.param(seen(4), False, id="an older version"),
        pytest.param(seen(5), True, id="the version"),
        pytest.param(seen(9), True, id="a newer version"),
        pytest.param(seen(9, uid="other"), True, id="a newer object of the same name"),
        pytest.param(seen(9, gone=True), True, id="its end"),
        pytest.param(seen(9, kind="service"), False, id="another kind of the same name"),
    ],
)
def test_a_write_passes_when_it_is_seen(shown: Seen, passes: bool) -> None:
    scene = Scene()
    scene.fence.wrote(OWNER, POD, CHILD, uid="u", version="5")
    assert not scene.is_open()
    assert scene.fence.saw(shown) == ({OWNER} if passes else set())
    assert scene.is_open() == passes


@pytest.mark.parametrize(
    ("shown", "passes"),
    [
        pytest.param(seen(9), False, id="it is still there"),
        pytest.param(seen(9, terminating=True), True, id="it is terminating"),
        pytest.param(seen(9, gone=True), True, id="it is gone"),
        pytest.param(seen(9, uid="other"), True, id="another has taken its name"),
    ],
)
def test_a_deletion_passes_when_it_is_seen(shown: Seen, passes: bool) -> None:
    scene = Scene()
    scene.fence.deleted(OWNER, POD, CHILD, uid="u")
    scene.fence.saw(shown)
    assert scene.is_open() == passes


def test_a_key_is_freed_with_its_last_write() -> None:
    scene = Scene()
    scene.fence.wrote(OWNER, POD, CHILD, uid="u", version="5")
    scene.fence.wrote(OWNER, SERVICE, CHILD, uid="s", version="6")
    assert scene.fence.saw(seen(5)) == set()
    assert not scene.is_open()
    assert scene.fence.saw(seen(6, uid="s", kind="service")) == {OWNER}
    assert scene.is_open()
    assert scene.fence.held == 0


def test_a_second_write_to_the_same_object_is_the_one_to_wait_for() -> None:
    scene = Scene()
    scene.fence.wrote(OWNER, POD, CHILD, uid="u", version="5")
    scene.fence.wrote(OWNER, POD, CHILD, uid="u", version="8")
    scene.fence.saw(seen(5))
    assert not scene.is_open()
    scene.fence.saw(seen(8))
    assert scene.is_open()


def test_after_ten_seconds_the_api_server_should_be_asked_and_its_word_counts() -> None:
    scene = Scene()
    scene.fence.wrote(OWNER, POD, CHILD, uid="u", version="5")
    scene.time = 9.9
    assert not scene.fence.is_overdue(OWNER)
    scene.time = 10
    assert scene.fence.is_overdue(OWNER)
    scene.fence.verified(OWNER)
    assert scene.is_open()
    assert scene.fence.is_verified(OWNER)


def test_a_key_that_was_handed_over_is_forgotten() -> None:
    scene = Scene()
    scene.fence.wrote(OWNER, POD, CHILD, uid="u", version="5")
    scene.fence.verified(Key("n", "other"))
    scene.fence.forget(lambda key: True)
    assert scene.is_open()
    assert not scene.fence.is_verified(Key("n", "other"))


def test_the_message_names_what_is_awaited() -> None:
    scene = Scene()
    scene.fence.wrote(OWNER, POD, CHILD, uid="u", version="5")
    scene.time = 2
    with pytest.raises(NotCaughtUp, match=r"pod n/pod is not seen yet as it was written 2.0 s ago"):
        scene.fence.check(OWNER)


def test_it_is_told_how_long_writes_take_to_come_back() -> None:
    scene = Scene()
    scene.fence.wrote(OWNER, POD, CHILD, uid="u", version="5")
    scene.time = 2
    scene.fence.saw(seen(4))
    assert scene.recorder.waits == []
    scene.fence.saw(seen(5))
    assert scene.recorder.waits == [2]


def test_it_is_told_why_a_view_was_verified() -> None:
    scene = Scene()
    scene.fence.verified(OWNER)
    scene.fence.wrote(OWNER, POD, CHILD, uid="u", version="5")
    scene.time = PATIENCE_SECONDS
    scene.fence.verified(OWNER)
    assert scene.recorder.causes == ["taken_over", "overdue"]
    assert scene.recorder.waits == [], "it never came back"


@pytest.mark.parametrize(
    ("shown", "passes"),
    [
        pytest.param(None, False, id="nothing can be said"),
        pytest.param(seen(4), False, id="an older version"),
        pytest.param(seen(-1, uid="", gone=True), False, id="nothing yet"),
        pytest.param(seen(5), True, id="the version"),
    ],
)
def test_a_write_whose_news_came_before_its_answer_is_not_awaited(shown: Seen | None, *, passes: bool) -> None:
    scene = Scene()
    scene.shown = shown
    scene.fence.wrote(OWNER, POD, CHILD, uid="u", version="5")
    assert scene.is_open() == passes


@pytest.mark.parametrize(
    ("shown", "passes"),
    [
        pytest.param(None, False, id="nothing can be said"),
        pytest.param(seen(5), False, id="it as it was"),
        pytest.param(seen(6, terminating=True), True, id="that it ends"),
        pytest.param(seen(7, uid="other"), True, id="its successor"),
        pytest.param(seen(-1, uid="", gone=True), True, id="nothing any more"),
    ],
)
def test_a_deletion_whose_news_came_before_its_answer_is_not_awaited(shown: Seen | None, *, passes: bool) -> None:
    scene = Scene()
    scene.shown = shown
    scene.fence.deleted(OWNER, POD, CHILD, uid="u")
    assert scene.is_open() == passes


def test_a_key_is_held_until_its_oldest_write_is_overdue_or_all_are_seen() -> None:
    scene = Scene()
    assert scene.fence.held_seconds(OWNER) is None
    scene.fence.wrote(OWNER, POD, CHILD, uid="u", version="5")
    scene.time = 4
    scene.fence.wrote(OWNER, SERVICE, CHILD, uid="s", version="6")
    assert scene.fence.held_seconds(OWNER) == PATIENCE_SECONDS - 4
    scene.time = PATIENCE_SECONDS
    assert scene.fence.held_seconds(OWNER) is None
    assert scene.fence.is_overdue(OWNER)
    scene.fence.saw(seen(5))
    assert scene.fence.held_seconds(OWNER) == 4
    scene.fence.saw(seen(6, kind="service"))
    assert scene.fence.held_seconds(OWNER) is None
    assert not scene.fence.is_overdue(OWNER)
