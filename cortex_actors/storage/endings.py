"""Endings: why lives of the index's child end, and what that means for the next one.

A death alone means little: somebody killed the process, or the machine had no memory. Dying of the
same thing again, or while looking at its own files, means that the files are bad, and then they are
given up for a new generation and never repaired. Pauses grow with the number of bad endings in the
last ten minutes, so that no fault, however fast it comes back, costs more than a start now and
then.
"""

from __future__ import annotations

import signal
from collections import OrderedDict, deque
from dataclasses import dataclass
from enum import StrEnum

#: Seconds until the next life, by the number of bad endings within `MEMORY`.
PAUSES = (0.2, 1.0, 5.0, 30.0, 60.0, 120.0)

#: Seconds for which a bad ending counts towards the next pause.
MEMORY = 600.0

#: Seconds until the next try when what the index needs is away, by the number of tries in a row.
AWAY_PAUSES = (0.2, 1.0, 5.0, 15.0, 30.0)

#: Deaths within `WINDOW` seconds that are one too many for a generation.
DEATHS, WINDOW = 3, 60.0

#: Seconds until the next try after two generations in a row were looked at and found bad, and no
#: good one between: then it is not the files, and building a third would only heat the room.
REST = 3_600.0

#: Questions remembered as having killed the child.
REMEMBERED = 64

#: Deaths by one question after which it is never put to the index again.
DEADLY = 3

#: Signals that come from outside the process: it did not die of what it read.
_SENT = {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP}


class Kind(StrEnum):
    """What a life ended of."""

    #: What it needs is not there: the ledger, the folder's disk, the server, the library.
    AWAY = "away"
    #: The process ended.
    DIED = "died"
    #: It runs, and what it has or says cannot be trusted.
    BROKEN = "broken"
    #: It was looked at, and does not hold what it was told, or does not find what it holds.
    UNSOUND = "unsound"


@dataclass(frozen=True, slots=True)
class Ending:
    """How one life ended."""

    kind: Kind
    reason: str
    #: It died of itself while it opened or checked its files.
    in_its_files: bool = False
    #: The question it was at, as a hash.
    question: bytes | None = None


class Record:
    """The endings so far, of which follow when to try again and with what; kept in memory."""

    def __init__(self) -> None:
        """Know of none."""
        self.deaths = self.given_up = 0
        self._bad: deque[float] = deque()
        self._died: deque[float] = deque(maxlen=DEATHS)
        self._questions: OrderedDict[bytes, int] = OrderedDict()
        self._away = 0
        self._unsound = self._resting = False

    def take(self, ending: Ending, now: float) -> bool:
        """Note an ending at a monotonic time; tell whether its generation is to be given up."""
        self._resting = False
        if ending.kind is Kind.AWAY:
            self._away += 1
            return False
        self._away = 0
        self._bad.append(now)
        if ending.kind is not Kind.DIED:
            again = ending.kind is Kind.UNSOUND
            self._resting = self._unsound and again
            self._unsound = self._unsound or again
            return self._give_up()
        self.deaths += 1
        self._died.append(now)
        often = len(self._died) == DEATHS and now - self._died[0] <= WINDOW
        if self._again(ending.question) or often or ending.in_its_files:
            return self._give_up()
        return False

    def good(self, *, proven: bool) -> None:
        """Note that an index was looked at and is good; an empty one has `proven` nothing."""
        self._away = 0
        self._unsound = self._unsound and not proven

    def pause(self, now: float) -> float:
        """Return the seconds until the next life may begin."""
        while self._bad and now - self._bad[0] > MEMORY:
            self._bad.popleft()
        if self._away:
            return AWAY_PAUSES[min(self._away, len(AWAY_PAUSES)) - 1]
        if self._resting:
            return REST
        return PAUSES[min(len(self._bad), len(PAUSES)) - 1] if self._bad else 0.0

    def deadly(self, question: bytes) -> bool:
        """Tell whether a question has killed so many lives that it is not to be asked again."""
        return self._questions.get(question, 0) >= DEADLY

    def _give_up(self) -> bool:
        """Begin to count a new generation's deaths."""
        self.given_up += 1
        self._died.clear()
        return True

    def _again(self, question: bytes | None) -> bool:
        """Note whose question a life died of; tell whether an earlier one did, too."""
        if question is None:
            return False
        before = self._questions.pop(question, 0)
        self._questions[question] = before + 1
        while len(self._questions) > REMEMBERED:
            self._questions.popitem(last=False)
        return before > 0


def by_itself(code: int | None) -> bool:
    """Tell whether an exit code says that a process fell over something, and was not killed."""
    return bool(code) and code not in _SENT
