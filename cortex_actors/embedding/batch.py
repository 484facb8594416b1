"""Which texts are embedded next: a pure line of texts, told the time by its owner."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from cortex_actors.errors import MailboxFull

if TYPE_CHECKING:
    from collections.abc import Iterable

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


class Line:
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
            self._forget(text)
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
        cause = _cause(urgent=urgent, full=len(lane) >= self._items)
        if urgent:
            texts = list(lane)[: self._items]
        else:
            texts = [self._next_patient() for _ in range(min(self._bulk, len(lane)))]
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

    def _next_patient(self) -> str:
        """Return one text of the request whose turn it is, which is over with that."""
        while not (request := self._turns[0]):
            self._turns.popleft()
        self._turns.rotate(-1)
        text, _ = request.popitem(last=False)
        del self._request_of[text]
        return text

    def _forget(self, text: str) -> None:
        """Take a text that has become urgent out of the patient lane, if it is there."""
        if self._patient.pop(text, None) is not None:
            del self._request_of.pop(text)[text]

    def __contains__(self, text: object) -> bool:
        return text in self._urgent or text in self._patient

    @property
    def urgent(self) -> int:
        """Return how many urgent texts wait."""
        return len(self._urgent)

    def __len__(self) -> int:
        return len(self._urgent) + len(self._patient)


def _cause(*, urgent: bool, full: bool) -> Cause:
    """Return why a lane's batch goes."""
    if urgent:
        return Cause.URGENT
    return Cause.ITEMS if full else Cause.TIME
