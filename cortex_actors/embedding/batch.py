"""Which texts are embedded next: a pure line of texts, told the time by its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.errors import MailboxFull

if TYPE_CHECKING:
    from collections.abc import Iterable


class Line:
    """Texts that wait for the embedder, each of them once.

    Texts that nobody watches wait until `items` are together or the oldest has waited `seconds`;
    an urgent text goes with the next batch, before any other, and alone with its like, because a
    batch of twenty costs a waiting person twenty times the time of one. Times are monotonic
    seconds.
    """

    def __init__(self, *, items: int, seconds: float, limit: int) -> None:
        self._items = items
        self._seconds = seconds
        self._limit = limit
        # Text -> when it came; dicts, because they keep order and find any text at once.
        self._urgent: dict[str, float] = {}
        self._patient: dict[str, float] = {}

    def add(self, texts: Iterable[str], *, urgent: bool, at: float) -> None:
        """Put texts at the end of the line, all of them or none.

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
        for text in new:
            self._patient.pop(text, None)
            lane[text] = at

    def take(self, at: float) -> list[str]:
        """Return the texts to embed now and let go of them; none when nothing is due."""
        if self.due(at) != 0.0:
            return []
        lane = self._urgent or self._patient
        batch = list(lane)[: self._items]
        for text in batch:
            del lane[text]
        return batch

    def due(self, at: float) -> float | None:
        """Return the seconds until a batch must go: 0.0 is now, None when no text waits."""
        if self._urgent or len(self._patient) >= self._items:
            return 0.0
        if not self._patient:
            return None
        oldest = next(iter(self._patient.values()))
        return max(0.0, oldest + self._seconds - at)

    def __contains__(self, text: object) -> bool:
        return text in self._urgent or text in self._patient

    def __len__(self) -> int:
        return len(self._urgent) + len(self._patient)
