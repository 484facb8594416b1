"""The round trip: the daemon remembers, recalls and forgets a probe, as an agent would.

Every part may say of itself that it is well while nothing works. So the verbs that agents use are
tried in earnest, under a name that is kept for it: what is remembered, found and gone again has
been through the mailboxes, the embedder, the ledger and the search. A trial leaves nothing behind;
what a crash left of one, the next removes.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SECOND
from cortex_actors.domain.agent import Caller
from cortex_actors.domain.hit import Diagnosis, Severity, note
from cortex_actors.domain.memory import PROBE, Realm
from cortex_actors.errors import CortexError, RoundTripFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from cortex_actors.clock import Clock

#: Seconds one step may take: a question that waits for a model has an answer long before.
LIMIT = 30.0

#: Hits that are asked for: nobody but the probe is in its realm.
_FEW = 3

#: What the names of lists begin with that search by meaning, and by words.
_MEANING, _WORDS = "dense", "words"


class State(StrEnum):
    """How a step went, and a trial: as its worst step."""

    OK = "ok"
    #: It was done, and part of what does it did not answer.
    DEGRADED = "degraded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trial; `said` is why it did not go well."""

    step: str
    state: State
    took_ms: float
    said: str = ""


@dataclass(frozen=True, slots=True)
class Trip:
    """One trial: what it came to, when it began, UTC microseconds, and its steps in order."""

    state: State
    reason: str
    at: int
    took_ms: float
    steps: tuple[Step, ...]


class RoundTrip:
    """Tries a front desk, one trial at a time, and knows how the last one went.

    What is known is lost with the daemon: the next one tries for itself soon after its start.
    """

    def __init__(
        self, left: Callable[[], Awaitable[Sequence[str]]], clock: Clock, *, limit: float = LIMIT
    ) -> None:
        """Know of no trial yet; `left` gives the ids of probes that are still there."""
        self.last: Trip | None = None
        self._left = left
        self._clock = clock
        self._limit = limit
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, desk: Any) -> Trip:  # noqa: ANN401 - has the three verbs
        """Return how a trial of `remember`, `recall` and `forget` went, as agents call them.

        Raises nothing but what ends the caller.
        """
        async with self._one_at_a_time:
            self.last = await _Trial(desk, self._left, self._clock, self._limit).trip()
            return self.last

    def told(self) -> dict[str, Any] | None:
        """Return the last trial as `status` has it, with its age in seconds; None without one."""
        if self.last is None:
            return None
        found = asdict(self.last)
        del found["steps"]
        return {**found, "age_s": self._age(self.last)}

    def reasons(self) -> list[str]:
        """Return why the daemon is not well, by the last trial; nothing when it went well."""
        last = self.last
        return [] if last is None or last.state is State.OK else [f"round trip: {last.reason}"]

    def diagnosed(self) -> Diagnosis:
        """Return the last trial as the doctor tells it."""
        last, mend = self.last, "cortex doctor --round-trip tries again and says each step"
        if last is None:
            text = "not tried yet in this life of the daemon"
            return note("round trip", text, mend="cortex doctor --round-trip")
        ago = f"{self._age(last):,.0f} s ago"
        if last.state is State.OK:
            did = "a probe was remembered, recalled and forgotten"
            return Diagnosis("round trip", f"{did} in {last.took_ms:,.0f} ms, {ago}")
        bad = Severity.ERROR if last.state is State.FAILED else Severity.WARNING
        return Diagnosis("round trip", f"{last.reason} ({ago})", bad, mend)

    def _age(self, trip: Trip) -> float:
        """Return the seconds since a trial began; 0 where the clock was set back."""
        return round(max(0.0, (self._clock.now() - trip.at) / SECOND), 3)


@dataclass
class _Trial:
    """One trial, step by step."""

    _desk: Any
    _left: Callable[[], Awaitable[Sequence[str]]]
    _clock: Clock
    _limit: float
    _id: str = ""
    _steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Choose a text that was never embedded: one from a cache would prove nothing."""
        self._me = Caller(PROBE)
        self._at = self._clock.now()
        self._mark = f"number {self._at}"
        self._text = f"Cortex tries itself with probe {self._mark}."

    async def trip(self) -> Trip:
        """Return what all steps came to; what was remembered is forgotten, whatever fails."""
        begun = self._clock.monotonic()
        await self._do("tidy", self._tidy)
        if await self._do("remember", self._remember):
            await self._do("recall", self._recall)
            if await self._do("forget", self._forget):
                await self._do("gone", self._gone)
        took = round((self._clock.monotonic() - begun) * 1_000, 3)
        order = list(State)
        worst = max(self._steps, key=lambda each: order.index(each.state))
        reason = f"{worst.step}: {worst.said}" if worst.said else ""
        return Trip(worst.state, reason, self._at, took, tuple(self._steps))

    async def _do(self, name: str, step: Callable[[], Awaitable[str]]) -> bool:
        """Do one step and note how it went; say whether the next can be done.

        A step returns what did not answer, and raises where it failed.
        """
        begun, state = self._clock.monotonic(), State.OK
        try:
            async with asyncio.timeout(self._limit):
                if said := await step():
                    state = State.DEGRADED
        except TimeoutError:
            state = State.FAILED
            said = f"no answer within {self._limit:g} s; see cortex daemon logs"
        except Exception as error:  # noqa: BLE001 - whatever fails is what is looked for
            state, expected = State.FAILED, isinstance(error, CortexError)
            said = str(error) if expected else f"{error!r}; see cortex daemon logs"
        took = round((self._clock.monotonic() - begun) * 1_000, 3)
        self._steps.append(Step(name, state, took, said))
        return state is not State.FAILED

    async def _tidy(self) -> str:
        """Forget what a crash left of an earlier trial."""
        if left := list(await self._left()):
            await self._desk.forget(left, caller=self._me)
        return ""

    async def _remember(self) -> str:
        """Remember the probe; without a vector it is kept all the same."""
        saved = await self._desk.remember(self._text, caller=self._me)
        self._id = str(saved["id"])
        if saved.get("pending"):
            return "it is kept, and has no vector: the embedder did not answer"
        return ""

    async def _recall(self) -> str:
        """Find the probe by a question; say which half of the search did not find it."""
        found = await self._ask()
        mine = next((each for each in found["hits"] if each["id"] == self._id), None)
        if mine is None or mine["text"] != self._text:
            why = "; ".join(str(each["reason"]) for each in found.get("failed", ()))
            raise RoundTripFailed(
                f"what was remembered just now is not found{': ' + why if why else ''};"
                " see cortex daemon logs, and cortex doctor for the ledger's words and vectors"
            )
        lists = [str(each) for each in mine.get("extra", {}).get("found_by", ())]
        if not any(each.startswith(_MEANING) for each in lists):
            return "it is found by its words alone: questions are not answered by meaning now"
        if not any(each.startswith(_WORDS) for each in lists):
            return "it is found by its meaning alone: questions are not answered by words now"
        return ""

    async def _forget(self) -> str:
        """Forget the probe."""
        await self._desk.forget([self._id], caller=self._me)
        return ""

    async def _gone(self) -> str:
        """Look whether it is really gone, from every answer and from the ledger."""
        found = await self._ask()
        if any(each["id"] == self._id for each in found["hits"]) or await self._left():
            raise RoundTripFailed(
                "what was forgotten is still there; the next trial tries again: "
                "see cortex daemon logs"
            )
        return ""

    async def _ask(self) -> Mapping[str, Any]:
        """Ask for the probe, in words of which not all are its own."""
        found: Mapping[str, Any] = await self._desk.recall(
            f"which probe has {self._mark}",
            _FEW,
            realm=Realm.PRIVATE.value,
            track=False,
            caller=self._me,
        )
        return found
