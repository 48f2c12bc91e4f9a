"""How much may be under way at once: whoever wants to send more waits, first come first served."""

import asyncio
from collections import deque


class Window:
    """A bound on the number and the bytes of messages under way; a message larger than the bound goes alone."""

    def __init__(self, *, messages: int, size: int) -> None:
        self._messages_limit, self._size_limit = messages, size
        self._messages, self._size = 0, 0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    async def enter(self, size: int) -> None:
        """Wait for room, and take it."""
        if not self._waiting and self._has_room(size):
            self._take(size)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, size))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._admit()  # whoever waited behind a large one may fit
            else:
                self.leave(size)
            raise

    def leave(self, size: int) -> None:
        """Give the room back, to whoever is next."""
        self._messages -= 1
        self._size -= size
        self._admit()

    def _admit(self) -> None:
        while self._waiting:
            turn, size = self._waiting[0]
            if not turn.done():
                if not self._has_room(size):
                    return
                self._take(size)
                turn.set_result(None)
            self._waiting.popleft()

    def _has_room(self, size: int) -> bool:
        fits = self._size + size <= self._size_limit or self._messages == 0
        return fits and self._messages < self._messages_limit

    def _take(self, size: int) -> None:
        self._messages += 1
        self._size += size
