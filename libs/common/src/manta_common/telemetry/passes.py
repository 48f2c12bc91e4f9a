"""All that the passes of one worker tell: metrics, a span for each pass and action, and values on their log lines."""

from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from manta_common.errors import Retry
from manta_common.telemetry import names
from manta_common.telemetry.logs import set_log_values
from manta_common.telemetry.metrics import Registry
from manta_common.telemetry.tracing import Headers, Tracing
from manta_common.worker import PassEnded, Worker

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")
MOST_CAUSES = 8


class Passes(Generic[K]):
    """Given to a worker and its feed: `Worker(passes.traced(work), now, tell=passes.tell)`, then `watch` it."""

    def __init__(
        self, registry: Registry, tracing: Tracing, *, worker: str, partition: Callable[[K], int] | None = None
    ) -> None:
        self._registry, self._tracing, self._worker, self._partition = registry, tracing, worker, partition
        self._ended = registry.numbers(names.PASSES)
        self._ended.expect(worker=[worker])
        self._took = registry.distributions(names.PASS_SECONDS).at(worker)
        self._waited = registry.distributions(names.PASS_WAIT_SECONDS).at(worker)
        self._causes: dict[K, list[Headers]] = {}

    def watch(self, worker: Worker[K]) -> None:
        """Show the depth of the queue and the oldest wait."""
        self._registry.numbers(names.QUEUE_DEPTH).read(lambda: worker.depth, self._worker)
        self._registry.numbers(names.QUEUE_OLDEST_SECONDS).read(lambda: worker.oldest_wait_seconds, self._worker)

    def tell(self, ended: PassEnded[K]) -> None:
        """Count a pass."""
        self._ended.at(self._worker, ended.outcome).add()
        self._took.observe(ended.took_seconds)
        self._waited.observe(ended.waited_seconds)

    def caused(self, key: K, headers: Headers) -> None:
        """A message with these headers made the key dirty: its pass belongs to the message's trace."""
        if self._tracing.on and names.TRACE_HEADER in headers:
            causes = self._causes.setdefault(key, [])
            if len(causes) < MOST_CAUSES and headers not in causes:
                causes.append(headers)

    def forget(self, belongs: Callable[[K], bool]) -> None:
        """Somebody else works on these keys from now on."""
        for key in [key for key in self._causes if belongs(key)]:
            del self._causes[key]

    def traced(self, work: Callable[[K], Awaitable[None]]) -> Callable[[K], Awaitable[None]]:
        """The work of a pass, in a span, with its key and partition on every log line."""

        async def run(key: K) -> None:
            values = self._values(key)
            set_log_values(**values)  # until the end of the task: the worker gives each pass one of its own
            if not self._tracing.on:
                return await work(key)
            causes = self._causes.pop(key, [])
            try:
                with self._tracing.span(names.PASS_SPAN, names.attributes(**values), caused_by=causes, last=True):
                    return await work(key)
            except Retry:  # what it was asked for is still to be done
                self._causes[key] = [*causes, *self._causes.get(key, ())][:MOST_CAUSES]
                raise

        return run

    def _values(self, key: K) -> dict[str, str | int]:
        known: dict[str, str | int] = {"key": str(key), "worker": self._worker}
        return {**known, "partition": self._partition(key)} if self._partition else known


def traced_actions(
    tracing: Tracing, carry_out: Callable[[A], Coroutine[Any, Any, None]]
) -> Callable[[A], Coroutine[Any, Any, None]]:
    """The carrying out of actions, a span for each with its reason; the very function when there is no tracing."""
    if not tracing.on:
        return carry_out

    async def run(action: A) -> None:
        because = getattr(action, "because", None)
        attributes = names.attributes(because=because) if because else None
        with tracing.span(f"{names.ACTION_SPAN} {type(action).__name__}", attributes):
            await carry_out(action)

    return run
