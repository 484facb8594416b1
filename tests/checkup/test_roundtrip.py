from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.doctor.doctor import RoundTrip, StepState
from cortex_actors.domain.hit import Severity
from cortex_actors.domain.memory import PROBE
from cortex_actors.errors import LedgerDown
from cortex_actors.testing import ManualClock

if TYPE_CHECKING:
    from cortex_actors.domain.agent import Caller

#: What every list of a search is called.
LISTS = ("dense_alone", "dense_paired", "words_alone", "words_paired")


class Staged:
    """The three verbs over a dictionary, each of which can be told what goes wrong."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.asked: list[str] = []
        self.callers: set[str | None] = set()
        self.lists = list(LISTS)
        self.pending = False
        #: Verb -> what it raises.
        self.raising: dict[str, Exception] = {}
        self.deaf: set[str] = set()

    async def left(self) -> list[str]:
        return sorted(self.kept)

    async def remember(self, content: str, *, caller: Caller) -> dict[str, Any]:
        await self._hear("remember", caller)
        self.kept[f"mem_{len(self.asked)}"] = content
        return {"id": f"mem_{len(self.asked)}", "pending": self.pending}

    async def recall(
        self, query: str, limit: int, *, realm: str, track: bool, caller: Caller
    ) -> dict[str, Any]:
        await self._hear("recall", caller)
        assert (True, "private", False) == (bool(query), realm, track)
        hits = [
            {"id": name, "text": text, "extra": {"found_by": self.lists}}
            for name, text in self.kept.items()
            if self.lists
        ]
        failed = [] if self.lists else [{"store": "local", "reason": "it is asleep"}]
        return {"hits": hits[:limit], "failed": failed}

    async def forget(self, ids: list[str], *, caller: Caller) -> dict[str, Any]:
        await self._hear("forget", caller)
        return {"forgotten": [self.kept.pop(each) for each in ids]}

    async def _hear(self, verb: str, caller: Caller) -> None:
        self.asked.append(verb)
        self.callers.add(caller.agent)
        if verb in self.deaf:
            await asyncio.Event().wait()
        if verb in self.raising:
            raise self.raising[verb]


@pytest.fixture
def clock() -> ManualClock:
    """Give a clock that is turned by hand."""
    return ManualClock()


@pytest.fixture
def desk() -> Staged:
    """Give a desk at which all is well."""
    return Staged()


@pytest.fixture
def trial(desk: Staged, clock: ManualClock) -> RoundTrip:
    """Give a trial of that desk with little patience."""
    return RoundTrip(desk.left, clock, limit=0.05)


class TestTrip:
    async def test_well(self, desk: Staged, trial: RoundTrip) -> None:
        """A probe is remembered, found, forgotten and looked for again, as the probe's agent."""
        trip = await trial(desk)

        assert (StepState.OK, "") == (trip.state, trip.reason)
        assert ["tidy", "remember", "recall", "forget", "gone"] == [s.step for s in trip.steps]
        assert ["remember", "recall", "forget", "recall"] == desk.asked
        assert {PROBE} == desk.callers
        assert {} == desk.kept

    async def test_never_the_same_text(
        self, desk: Staged, trial: RoundTrip, clock: ManualClock
    ) -> None:
        """Two trials remember two texts: a vector from a cache would prove nothing."""
        desk.raising["forget"] = LedgerDown("it is away")
        await trial(desk)
        clock.advance(1)
        desk.raising.clear()
        texts = set(desk.kept.values())
        desk.raising["forget"] = LedgerDown("it is away again")
        desk.kept.clear()
        await trial(desk)

        assert 2 == len(texts | set(desk.kept.values()))

    async def test_left_by_a_crash(self, desk: Staged, trial: RoundTrip) -> None:
        """What an earlier trial left is forgotten by the next one."""
        desk.kept["mem_old"] = "Cortex tries itself with probe number 1."
        trip = await trial(desk)

        assert StepState.OK is trip.state
        assert {} == desk.kept

    async def test_json(self, desk: Staged, trial: RoundTrip) -> None:
        """A client gets plain words and numbers."""
        found = asdict(await trial(desk))

        assert "ok" == found["state"]
        assert {"step": "tidy", "state": "ok", "took_ms": 0.0, "said": ""} == found["steps"][0]


class TestDegraded:
    @pytest.mark.parametrize(
        ("lists", "works"), [(LISTS[:2], "by its meaning alone"), (LISTS[2:], "by its words alone")]
    )
    async def test_half_a_search(
        self, desk: Staged, trial: RoundTrip, lists: tuple[str, ...], works: str
    ) -> None:
        """Where only one half of the search answers, the trial says which."""
        desk.lists = list(lists)
        trip = await trial(desk)

        assert StepState.DEGRADED is trip.state
        assert works in trip.reason
        assert {} == desk.kept

    async def test_no_vector(self, desk: Staged, trial: RoundTrip) -> None:
        """A probe without a vector is degraded, and the steps after it are done."""
        desk.pending = True
        trip = await trial(desk)

        assert "remember: it is kept, and has no vector" in trip.reason
        assert 5 == len(trip.steps)


class TestFailed:
    async def test_not_remembered(self, desk: Staged, trial: RoundTrip) -> None:
        """Where nothing can be remembered, the reason is the error, and no more is tried."""
        desk.raising["remember"] = LedgerDown("the disk is gone")
        trip = await trial(desk)

        assert (StepState.FAILED, "remember: the disk is gone") == (trip.state, trip.reason)
        assert ["tidy", "remember"] == [each.step for each in trip.steps]

    async def test_not_found(self, desk: Staged, trial: RoundTrip) -> None:
        """What is not found failed, says which store did not answer, and is forgotten."""
        desk.lists = []
        trip = await trial(desk)

        assert "recall: what was remembered just now is not found: it is asleep" in trip.reason
        assert {} == desk.kept

    async def test_still_there(self, desk: Staged, trial: RoundTrip) -> None:
        """A forget that forgets nothing is found out."""

        async def lie(_ids: list[str], *, caller: Caller) -> dict[str, Any]:
            return {"forgotten": [caller.agent]}

        desk.forget = lie  # type: ignore[method-assign, assignment]
        trip = await trial(desk)

        assert "gone: what was forgotten is still there" in trip.reason

    async def test_late(self, desk: Staged, trial: RoundTrip) -> None:
        """A step without an answer ends after its limit, and what was kept is forgotten."""
        desk.deaf = {"recall"}
        trip = await trial(desk)

        assert "recall: no answer within 0.05 s; see cortex daemon logs" == trip.reason
        assert {} == desk.kept

    async def test_own_fault(self, desk: Staged, trial: RoundTrip) -> None:
        """A fault of ours is an outcome, with its kind."""
        desk.raising["forget"] = ValueError("a bug")
        trip = await trial(desk)

        assert "forget: ValueError('a bug'); see cortex daemon logs" == trip.reason


class TestTold:
    def test_nothing_yet(self, trial: RoundTrip) -> None:
        """Before the first trial there is nothing to tell, and no reason to be worried."""
        assert (None, []) == (trial.as_status(), trial.list_reasons())
        assert Severity.NOTE is trial.as_diagnosis().severity

    async def test_age(self, desk: Staged, trial: RoundTrip, clock: ManualClock) -> None:
        """The last trial is told with its age, never below 0."""
        await trial(desk)
        clock.advance(90)
        told = trial.as_status()

        assert told is not None
        assert ("ok", 90.0) == (told["state"], told["age_s"])
        assert "steps" not in told
        assert "90 s ago" in trial.as_diagnosis().found

    @pytest.mark.parametrize(
        ("lists", "severity"), [(LISTS[2:], Severity.WARNING), ((), Severity.ERROR)]
    )
    async def test_reason(
        self, desk: Staged, trial: RoundTrip, lists: tuple[str, ...], severity: Severity
    ) -> None:
        """A trial that did not go well is a reason, and a diagnosis, until the next one."""
        desk.lists = list(lists)
        await trial(desk)
        reasons, found = trial.list_reasons(), trial.as_diagnosis()
        desk.lists = list(LISTS)
        await trial(desk)

        assert reasons[0].startswith("round trip: recall: ")
        assert severity is found.severity
        assert [] == trial.list_reasons()


class TestOneAtATime:
    async def test_second_waits(self, desk: Staged, trial: RoundTrip) -> None:
        """Two trials at once do not remove each other's probe."""
        trips = await asyncio.gather(trial(desk), trial(desk))

        assert [StepState.OK, StepState.OK] == [trip.state for trip in trips]
        assert 2 == desk.asked.count("remember")
