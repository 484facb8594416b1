"""What a run may cost: questions to a model that is paid for, and seconds that it waits. Pure."""

from __future__ import annotations

from typing import TypeVar

N = TypeVar("N", int, float)

#: Runs whose use is remembered: far more than are under way at once.
RUNS = 64


class Budget:
    """Grants each run so many questions, the first ones that are asked, and so many seconds.

    A run begins when it asks for the first time. A crash forgets what it has used; whoever asks
    without a name is a run of its own each time.
    """

    def __init__(self, most: int, seconds: float) -> None:
        """Grant each run so many questions and seconds."""
        self._most = most
        self._seconds = seconds
        self._used: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def until(self, run: str, at: float) -> float:
        """Return when a run that asks at a monotonic time has waited for long enough."""
        if not run:
            return at + self._seconds
        return _latest(self._until, run, self._until.get(run, at + self._seconds))

    def granted(self, run: str, wanted: int) -> int:
        """Return how many of the wanted questions may be asked, and count them as asked."""
        used = self._used.get(run, 0)
        granted = max(0, min(wanted, self._most - used))
        if run:
            _latest(self._used, run, used + granted)
        return granted


def _latest(known: dict[str, N], run: str, value: N) -> N:
    """Note a run's number, and forget the run that was heard of longest ago."""
    known.pop(run, None)
    known[run] = value
    if len(known) > RUNS:
        del known[next(iter(known))]
    return value
