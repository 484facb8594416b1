"""Texts that the embedder has refused, remembered for a while: a pure table, told the time."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.embedding.texts import digest

if TYPE_CHECKING:
    from cortex_actors.errors import BadInput

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
