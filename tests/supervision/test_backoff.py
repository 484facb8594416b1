from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from supervision import Backoff, ChildSpec, SpecError
from tests.supervision.waiting import EXACT, Waits, fall, family

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


class TestDelay:
    @pytest.mark.parametrize(
        ("failures", "seconds"), [(0, 1.0), (1, 2.0), (2, 4.0), (3, 5.0), (99, 5.0), (9999, 5.0)]
    )
    def test_doubles(self, failures: int, seconds: float) -> None:
        """Each failure in a row doubles the wait, up to the most."""
        assert seconds == EXACT.delay(failures)

    def test_jitter(self) -> None:
        """Chance adds up to the jitter's share, and takes nothing away."""
        waits = [Backoff(1.0, 60.0, jitter=0.5).delay(3) for _ in range(1000)]

        assert all(8.0 <= seconds <= 12.0 for seconds in waits)
        assert max(waits) - min(waits) > 1.0

    def test_jitter_beyond_the_most(self) -> None:
        """The longest waits are spread as well."""
        waits = {Backoff(1.0, 60.0, jitter=0.5).delay(99) for _ in range(100)}

        assert all(60.0 <= seconds <= 90.0 for seconds in waits)
        assert 1 < len(waits)

    @pytest.mark.parametrize(
        "options",
        [
            {"min": 0},
            {"min": -1},
            {"min": math.nan},
            {"min": 2, "max": 1},
            {"max": math.inf},
            {"max": math.nan},
            {"jitter": -0.1},
            {"jitter": math.nan},
            {"jitter": math.inf},
            {"reset": -1},
            {"reset": math.nan},
        ],
    )
    def test_nonsense(self, options: dict[str, Any]) -> None:
        """Waits that are not in order are refused."""
        with pytest.raises(SpecError, match="invalid_backoff"):
            Backoff(**options)

    def test_for_nothing(self) -> None:
        """A temporary child has no restarts that could wait."""

        async def never() -> Any:
            raise AssertionError

        with pytest.raises(SpecError, match="bad_combination"):
            ChildSpec("a", never, restart="temporary", backoff=Backoff())


class TestRestart:
    async def test_waits(self, lab: Lab, waits: Waits) -> None:
        """A crashed child is started again when its wait is over, and not before."""
        top = await family(lab, waits)
        await fall(lab, waits)
        await top.count_children()
        assert 1 == lab.log.count("start b")
        waits.wake()
        await lab.saw("restarted", "b")

        assert ([1.0], 2) == (waits.seconds, lab.log.count("start b"))
        assert ["running"] * 3 == [child.state for child in top.snapshot().children]
        await top.stop(None)

    async def test_failed_attempts(self, lab: Lab, waits: Waits) -> None:
        """A restart that fails waits twice as long for the next, as a crash after it does."""
        top = await family(lab, waits)
        lab.failures["b"] = 3
        await fall(lab, waits)
        for times in (2, 3, 4):
            waits.wake()
            await waits.begun(times)
        waits.wake()
        await lab.saw("restarted", "b")
        await fall(lab, waits)

        assert [1.0, 2.0, 4.0, 5.0, 5.0] == waits.seconds
        await top.stop(None)

    @pytest.mark.parametrize(("quiet", "second"), [(8.9, 2.0), (9.0, 1.0)])
    async def test_reset(self, lab: Lab, waits: Waits, quiet: float, second: float) -> None:
        """A life that is long enough makes the next failure the first again."""
        top = await family(lab, waits)
        await fall(lab, waits)
        waits.wake()
        await lab.saw("restarted", "b")
        lab.time += quiet
        await fall(lab, waits)

        assert [1.0, second] == waits.seconds
        await top.stop(None)

    @pytest.mark.parametrize(("quiet", "second"), [(4.9, 2.0), (5.0, 1.0)])
    async def test_reset_by_default(
        self, lab: Lab, waits: Waits, quiet: float, second: float
    ) -> None:
        """What is long enough is the longest wait, where nothing else is said."""
        spec = lab.spec("b", backoff=Backoff(1.0, 5.0, jitter=0.0))
        top = await lab.top(spec, intensity=9, sleep=waits.sleep).start()
        await fall(lab, waits)
        waits.wake()
        await lab.saw("restarted", "b")
        lab.time += quiet
        await fall(lab, waits)

        assert [1.0, second] == waits.seconds
        await top.stop(None)

    async def test_transient(self, lab: Lab, waits: Waits, quiet: Any) -> None:
        """A transient child that ended in order waits for nothing."""
        spec = lab.spec("b", restart="transient", backoff=EXACT)
        top = await lab.top(spec, sleep=waits.sleep).start()
        lab.toys["b"].end("normal")
        await quiet(top)

        assert ([], ["stopped"]) == (
            waits.seconds,
            [child.state for child in top.snapshot().children],
        )
        await top.stop(None)

    async def test_intensity(self, lab: Lab, waits: Waits, end: Any) -> None:
        """An attempt counts when it is made, and one too many ends the supervisor."""
        top = await family(lab, waits, intensity=1, period=5.0)
        await fall(lab, waits)
        waits.wake()
        await lab.saw("restarted", "b")
        lab.time += 3
        await fall(lab, waits)
        lab.time += 2.1
        waits.wake()
        await lab.saw("restarted", "b", 2)
        await fall(lab, waits)
        assert [] == lab.told("gave_up")
        waits.wake()

        assert "shutdown" == await end(top)
        assert [("b", "reached_max_restart_intensity")] == lab.told("gave_up")

    async def test_two(self, lab: Lab, waits: Waits, quiet: Any) -> None:
        """Each child waits for itself, and one that waits delays no other."""
        top = await family(lab, waits)
        await fall(lab, waits)
        await lab.crash("a")
        await quiet(top)

        assert ["running", "restarting", "running"] == [
            child.state for child in top.snapshot().children
        ]
        await top.stop(None)

    async def test_for_real(self, lab: Lab) -> None:
        """With nothing but defaults around it, a wait is one of real time."""
        spec = lab.spec("b", backoff=Backoff(0.001, 0.002))
        top = await lab.top(spec).start()
        await lab.crash("b")

        assert 2 == lab.log.count("start b")
        await top.stop(None)
