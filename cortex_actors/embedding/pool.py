"""Pool: gathers texts into batches, and lets the waiting person go first.

hears   -
says    -
asks    -
keeps   the texts that wait or are embedded, and their callers (lost on a crash: the callers get an
        error, and what was not embedded is asked for again); counts
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from cortex_actors.embedding.provider import (
    ProviderState,
    explain_refusal,
    require_model,
    require_texts,
)
from cortex_actors.errors import BadInput, CortexError, MailboxFull
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import wait_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Outcome, Provider


class EmbeddingQueue:
    """Texts that wait for the embedder, each of them once.

    Texts that no person waits for go in their order when `items` are together or the oldest has
    waited `seconds`: up to `bulk` of them go at once (never fewer than `items`). Urgent texts are
    another lane: they are due at once and go alone with their like, because a batch of twenty costs
    a waiting person twenty times the time of one. Times are monotonic seconds.
    """

    def __init__(self, *, items: int, seconds: float, limit: int, bulk: int = 0) -> None:
        self._items = items
        self._seconds = seconds
        self._limit = limit
        self._bulk = max(items, bulk)
        # Text -> when it came. OrderedDicts, because their first one is found and taken at once.
        self._urgent: OrderedDict[str, float] = OrderedDict()
        self._patient: OrderedDict[str, float] = OrderedDict()

    def add(self, texts: Iterable[str], *, urgent: bool, at: float) -> None:
        """Put the texts of one request at the end of the line, all of them or none.

        A text that waits already keeps its place, or moves up when it has become urgent. Raises
        `MailboxFull` when they do not fit; the urgent have room of their own, so that no flood of
        files keeps a person from asking.
        """
        lane = self._urgent if urgent else self._patient
        new = [t for t in dict.fromkeys(texts) if t not in self._urgent and t not in lane]
        if len(lane) + len(new) > self._limit:
            raise MailboxFull(
                f"{len(lane)} texts wait for the embedder and {len(new)} more do not fit into "
                f"embedding.queue_limit = {self._limit}; wait until some are done, or send fewer"
            )
        for text in new if urgent else ():
            # What has become urgent leaves the patient lane.
            self._patient.pop(text, None)
        lane.update(dict.fromkeys(new, at))

    def take(self, at: float, *, urgent: bool) -> list[str]:
        """Remove and return the texts that a lane is to embed now; none when nothing is due."""
        if self.find_due(at, urgent=urgent) != 0.0:
            return []
        lane = self._urgent if urgent else self._patient
        texts = list(islice(lane, self._items if urgent else self._bulk))
        for text in texts:
            del lane[text]
        return texts

    def find_due(self, at: float, *, urgent: bool) -> float | None:
        """Return the seconds until a batch must go: 0.0 is now, None when no text waits."""
        if urgent:
            return 0.0 if self._urgent else None
        if not self._patient:
            return None
        if len(self._patient) >= self._items:
            return 0.0
        oldest = next(iter(self._patient.values()))
        return max(0.0, oldest + self._seconds - at)

    def __contains__(self, text: object) -> bool:
        return text in self._urgent or text in self._patient

    def __len__(self) -> int:
        return len(self._urgent) + len(self._patient)


#: States that end without anybody's help: the owner of a model that is down restarts it.
ON_ITS_WAY = (ProviderState.LOADING, ProviderState.DOWN)

#: Seconds between two looks at a model that is down.
LOOK = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolInfo:
    """What the pool has to do, and what it has done since it started."""

    #: Texts that wait, and texts that are with the model now.
    waiting: int
    in_flight: int
    #: Texts with a vector, and without one.
    embedded: int = 0
    failed: int = 0
    #: Texts that joined an equal one.
    joined: int = 0


class Pool(AsyncioActor):
    """Embeds what it is asked for: `items` texts at once, or fewer after `seconds`.

    Two lanes, one batch of each in flight: patient texts, of which as many go at once as the
    provider likes best when many wait, and urgent ones, which flush at once and never wait for a
    place behind a patient batch. Equal texts that wait or run are embedded once. A text that the
    provider refuses fails alone; a provider that is down fails the callers of that batch only, and
    the pool lives on. What a caller asked for is embedded even if it has stopped waiting: it will
    ask again, and a cache in between then has the answer. A crash leaves the model loaded; only a
    stop closes it.
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
        self._line = EmbeddingQueue(items=items, seconds=seconds, limit=limit, bulk=provider.bulk)
        # Every text that waits or is embedded now.
        self._outcomes: dict[str, asyncio.Future[Outcome]] = {}
        self._bells = {urgent: asyncio.Event() for urgent in (True, False)}
        #: By the names of `PoolInfo`.
        self._counts = Counter[str]()

    async def on_start(self) -> None:  # type: ignore[override]  # may be async here
        """Let the provider begin to load, and wait for texts; runs in the actor's task."""
        await self._provider.start()
        self.spawn(self._work(urgent=True), name="pool-urgent")
        self.spawn(self._work(urgent=False), name="pool-patient")

    async def on_stop(self) -> None:  # type: ignore[override]  # as above
        """Close the model; runs in the actor's task, not after a crash."""
        await self._provider.close()

    @deferred
    async def embed(
        self,
        texts: Sequence[str],
        *,
        urgent: bool = False,
        patience: float = 0.0,
        model: str | None = None,
    ) -> list[Outcome]:
        """Return a unit row or an error for each text; the mailbox goes on while they are made.

        `urgent` is for a caller that a person waits for; `patience` is how many seconds to wait
        while the model is loading. What concerns the whole request is raised: `EmbedderLoading`
        after that, `EmbedderDown`, `ModelMissing`, `ModelChanged` for a `model` that is not the
        provider's, `BadInput` for what no model could read, and `MailboxFull` when too many texts
        wait.
        """
        texts = tuple(texts)
        require_model(self._provider, model)
        require_texts(texts)
        if not texts:
            return []
        await self._ready(patience)
        coming = self._want(texts, urgent=urgent)
        # `wait`, because `gather` would cancel what other callers share if this one were.
        await asyncio.wait(coming.values())
        return [coming[text].result() for text in texts]

    def describe(self) -> PoolInfo:
        """Return what it has to do and has done since it started."""
        waiting = len(self._line)
        in_flight = len(self._outcomes) - waiting
        return PoolInfo(waiting=waiting, in_flight=in_flight, **self._counts)

    async def _ready(self, patience: float) -> None:
        """Wait for a model that is loading or being restarted; raise why there is none."""
        if self._provider.state in ON_ITS_WAY and patience > 0:
            await wait_within(self._clock, patience, self._up())
        if error := explain_refusal(self._provider):
            raise error

    async def _up(self) -> None:
        """Return once the model is there, or will not come by itself."""
        while self._provider.state in ON_ITS_WAY:
            await self._provider.wait_settled()
            if self._provider.state is ProviderState.DOWN:
                await self._clock.sleep(LOOK)

    def _want(self, texts: Sequence[str], *, urgent: bool) -> Mapping[str, asyncio.Future[Outcome]]:
        """Put into the line what is not in flight, and return each text's outcome to come."""
        waits = [text for text in texts if text not in self._outcomes or text in self._line]
        self._line.add(waits, urgent=urgent, at=self._clock.monotonic())
        self._bells[urgent].set()
        loop = asyncio.get_running_loop()
        for text in dict.fromkeys(texts):
            if text in self._outcomes:
                self._counts["joined"] += 1
            else:
                self._outcomes[text] = loop.create_future()
        return {text: self._outcomes[text] for text in texts}

    async def _work(self, *, urgent: bool) -> None:
        """Embed one batch of a lane after the other, for ever."""
        while True:
            await self._try(await self._next(urgent=urgent), urgent=urgent)

    async def _next(self, *, urgent: bool) -> list[str]:
        """Return a lane's next batch when it is due."""
        bell = self._bells[urgent]
        while not (texts := self._line.take(self._clock.monotonic(), urgent=urgent)):
            bell.clear()
            due = self._line.find_due(self._clock.monotonic(), urgent=urgent)
            await wait_within(self._clock, due, bell.wait())
        return texts

    async def _try(self, texts: Sequence[str], *, urgent: bool) -> None:
        """Settle each text; halve the batch until a refused text is alone."""
        try:
            rows = await self._provider.embed(texts, urgent=urgent)
        except BadInput as error:
            if len(texts) > 1:
                half = len(texts) // 2
                await self._try(texts[:half], urgent=urgent)
                await self._try(texts[half:], urgent=urgent)
                return
            self._settle(texts, [error])
        except CortexError as error:
            self._settle(texts, [error] * len(texts))
        else:
            self._settle(texts, rows)

    def _settle(self, texts: Sequence[str], outcomes: Iterable[Outcome]) -> None:
        """Tell everybody who waits for these texts what became of them."""
        for text, outcome in zip(texts, outcomes, strict=True):
            self._counts["failed" if isinstance(outcome, CortexError) else "embedded"] += 1
            self._outcomes.pop(text).set_result(outcome)
