"""Reads the logs of containers as `kubectl logs` asks for them."""

import asyncio
import os
import pathlib
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from datetime import UTC, datetime

from manta_embedded.api.machine import LogQuery
from manta_embedded.node.pods import PodRunner
from manta_embedded.node.records import Record
from manta_embedded.store import errors

CHUNK = 256 * 1024
POLL_SECONDS = 0.1


async def read_log(runner: PodRunner, query: LogQuery) -> AsyncGenerator[bytes, None]:
    """The lines of one life of a container; with `follow`, until that life ends."""
    record = runner.runners[query.container].record
    attempt = _attempt(runner, record, previous=query.previous)
    path = runner.files.log(query.container, attempt)
    left = query.limit_bytes
    source = _followed(path, record, attempt, query) if query.follow else _existing(path, query)
    async for text in source:
        piece = text if left is None else text[:left]
        if piece:
            yield piece
        if left is not None:
            left -= len(piece)
            if left <= 0:
                return


def shown(line: bytes, query: LogQuery) -> bytes | None:
    """A line of the file as it is shown; None for one that was not asked for."""
    moment, _, rest = line.partition(b" ")
    _, _, rest = rest.partition(b" ")
    mark, _, text = rest.partition(b" ")
    if query.since is not None and _time(moment) < query.since:
        return None
    end = b"" if mark == b"P" else b"\n"
    return (moment + b" " if query.timestamps else b"") + text.rstrip(b"\n") + end


def _attempt(runner: PodRunner, record: Record, *, previous: bool) -> int:
    """Which life is meant: the present one, or the last that has begun."""
    name, pod = record.name, runner.key.name
    began = sorted(int(path.stem) for path in (runner.files.folder / "logs" / name).glob("*.log"))
    waits = "waiting" in record.state
    if previous:
        ended = began if waits else began[:-1]
        if not ended:
            raise errors.bad_request(f'previous terminated container "{name}" in pod "{pod}" not found')
        return ended[-1]
    if not began:
        reason = record.state.get("waiting", {}).get("reason", "ContainerCreating")
        raise errors.bad_request(f'container "{name}" in pod "{pod}" is waiting to start: {reason}')
    return began[-1]


async def _existing(path: pathlib.Path, query: LogQuery) -> AsyncGenerator[bytes, None]:
    with path.open("rb") as file:
        lines = _last(file, query.tail_lines)
        found = [text for line in lines if (text := shown(line, query)) is not None]
    whole = b"".join(found)
    for start in range(0, len(whole), CHUNK):
        yield whole[start : start + CHUNK]


async def _followed(path: pathlib.Path, record: Record, attempt: int, query: LogQuery) -> AsyncGenerator[bytes, None]:
    """What there is and what comes; a file that is full is gone on with in the next."""
    file = path.open("rb")
    try:
        first = [text for line in _last(file, query.tail_lines) if (text := shown(line, query)) is not None]
        yield b"".join(first)
        rest = b""
        while True:
            over = record.restarts != attempt or not record.running
            chunk = file.read(CHUNK)
            *lines, rest = (rest + chunk).split(b"\n")
            if text := b"".join(found for line in lines if (found := shown(line, query)) is not None):
                yield text
            if chunk:
                continue
            if _has_moved(path, file.fileno()):
                file.close()
                file = path.open("rb")
            elif over:
                return
            else:
                await asyncio.sleep(POLL_SECONDS)
    finally:
        file.close()


def _last(lines: Iterable[bytes], count: int | None) -> Iterable[bytes]:
    """The last lines; parts of a long line count as one."""
    if count is None:
        return list(lines)
    kept: deque[bytes] = deque()
    whole = 0
    for line in lines:
        kept.append(line)
        whole += _is_whole(line)
        while whole > count:
            whole -= _is_whole(kept.popleft())
    return kept if count else ()


def _is_whole(line: bytes) -> bool:
    return line.split(b" ", 3)[2:3] == [b"F"]


def _time(text: bytes) -> datetime:
    return datetime.strptime(text[:26].decode(), "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=UTC)


def _has_moved(path: pathlib.Path, descriptor: int) -> bool:
    """Whether there is another file at the path by now."""
    try:
        return path.stat().st_ino != os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False
