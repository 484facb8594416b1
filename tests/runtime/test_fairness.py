from __future__ import annotations

import asyncio
import threading

from cortex_actors.runtime.actor import AsyncioActor
from tests.runtime.support import Recorder


class Busy(AsyncioActor):
    """Never runs out of messages: it sends itself the next before it is done with one."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def on_receive(self, message: object) -> None:
        """Count, and go on for ever."""
        self.count += 1
        self.actor_ref.tell(message)


class TestFairness:
    async def test_an_endless_mailbox(self) -> None:
        """An actor that is never idle lets others be answered, some batches apart at most."""
        busy, other = Busy(), Recorder.start()
        busy.launch().tell("go")
        for number in range(100):
            assert number == await other.ask_async(number)
        between = busy.count / 100
        busy.actor_ref.kill()

        assert 1 < between <= 4 * Busy.throughput

    async def test_two_of_them(self) -> None:
        """Actors that are never idle get the same share."""
        busy = [Busy() for _ in range(3)]
        for one in busy:
            one.launch().tell("go")
        other = Recorder.start()
        while busy[0].count < 5_000:
            await other.ask_async("a turn of the loop")
        counts = sorted(one.count for one in busy)
        for one in busy:
            one.actor_ref.kill()

        assert counts[-1] - counts[0] <= 2 * Busy.throughput

    async def test_timers_and_tasks(self) -> None:
        """Timers and tasks of the loop have their turns beside an actor that is never idle."""
        busy = Busy()
        busy.launch().tell("go")
        rang = asyncio.Event()
        asyncio.get_running_loop().call_later(0.001, rang.set)
        async with asyncio.timeout(5):
            await rang.wait()
        busy.actor_ref.kill()

        assert busy.count

    async def test_asynchronous_handlers(self) -> None:
        """A handler that is asynchronous and never waits starves nobody either."""

        class Eager(Busy):
            async def on_receive(self, message: object) -> None:  # type: ignore[override]
                super().on_receive(message)

        busy, other = Eager(), Recorder.start()
        busy.launch().tell("go")
        for number in range(100):
            assert number == await other.ask_async(number)
        busy.actor_ref.kill()

        assert busy.count

    async def test_flooded_by_threads(self) -> None:
        """Threads that flood an actor wait for room, while the loop answers everybody else."""
        flooded, other = Recorder(), Recorder.start()
        ref = flooded.launch()
        enough = threading.Event()

        def flood() -> None:
            while not enough.is_set():
                ref.tell(1)

        flooding = [asyncio.create_task(asyncio.to_thread(flood)) for _ in range(2)]
        while len(flooded.seen) < 2_000:
            await other.ask_async("a turn of the loop")
        enough.set()
        await asyncio.gather(*flooding)
        await ref.stop(block=False)

        assert ref.actor_inbox.stats().high <= Recorder.mailbox_limit + 2
