"""Pool: gathers texts into batches, and lets the waiting person go first.

hears   -
says    -
asks    -
keeps   the texts in hand and who waits for them (lost on a crash; their askers are told, and what
        was not embedded is asked for again), the refused texts of late and counts

Which texts are embedded next: a pure line of texts, told the time by its owner.

Texts that the embedder has refused, remembered for a while: a pure table, told the time.

What the pool counts: batches by size and cause, how long texts waited, how fast it went.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from cortex_actors.embedding.provider import (
    ProviderState,
    digest,
    refusal,
    require_model,
    require_texts,
)
from cortex_actors.errors import BadInput, CortexError, MailboxFull
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import within

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Outcome, Provider


#: Texts of one request that still wait, in their order.
Request: TypeAlias = OrderedDict[str, None]


class Cause(StrEnum):
    """Why a batch goes now."""

    #: As many texts were together as were waited for.
    ITEMS = "items"
    #: The oldest text has waited long enough.
    TIME = "time"
    #: Somebody waits for it.
    URGENT = "urgent"


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts that are embedded together."""

    texts: list[str]
    cause: Cause
    #: Seconds that each of them has waited.
    waited: list[float]


class EmbeddingQueue:
    """Texts that wait for the embedder, each of them once.

    Texts that nobody watches wait until `items` are together or the oldest has waited `seconds`;
    then up to `bulk` of them go at once (never fewer than `items`), one from each request in turn,
    so that a request of five is not kept waiting by one of five thousand; the texts of a request
    keep their order. Urgent texts are another lane: they are due at once and go alone with their
    like, because a batch of twenty costs a waiting person twenty times the time of one. Times are
    monotonic seconds.
    """

    def __init__(self, *, items: int, seconds: float, limit: int, bulk: int = 0) -> None:
        self._items = items
        self._seconds = seconds
        self._limit = limit
        self._bulk = max(items, bulk)
        # Text -> when it came. OrderedDicts, because their first one is found and taken at once.
        self._urgent: OrderedDict[str, float] = OrderedDict()
        self._patient: OrderedDict[str, float] = OrderedDict()
        # The requests of patient texts, the next one to be served first, and where each text is.
        self._turns: deque[Request] = deque()
        self._request_of: dict[str, Request] = {}

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
            if self._patient.pop(text, None) is not None:
                del self._request_of.pop(text)[text]
        lane.update(dict.fromkeys(new, at))
        if new and not urgent:
            request: Request = OrderedDict.fromkeys(new)
            self._turns.append(request)
            self._request_of.update(dict.fromkeys(new, request))

    def take(self, at: float, *, urgent: bool) -> Batch | None:
        """Return what a lane is to embed now and let go of it; None when nothing is due."""
        if self.due(at, urgent=urgent) != 0.0:
            return None
        lane = self._urgent if urgent else self._patient
        cause = Cause.ITEMS if len(lane) >= self._items else Cause.TIME
        if urgent:
            cause, texts = Cause.URGENT, list(lane)[: self._items]
        else:
            texts = []
            while len(texts) < min(self._bulk, len(lane)):
                # One text of the request whose turn it is, which is over with that.
                if request := self._turns[0]:
                    self._turns.rotate(-1)
                    text, _ = request.popitem(last=False)
                    del self._request_of[text]
                    texts.append(text)
                else:
                    self._turns.popleft()
        return Batch(texts, cause, [max(0.0, at - lane.pop(text)) for text in texts])

    def due(self, at: float, *, urgent: bool) -> float | None:
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

    @property
    def urgent(self) -> int:
        """Return how many urgent texts wait."""
        return len(self._urgent)

    def __len__(self) -> int:
        return len(self._urgent) + len(self._patient)


#: Seconds for which a text is not tried again after its first refusal: a model that was confused
#: for a moment must not cost a good text more than that.
FIRST = 30.0

#: Seconds after which a text is tried again however often it was refused.
LONGEST = 3_600.0

#: Texts remembered; the oldest is forgotten, and costs its batch some attempts once more.
ENTRIES = 1_000


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A text's last refusal."""

    error: BadInput
    pause: float
    until: float


class Poison:
    """Refuses a text that was refused, for 30 s and then twice as long each time, up to an hour.

    Without it a text that stays in somebody's backlog fails its batch with each look at that
    backlog, and finding it again costs some requests each time. Texts are known by their SHA-256,
    so that none of them is kept.
    """

    def __init__(self) -> None:
        self._refusals: OrderedDict[bytes, _Refusal] = OrderedDict()

    def remember(self, text: str, error: BadInput, at: float) -> None:
        """Note that the embedder has refused a text."""
        key = digest(text)
        before = self._refusals.pop(key, None)
        pause = FIRST if before is None else min(2 * before.pause, LONGEST)
        self._refusals[key] = _Refusal(error, pause, at + pause)
        while len(self._refusals) > ENTRIES:
            self._refusals.popitem(last=False)

    def forgive(self, text: str) -> None:
        """Forget a text's refusals, because it has been embedded."""
        if self._refusals:
            self._refusals.pop(digest(text), None)

    def refused(self, text: str, at: float) -> BadInput | None:
        """Return why a text is not worth a try now; None when it is."""
        if not self._refusals:
            return None
        found = self._refusals.get(digest(text))
        return None if found is None or at >= found.until else found.error

    def __len__(self) -> int:
        return len(self._refusals)


#: Upper ends of the classes in which batch sizes are counted; a larger one counts as the last.
SIZES = (1, 2, 5, 10, 20, 50, 100, 200)

#: Waits of a lane of which percentiles are told: the last ones, so that yesterday's are forgotten.
WAITS = 1_000

#: Percentiles of the waits that are told.
_SHARES = (50, 99)

#: Milliseconds in a second.
_MS = 1_000


class PoolTally:
    """Counts of one pool's life; every method takes the monotonic time where it needs one."""

    def __init__(self) -> None:
        #: What is only counted, by the names of `PoolInfo`.
        self.counts = Counter[str]()
        #: How many batches are with the provider now.
        self.in_flight = 0
        self._sizes: Counter[int] = Counter()
        self._causes: Counter[Cause] = Counter()
        self._waits = {urgent: deque[float](maxlen=WAITS) for urgent in (True, False)}
        self._since = self._busy = 0.0

    def begin(self, batch: Batch, at: float) -> None:
        """Note that a batch goes to the provider."""
        self.counts["batches"] += 1
        self._causes[batch.cause] += 1
        size = next((end for end in SIZES if len(batch.texts) <= end), SIZES[-1])
        self._sizes[size] += 1
        self._waits[batch.cause is Cause.URGENT].extend(batch.waited)
        if self.in_flight == 0:
            self._since = at
        self.in_flight += 1

    def end(self, at: float) -> None:
        """Note that a batch has come back."""
        self.in_flight -= 1
        if self.in_flight == 0:
            self._busy += at - self._since

    def busy(self, at: float) -> float:
        """Return the seconds in which at least one batch was with the provider."""
        return self._busy + (at - self._since if self.in_flight else 0.0)

    @property
    def flushes(self) -> Mapping[str, int]:
        """Return how many batches went for each cause."""
        return {str(cause): self._causes[cause] for cause in Cause}

    @property
    def sizes(self) -> Mapping[str, int]:
        """Return how many batches had how many texts: `20` counts those of 11 to 20."""
        return {str(end): self._sizes[end] for end in SIZES if self._sizes[end]}

    def waited_ms(self, *, urgent: bool) -> Mapping[str, float]:
        """Return how long a lane's last texts waited to go, milliseconds; empty before the first.

        The nearest rank, so that every figure is a wait that somebody had.
        """
        waits = sorted(self._waits[urgent])
        ranks = {share: math.ceil(share * len(waits) / 100) - 1 for share in _SHARES if waits}
        return {f"p{share}": round(waits[rank] * _MS, 3) for share, rank in ranks.items()}


#: States that end without anybody's help: the owner of a model that is down restarts it.
ON_ITS_WAY = (ProviderState.LOADING, ProviderState.DOWN)

#: Seconds between two looks at a model that is down.
LOOK = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolInfo:
    """What the pool has in hand and has done since it started."""

    #: Texts that wait, and how many of them are urgent.
    waiting: int
    waiting_urgent: int
    #: Texts and batches that are with the model now.
    in_flight: int
    batches_in_flight: int
    #: Batches so far; texts with a vector, and without one.
    batches: int = 0
    embedded: int = 0
    failed: int = 0
    #: Texts that joined an equal one in hand, and those refused without another try.
    joined: int = 0
    spared: int = 0
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
        self._line = EmbeddingQueue(items=items, seconds=seconds, limit=limit, bulk=provider.bulk)
        # Every text in hand, waiting or in flight.
        self._outcomes: dict[str, asyncio.Future[Outcome]] = {}
        self._bells = {urgent: asyncio.Event() for urgent in (True, False)}
        self._poison = Poison()
        self._tally = PoolTally()
        self._tokens_before = provider.counters.get("tokens", 0)

    async def on_start(self) -> None:  # type: ignore[override]  # may be async here
        """Let the provider begin to load, and wait for texts; runs in the actor's task."""
        await self._provider.start()
        self.spawn(self._work(urgent=True), name="pool-urgent")
        self.spawn(self._work(urgent=False), name="pool-patient")

    async def on_stop(self) -> None:  # type: ignore[override]  # as above
        """Let go of the model; runs in the actor's task, not after a crash."""
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
        at = self._clock.monotonic()
        refused = {text: why for text in texts if (why := self._poison.refused(text, at))}
        self._tally.counts["spared"] += len(refused)
        coming = self._want([text for text in texts if text not in refused], urgent=urgent, at=at)
        if coming:
            # `wait`, because `gather` would cancel what other callers share if this one were.
            await asyncio.wait(coming.values())
        return [refused[text] if text in refused else coming[text].result() for text in texts]

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
            poison=len(self._poison),
            flushes=tally.flushes,
            sizes=tally.sizes,
            waited_urgent_ms=tally.waited_ms(urgent=True),
            waited_patient_ms=tally.waited_ms(urgent=False),
            busy_s=round(busy, 3),
            texts_per_s=round(tally.counts["embedded"] / busy, 1) if busy else 0.0,
            tokens_per_s=round(tokens / busy, 1) if busy else 0.0,
            **tally.counts,
        )

    async def _ready(self, patience: float) -> None:
        """Wait for a model that is loading or being restarted; raise why there is none."""
        if self._provider.state in ON_ITS_WAY and patience > 0:
            await within(self._clock, patience, self._up())
        if error := refusal(self._provider):
            raise error

    async def _up(self) -> None:
        """Return once the model is there, or will not come by itself."""
        while self._provider.state in ON_ITS_WAY:
            await self._provider.settled()
            if self._provider.state is ProviderState.DOWN:
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
                self._tally.counts["joined"] += 1
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
                self._tally.counts["failed"] += 1
            else:
                self._tally.counts["embedded"] += 1
                self._poison.forgive(text)
            self._outcomes.pop(text).set_result(outcome)
