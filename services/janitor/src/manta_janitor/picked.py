"""A kind of the feed of which only some objects matter: the others cost nothing, as if they were not there."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from manta_common.bus.channel import Channel, Spot, State
from manta_common.bus.protocol import Message
from manta_common.feed import Source
from manta_common.store import Index

T = TypeVar("T")


class Picked(Source[T]):
    """A source that keeps the objects that are `wanted`; one that is not wanted any more is gone."""

    def __init__(
        self,
        word: str,
        type_: type[T],
        wanted: Callable[[T], bool],
        indices: Mapping[str, Index[T]] | None = None,
        *,
        family: str = "",
    ) -> None:
        super().__init__(word, type_, indices, family=family)
        self.channel: Channel[T] = _Picking(word, type_, wanted)


class _Picking(Channel[T]):
    """Reads what is not wanted as the word that it is gone, at the same version: the fence waits for that."""

    def __init__(self, word: str, type_: type[T], wanted: Callable[[T], bool]) -> None:
        super().__init__(word, type_)
        self._wanted = wanted

    def read(self, message: Message) -> tuple[Spot, State[T]]:
        spot, state = super().read(message)
        if state.object is None or self._wanted(state.object):
            return spot, state
        return spot, State(key=state.key, uid=state.uid, version=state.version)
