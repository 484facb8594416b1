"""Pool: gathers texts into batches, and lets the waiting person go first.

hears   -
says    -
asks    -
keeps   the texts in hand and who waits for them (lost on a crash; their askers are told, and what
        was not embedded is asked for again)
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from cortex_actors.embedding.batch import Line
from cortex_actors.embedding.provider import Row, State, refusal
from cortex_actors.embedding.texts import require_texts
from cortex_actors.embedding.waiting import within
from cortex_actors.errors import BadInput, CortexError
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.overflow import Overflow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Provider, Vectors

#: States that end without anybody's help: the owner of a model that is down restarts it.
ON_ITS_WAY = (State.LOADING, State.DOWN)

#: Seconds between two looks at a model that is down.
LOOK = 0.25

#: What became of a text: a vector, or why there is none.
Outcome: TypeAlias = Row | CortexError


@dataclass(frozen=True, slots=True)
class PoolInfo:
    """What the pool has in hand and has done."""

    waiting: int
    in_flight: int
    batches: int
    embedded: int
    failed: int


class Pool(AsyncioActor):
    """Embeds what it is asked for: `items` texts at once, or fewer after `seconds`.

    One batch is in flight at a time; an urgent text flushes at once and goes with the next one.
    Equal texts in hand are embedded once. A text the provider refuses fails alone; a provider that
    is down fails the callers of that batch and nobody else, and the pool lives on. What a caller
    asked for is embedded even if it has stopped waiting: it will ask again, and a cache in between
    then has the answer. A crash leaves the loaded model where it is; only a stop lets go of it.
    """

    #: Requests not yet sorted into a batch, which takes microseconds; who asks faster waits.
    mailbox_limit = 1_000
    overflow = Overflow.BACK_PRESSURE

    #: An answer waits for all that wait before it: up to `embedding.queue_limit` texts.
    message_limit: ClassVar[float] = 600.0

    def __init__(
        self, provider: Provider, clock: Clock, *, items: int, seconds: float, limit: int
    ) -> None:
        super().__init__()
        self._provider = provider
        self._clock = clock
        self._line = Line(items=items, seconds=seconds, limit=limit)
        # Every text in hand, waiting or in flight.
        self._outcomes: dict[str, asyncio.Future[Outcome]] = {}
        self._bell = asyncio.Event()
        self._batches = self._embedded = self._failed = 0

    async def on_start(self) -> None:  # type: ignore[override]  # may be async here
        """Let the provider begin to load, and wait for texts; runs in the actor's task."""
        await self._provider.start()
        self.spawn(self._work(), name="pool-lane")

    async def on_stop(self) -> None:  # type: ignore[override]  # as above
        """Let go of the model; runs in the actor's task, not after a crash."""
        await self._provider.close()

    def embed(
        self,
        texts: Sequence[str],
        *,
        urgent: bool = False,
        patience: float = 0.0,
    ) -> asyncio.Task[Vectors]:
        """Return one unit row a text; the mailbox goes on while they are made.

        `urgent` is for a caller that a person waits for; `patience` is how many seconds to wait
        while the model is loading. Raises `EmbedderLoading` after that, `EmbedderDown`,
        `ModelMissing`, `BadInput` naming the text, and `MailboxFull` when too many texts wait.
        """
        return self.spawn(
            self._answer(tuple(texts), urgent=urgent, patience=patience), name="embed"
        )

    def describe(self) -> PoolInfo:
        """Return what it has in hand and has done since it started."""
        return PoolInfo(
            waiting=len(self._line),
            in_flight=len(self._outcomes) - len(self._line),
            batches=self._batches,
            embedded=self._embedded,
            failed=self._failed,
        )

    async def _answer(self, texts: tuple[str, ...], *, urgent: bool, patience: float) -> Vectors:
        require_texts(texts)
        if not texts:
            return np.empty((0, self._provider.dimension), dtype=np.float32)
        await self._ready(patience)
        outcomes = self._want(texts, urgent=urgent)
        # `wait`, because `gather` would cancel what other callers share if this one were.
        await asyncio.wait(outcomes)
        return np.stack([_row(i, texts, outcome.result()) for i, outcome in enumerate(outcomes)])

    async def _ready(self, patience: float) -> None:
        """Wait for a model that is loading or being restarted; raise why there is none."""
        if self._provider.state in ON_ITS_WAY and patience > 0:
            await within(self._clock, patience, self._up())
        error = refusal(self._provider)
        if error is not None:
            raise error

    async def _up(self) -> None:
        """Return once the model is there, or will not come by itself."""
        while self._provider.state in ON_ITS_WAY:
            await self._provider.settled()
            if self._provider.state is State.DOWN:
                await self._clock.sleep(LOOK)

    def _want(self, texts: tuple[str, ...], *, urgent: bool) -> list[asyncio.Future[Outcome]]:
        """Put into the line what is not in flight, and return the outcomes to come, in order."""
        waits = [text for text in texts if text not in self._outcomes or text in self._line]
        self._line.add(waits, urgent=urgent, at=self._clock.monotonic())
        self._bell.set()
        loop = asyncio.get_running_loop()
        for text in texts:
            if text not in self._outcomes:
                self._outcomes[text] = loop.create_future()
        return [self._outcomes[text] for text in texts]

    async def _work(self) -> None:
        """Embed one batch after the other, for ever."""
        while True:
            batch = await self._next()
            self._batches += 1
            for text, outcome in zip(batch, await self._tried(batch), strict=True):
                self._outcomes.pop(text).set_result(outcome)

    async def _next(self) -> list[str]:
        """Return the next batch when it is due."""
        while not (batch := self._line.take(self._clock.monotonic())):
            self._bell.clear()
            due = self._line.due(self._clock.monotonic())
            await within(self._clock, due, self._bell.wait())
        return batch

    async def _tried(self, batch: list[str]) -> list[Outcome]:
        """Return what became of each text; halve the batch until a refused text stands alone."""
        try:
            rows = await self._provider.embed(batch)
        except BadInput as error:
            if len(batch) > 1:
                half = len(batch) // 2
                return [*await self._tried(batch[:half]), *await self._tried(batch[half:])]
            self._failed += 1
            return [error]
        except CortexError as error:
            self._failed += len(batch)
            return [error] * len(batch)
        self._embedded += len(batch)
        return list(rows)


def _row(index: int, texts: tuple[str, ...], outcome: Outcome) -> Row:
    """Return a text's vector, or raise why it has none, in an exception of this caller's own."""
    if isinstance(outcome, BadInput):
        raise BadInput(
            f"text {index + 1} of {len(texts)} ({len(texts[index])} characters) cannot be "
            f"embedded; leave it out or change it. The embedder said: {outcome}"
        ) from outcome
    if isinstance(outcome, CortexError):
        raise type(outcome)(*outcome.args) from outcome
    return outcome
