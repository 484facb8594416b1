"""Pool: gathers texts into batches, and lets the waiting person go first.

hears   -
says    -
asks    -
keeps   the texts in hand and who waits for them (lost on a crash; their askers are told, and what
        was not embedded is asked for again), the refused texts of late and counts
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cortex_actors.embedding.batch import Batch, Line
from cortex_actors.embedding.poison import Poison
from cortex_actors.embedding.provider import State, refusal, require_model
from cortex_actors.embedding.tally import Tally
from cortex_actors.embedding.texts import require_texts
from cortex_actors.errors import BadInput, CortexError
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import within

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.outcome import Outcome
    from cortex_actors.embedding.provider import Provider

#: States that end without anybody's help: the owner of a model that is down restarts it.
ON_ITS_WAY = (State.LOADING, State.DOWN)

#: Seconds between two looks at a model that is down.
LOOK = 0.25


@dataclass(frozen=True, slots=True)
class PoolInfo:
    """What the pool has in hand and has done since it started."""

    #: Texts that wait, and how many of them are urgent.
    waiting: int
    waiting_urgent: int
    #: Texts and batches that are with the model now.
    in_flight: int
    batches_in_flight: int
    #: Batches so far; texts with a vector, and without one.
    batches: int
    embedded: int
    failed: int
    #: Texts that joined an equal one in hand, and those refused without another try.
    joined: int
    spared: int
    #: Refused texts that are remembered.
    poison: int
    #: Batches by cause, and by size: `20` counts those of 11 to 20 texts.
    flushes: Mapping[str, int]
    sizes: Mapping[str, int]
    #: How long the last texts waited to go, milliseconds: p50 and p99 of each lane.
    waited_urgent_ms: Mapping[str, float]
    waited_patient_ms: Mapping[str, float]
    #: Seconds in which the model had a batch, and what it did in each of them; tokens are 0 where
    #: the model does not count them.
    busy_s: float
    texts_per_s: float
    tokens_per_s: float


class Pool(AsyncioActor):
    """Embeds what it is asked for: `items` texts at once, or fewer after `seconds`.

    Two lanes, one batch of each in flight: patient texts, of which as many go at once as the
    provider likes best when many wait, and urgent ones, which flush at once and never wait for a
    place behind a patient batch. Equal texts in hand are embedded once. A text the provider refuses
    fails alone, and for a while without being tried again; a provider that is down fails the
    callers of that batch and nobody else, and the pool lives on. What a caller asked for is
    embedded even if it has stopped waiting: it will ask again, and a cache in between then has the
    answer. A crash leaves the loaded model where it is; only a stop lets go of it.
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
        self._line = Line(items=items, seconds=seconds, limit=limit, bulk=provider.bulk)
        # Every text in hand, waiting or in flight.
        self._outcomes: dict[str, asyncio.Future[Outcome]] = {}
        self._bells = {urgent: asyncio.Event() for urgent in (True, False)}
        self._poison = Poison()
        self._tally = Tally()
        self._tokens_before = provider.counters.get("tokens", 0)

    async def on_start(self) -> None:  # type: ignore[override]  # may be async here
        """Let the provider begin to load, and wait for texts; runs in the actor's task."""
        await self._provider.start()
        self.spawn(self._work(urgent=True), name="pool-urgent")
        self.spawn(self._work(urgent=False), name="pool-patient")

    async def on_stop(self) -> None:  # type: ignore[override]  # as above
        """Let go of the model; runs in the actor's task, not after a crash."""
        await self._provider.close()

    def embed(
        self,
        texts: Sequence[str],
        *,
        urgent: bool = False,
        patience: float = 0.0,
        model: str | None = None,
    ) -> asyncio.Task[list[Outcome]]:
        """Return a unit row or an error for each text; the mailbox goes on while they are made.

        `urgent` is for a caller that a person waits for; `patience` is how many seconds to wait
        while the model is loading. What concerns the whole request is raised: `EmbedderLoading`
        after that, `EmbedderDown`, `ModelMissing`, `ModelChanged` for a `model` that is not the
        provider's, `BadInput` for what no model could read, and `MailboxFull` when too many texts
        wait.
        """
        return self.spawn(
            self._answer(tuple(texts), urgent=urgent, patience=patience, model=model), name="embed"
        )

    def describe(self) -> PoolInfo:
        """Return what it has in hand and has done since it started."""
        tally, at = self._tally, self._clock.monotonic()
        busy = tally.busy(at)
        tokens = self._provider.counters.get("tokens", 0) - self._tokens_before
        return PoolInfo(
            waiting=len(self._line),
            waiting_urgent=self._line.urgent,
            in_flight=len(self._outcomes) - len(self._line),
            batches_in_flight=tally.in_flight,
            batches=tally.batches,
            embedded=tally.embedded,
            failed=tally.failed,
            joined=tally.joined,
            spared=tally.spared,
            poison=len(self._poison),
            flushes=tally.flushes,
            sizes=tally.sizes,
            waited_urgent_ms=tally.waited_ms(urgent=True),
            waited_patient_ms=tally.waited_ms(urgent=False),
            busy_s=round(busy, 3),
            texts_per_s=round(tally.embedded / busy, 1) if busy else 0.0,
            tokens_per_s=round(tokens / busy, 1) if busy else 0.0,
        )

    async def _answer(
        self, texts: tuple[str, ...], *, urgent: bool, patience: float, model: str | None
    ) -> list[Outcome]:
        require_model(self._provider, model)
        require_texts(texts)
        if not texts:
            return []
        await self._ready(patience)
        at = self._clock.monotonic()
        refused = {text: why for text in texts if (why := self._poison.refused(text, at))}
        self._tally.spared += len(refused)
        coming = self._want([text for text in texts if text not in refused], urgent=urgent, at=at)
        if coming:
            # `wait`, because `gather` would cancel what other callers share if this one were.
            await asyncio.wait(coming.values())
        return [refused[text] if text in refused else coming[text].result() for text in texts]

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

    def _want(
        self, texts: Sequence[str], *, urgent: bool, at: float
    ) -> Mapping[str, asyncio.Future[Outcome]]:
        """Put into the line what is not in flight, and return each text's outcome to come."""
        waits = [text for text in texts if text not in self._outcomes or text in self._line]
        self._line.add(waits, urgent=urgent, at=at)
        self._bells[urgent].set()
        loop = asyncio.get_running_loop()
        for text in dict.fromkeys(texts):
            if text in self._outcomes:
                self._tally.joined += 1
            else:
                self._outcomes[text] = loop.create_future()
        return {text: self._outcomes[text] for text in texts}

    async def _work(self, *, urgent: bool) -> None:
        """Embed one batch of a lane after the other, for ever."""
        while True:
            batch = await self._next(urgent=urgent)
            self._tally.begin(batch, self._clock.monotonic())
            try:
                await self._try(batch.texts, urgent=urgent)
            finally:
                self._tally.end(self._clock.monotonic())

    async def _next(self, *, urgent: bool) -> Batch:
        """Return a lane's next batch when it is due."""
        bell = self._bells[urgent]
        while not (batch := self._line.take(self._clock.monotonic(), urgent=urgent)):
            bell.clear()
            due = self._line.due(self._clock.monotonic(), urgent=urgent)
            await within(self._clock, due, bell.wait())
        return batch

    async def _try(self, texts: Sequence[str], *, urgent: bool) -> None:
        """Settle each text; halve the batch until a refused text stands alone."""
        try:
            rows = await self._provider.embed(texts, urgent=urgent)
        except BadInput as error:
            if len(texts) > 1:
                half = len(texts) // 2
                await self._try(texts[:half], urgent=urgent)
                await self._try(texts[half:], urgent=urgent)
                return
            self._poison.remember(texts[0], error, self._clock.monotonic())
            self._settle(texts, [error])
        except CortexError as error:
            self._settle(texts, [error] * len(texts))
        else:
            self._settle(texts, rows)

    def _settle(self, texts: Sequence[str], outcomes: Iterable[Outcome]) -> None:
        """Tell everybody who waits for these texts what became of them."""
        for text, outcome in zip(texts, outcomes, strict=True):
            if isinstance(outcome, CortexError):
                self._tally.failed += 1
            else:
                self._tally.embedded += 1
                self._poison.forgive(text)
            self._outcomes.pop(text).set_result(outcome)
