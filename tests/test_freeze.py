"""The heart of the loop, and the thread that says where it is stuck."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TYPE_CHECKING

import pytest

from cortex_actors.process.watch import FreezeWatch
from cortex_actors.service import BEAT, Heartbeat
from cortex_actors.testing import ManualClock, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Seconds that nothing here takes.
PATIENCE = 10.0


class Witness:
    """Is told of freezes, and counts how often the thread has looked."""

    def __init__(self) -> None:
        """Know of nothing."""
        self.told: list[tuple[str, float, str]] = []
        self.beat, self.beating = 0.0, False
        self.looks = threading.Semaphore(0)
        self.passing = deque[float]()
        self.clock = ManualClock()
        self.fault: Exception | None = None
        self.watch = FreezeWatch(self.clock, self.last_beat, tell=self.tell, frozen=5.0, look=0.001)
        self.watch.start()

    def tell(self, task: str, seconds: float, stack: str) -> None:
        """Take a report."""
        self.told.append((task, seconds, stack))
        if self.fault is not None:
            raise self.fault

    def last_beat(self) -> float:
        """Return when the loop beat last; it may beat right after that.

        A look begins with this, and time passes before it: a test that turned the clock by itself
        might do so in the middle of a look, which then knows two times.
        """
        while self.passing:
            self.clock.advance(self.passing.popleft())
        self.looks.release()
        beat = self.beat
        if self.beating:
            self.beat = self.clock.monotonic()
        return beat

    def hold_up_the_loop(self, seconds: float) -> None:
        """Let so much time pass and the thread look three times, while nothing else happens."""
        self.passing.append(seconds)
        while self.looks.acquire(blocking=False):
            pass
        for _ in range(3):
            assert self.looks.acquire(timeout=PATIENCE)


@pytest.fixture
async def witness() -> Iterator[Witness]:  # type: ignore[misc]  # asynchronous
    """Give a witness, and end its thread."""
    found = Witness()
    yield found
    found.watch.close()


class TestFreeze:
    async def test_tells(self, witness: Witness) -> None:
        """A loop that does not beat is told of with the task, the time and the stack."""
        task = asyncio.current_task()
        assert task is not None
        task.set_name("accumulator/file:changed 7")
        witness.hold_up_the_loop(6.5)

        ((name, seconds, stack),) = witness.told
        assert ("accumulator/file:changed 7", 6.5) == (name, seconds)
        assert "in hold_up_the_loop" in stack

    async def test_once(self, witness: Witness) -> None:
        """A freeze is told of once, however long it lasts; the next one is told of again."""
        witness.hold_up_the_loop(6)
        witness.hold_up_the_loop(60)
        first = len(witness.told)
        witness.beat = witness.clock.monotonic()
        witness.hold_up_the_loop(5)

        assert 1 == first
        assert [6.0, 5.0] == [seconds for _, seconds, _ in witness.told]

    async def test_stopped_process(self, witness: Witness) -> None:
        """When the thread itself stood still, as in a stopped process, the loop gets time first."""
        witness.beating = True
        for seconds in (0, 60, 60, 60, 60, 60):
            witness.hold_up_the_loop(seconds)

        assert [] == witness.told

    async def test_in_time(self, witness: Witness) -> None:
        """A loop that beats is not told of."""
        for _ in range(3):
            witness.hold_up_the_loop(4.9)
            witness.beat = witness.clock.monotonic()

        assert [] == witness.told

    async def test_fault(self, witness: Witness, capfd: pytest.CaptureFixture[str]) -> None:
        """A report that fails does not blind the thread."""
        witness.fault = ValueError("no")
        witness.hold_up_the_loop(6)
        witness.beat = witness.clock.monotonic()
        witness.hold_up_the_loop(6)

        assert 2 == len(witness.told)
        assert "ValueError: no" in capfd.readouterr().err


class TestHeartbeat:
    async def test_lag(self) -> None:
        """The gauge is the latest beat of the last ones, in milliseconds."""
        clock = ManualClock()
        heart = Heartbeat(clock)
        for seconds in (BEAT, BEAT + 0.1, BEAT):
            beating = asyncio.create_task(heart.beat())
            await eventually(lambda: 1 == clock.sleepers)
            clock.advance(seconds)
            await beating

        assert 100.0 == heart.lag_ms()
        assert clock.monotonic() == heart.last

    async def test_faster(self) -> None:
        """A watchdog that wants to hear of us more often makes it beat more often."""
        clock = ManualClock()
        beating = asyncio.create_task(Heartbeat(clock, most=0.001).beat())
        await eventually(lambda: 1 == clock.sleepers)
        pause = clock.due
        clock.advance(pause)

        assert (0.001, 0.0) == (pause, await beating)
