from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.endpoint.client import Breaker, SwitchPosition

if TYPE_CHECKING:
    from tests.embedding.support import ManualClock


@pytest.fixture
def breaker() -> Breaker:
    """Give a breaker that opens after three failures in a row, for ten seconds."""
    return Breaker(failures=3, pause=10.0)


def fail(breaker: Breaker, times: int, at: float) -> None:
    """Let attempts fail."""
    for _ in range(times):
        assert breaker.admits(at)
        breaker.note_failure("no luck", at)


class TestClosed:
    def test_lets_through(self, breaker: Breaker) -> None:
        """Attempts go through, also several at once, as long as few fail in a row."""
        fail(breaker, 2, 0.0)

        assert breaker.admits(0.0)
        assert breaker.admits(0.0)
        assert (SwitchPosition.CLOSED, 0.0, "") == (
            breaker.position,
            breaker.compute_wait(0.0),
            breaker.reason,
        )

    def test_forgets(self, breaker: Breaker) -> None:
        """A success in between makes the count begin again."""
        fail(breaker, 2, 0.0)
        breaker.note_success()
        fail(breaker, 2, 0.0)

        assert SwitchPosition.CLOSED is breaker.position


class TestOpen:
    async def test_refuses(self, breaker: Breaker, clock: ManualClock) -> None:
        """After so many failures in a row nobody is let through until the pause is over."""
        fail(breaker, 3, clock.monotonic())
        await clock.advance(9.5)

        assert not breaker.admits(clock.monotonic())
        assert 0.5 == breaker.compute_wait(clock.monotonic())
        assert ("no luck", 1) == (breaker.reason, breaker.opened)

    def test_late_failure(self, breaker: Breaker) -> None:
        """An attempt that began before it opened, and fails after, does not open it once more."""
        assert breaker.admits(0.0)
        fail(breaker, 3, 0.0)
        breaker.note_failure("late", 4.0)

        assert (1, 10.0) == (breaker.opened, breaker.compute_wait(4.0))

    def test_late_success(self, breaker: Breaker) -> None:
        """An attempt that began before it opened, and goes well, closes it."""
        assert breaker.admits(0.0)
        fail(breaker, 3, 0.0)
        breaker.note_success()

        assert breaker.admits(0.0)

    def test_rest(self, breaker: Breaker) -> None:
        """A rest that was asked for opens it at once, for as long, and is not cut short."""
        breaker.note_failure("slow down", 0.0, rest=60.0)
        breaker.note_failure("late", 1.0)

        assert 59.0 == breaker.compute_wait(1.0)
        assert not breaker.admits(59.9)

    def test_short_rest(self, breaker: Breaker) -> None:
        """A rest shorter than the pause still lasts as long as the pause."""
        breaker.note_failure("slow down", 0.0, rest=1.0)

        assert 10.0 == breaker.compute_wait(0.0)


class TestHalfOpen:
    async def test_one(self, breaker: Breaker, clock: ManualClock) -> None:
        """After the pause a single attempt is let through."""
        fail(breaker, 3, clock.monotonic())
        await clock.advance(10.0)

        assert breaker.admits(clock.monotonic())
        assert not breaker.admits(clock.monotonic())
        assert SwitchPosition.HALF_OPEN is breaker.position

    @pytest.mark.parametrize("goes_well", [True, False])
    def test_decides(self, breaker: Breaker, *, goes_well: bool) -> None:
        """That attempt decides: closed and forgotten, or open for another pause."""
        fail(breaker, 3, 0.0)
        assert breaker.admits(10.0)
        if goes_well:
            breaker.note_success()
        else:
            breaker.note_failure("again", 11.0)

        assert goes_well is breaker.admits(12.0)
        assert (0.0 if goes_well else 9.0) == breaker.compute_wait(12.0)
        assert ("" if goes_well else "again") == breaker.reason

    def test_given_up(self, breaker: Breaker) -> None:
        """When that attempt is given up without an answer, the next one decides at once."""
        fail(breaker, 3, 0.0)
        assert breaker.admits(10.0)
        breaker.note_abandoned(11.0)

        assert breaker.admits(11.0)

    def test_given_up_while_closed(self, breaker: Breaker) -> None:
        """An attempt given up while it is closed changes nothing."""
        assert breaker.admits(0.0)
        breaker.note_abandoned(0.0)

        assert SwitchPosition.CLOSED is breaker.position


class TestAnyLife:
    @given(st.lists(st.tuples(st.sampled_from("sfa"), st.floats(0.0, 8.0)), max_size=40))
    def test_never_stuck(self, steps: list[tuple[str, float]]) -> None:
        """Whatever comes of attempts, one is let through at the latest after a pause."""
        breaker, at = Breaker(failures=2, pause=5.0), 0.0
        for outcome, passes in steps:
            at += passes
            if not breaker.admits(at):
                # Adding and taking away rounds.
                assert 0.0 < breaker.compute_wait(at) <= 5.0 + 1e-9
                continue
            match outcome:
                case "s":
                    breaker.note_success()
                case "f":
                    breaker.note_failure("x", at)
                case _:
                    breaker.note_abandoned(at)

        assert breaker.admits(at + 5.0)
