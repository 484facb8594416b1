from __future__ import annotations

import asyncio
import os
import random
import secrets
import threading
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import SECOND, make_ulid
from cortex_actors.errors import BlockingInLoopError
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.future import find_loop
from cortex_actors.runtime.threads import Threads
from cortex_actors.testing import EPOCH
from tests.simulation.simulated_loop import NotSimulated, Simulation, Standstill, simulate

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seeds that a promise about every seed is tried with.
SEEDS = range(40)


async def race(simulation: Simulation) -> list[str]:
    """Return the order in which three workers took nine things."""
    queue: asyncio.Queue[int] = asyncio.Queue()
    taken: list[str] = []

    async def work(name: str) -> None:
        while True:
            taken.append(f"{name}{await queue.get()}")
            await asyncio.to_thread(int)
            queue.task_done()

    workers = [asyncio.create_task(work(name)) for name in "abc"]
    for thing in range(9):
        queue.put_nowait(thing)
    await queue.join()
    for worker in workers:
        worker.cancel()
    return taken


class TestTime:
    def test_costs_nothing(self) -> None:
        """A year passes at once, on the loop's clock and on the simulation's."""
        year = 365 * 86_400

        async def main(simulation: Simulation) -> tuple[float, int]:
            await simulation.clock.sleep(year)
            return simulation.clock.monotonic(), simulation.clock.now()

        seconds, wall = simulate(main, seed=1)

        assert year <= seconds < year + 1
        assert year == (wall - EPOCH) // SECOND

    def test_wall_clock_jumps(self) -> None:
        """The wall clock may be set, which wakes nobody and moves no other clock."""

        async def main(simulation: Simulation) -> tuple[float, int]:
            simulation.clock.jump(-3_600)
            return simulation.clock.monotonic(), simulation.clock.now()

        seconds, wall = simulate(main, seed=1)

        assert 0 <= seconds < 1
        assert -3_600 == (wall - EPOCH) // SECOND

    def test_timeout(self) -> None:
        """What takes too long is cut off at the virtual moment it was given."""

        async def main(simulation: Simulation) -> float:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(90):
                    await asyncio.Event().wait()
            return simulation.clock.monotonic()

        assert 90 == int(simulate(main, seed=1))

    def test_until(self) -> None:
        """A condition is waited for, and not longer than one likes."""

        async def main(simulation: Simulation) -> None:
            await simulation.until(lambda: simulation.clock.monotonic() > 5, within=10)
            await simulation.until(lambda: False, within=10)

        with pytest.raises(TimeoutError):
            simulate(main, seed=1)


class TestOrder:
    def test_is_the_seeds(self) -> None:
        """A seed gives one order, and seeds give many."""
        orders = [simulate(race, seed=seed) for seed in SEEDS]

        assert orders == [simulate(race, seed=seed) for seed in SEEDS]
        assert 10 < len({tuple(order) for order in orders})

    def test_usual(self) -> None:
        """Without late steps, tasks run in the order in which they became ready."""

        async def main(simulation: Simulation) -> list[int]:
            order: list[int] = []

            async def note(number: int) -> None:
                order.append(number)

            await asyncio.gather(*(note(number) for number in range(9)))
            return order

        assert [list(range(9))] * 40 == [simulate(main, seed=seed, late=0) for seed in SEEDS]
        assert list(range(9)) not in [simulate(main, seed=seed, late=0.9) for seed in SEEDS]

    def test_of_callbacks(self) -> None:
        """What is given to call_soon runs in that order, as asyncio has promised."""

        async def main(simulation: Simulation) -> list[int]:
            order: list[int] = []
            loop = asyncio.get_running_loop()
            done = loop.create_future()
            done.add_done_callback(lambda _: order.append(-1))
            done.set_result(None)
            for number in range(9):
                loop.call_soon(order.append, number)
            while len(order) < 10:
                await simulation.clock.sleep(0)
            return order

        assert [list(range(-1, 9))] * 40 == [simulate(main, seed=seed) for seed in SEEDS]

    def test_of_sets(self) -> None:
        """A set of tasks has one order, wherever they lie in memory."""

        async def main(simulation: Simulation) -> list[str]:
            tasks = {asyncio.create_task(asyncio.Event().wait()) for _ in range(50)}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            return [task.get_name() for task in tasks]

        assert simulate(main, seed=1) == simulate(main, seed=1)


class TestChance:
    @pytest.mark.parametrize(
        "draw", [random.random, lambda: os.urandom(4), secrets.token_hex, lambda: make_ulid(EPOCH)]
    )
    def test_is_the_seeds(self, draw: Callable[[], object]) -> None:
        """Whatever a program takes for chance is the seed's while it is simulated."""

        async def main(simulation: Simulation) -> object:
            return draw()

        assert simulate(main, seed=1) == simulate(main, seed=1) != simulate(main, seed=2)

    def test_is_given_back(self) -> None:
        """Afterwards chance is what it was."""
        before = os.urandom, random.getstate()
        simulate(race, seed=1)

        assert before == (os.urandom, random.getstate())


class TestThreads:
    def test_inline(self) -> None:
        """A call for a thread runs on this one, and sees no loop."""

        async def main(simulation: Simulation) -> tuple[int, object]:
            threads = Threads("simulated", 1)
            here = await threads.run(threading.get_ident)
            return here, await threads.run(find_loop)

        assert (threading.get_ident(), None) == simulate(main, seed=1)

    def test_error(self) -> None:
        """What a call raises is raised where it was awaited."""

        async def main(simulation: Simulation) -> None:
            await asyncio.to_thread(int, "no number")

        with pytest.raises(ValueError, match="invalid literal"):
            simulate(main, seed=1)

    def test_real_one(self) -> None:
        """A real thread that calls in ends the run, even if it hides its own error."""

        async def main(simulation: Simulation) -> None:
            loop = asyncio.get_running_loop()

            def intrude() -> None:
                with pytest.raises(NotSimulated):
                    loop.call_soon_threadsafe(int)

            thread = threading.Thread(target=intrude, name="intruder")
            thread.start()
            thread.join()
            await simulation.clock.sleep(1)

        with pytest.raises(NotSimulated, match="intruder"):
            simulate(main, seed=1)

    def test_process(self) -> None:
        """Starting a process is refused."""

        async def main(simulation: Simulation) -> None:
            await asyncio.create_subprocess_exec("true")

        with pytest.raises(NotSimulated, match="process"):
            simulate(main, seed=1)


class TestStandstill:
    def test_names_who_waits(self) -> None:
        """When nothing can ever happen again, the error says who waits, and where."""

        async def main(simulation: Simulation) -> None:
            await asyncio.create_task(asyncio.Event().wait(), name="lonely")

        with pytest.raises(Standstill, match=r"lonely in Event\.wait"):
            simulate(main, seed=1)

    def test_circles(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A program that runs in circles is stopped."""
        monkeypatch.setattr("tests.simulation.simulated_loop.STEPS", 1_000)

        async def main(simulation: Simulation) -> None:
            while True:
                await simulation.clock.sleep(0)

        with pytest.raises(Standstill, match="circles"):
            simulate(main, seed=1)


class TestFailure:
    def test_tells_how_to_repeat(self) -> None:
        """What went wrong carries the seed and the last lines of the trace."""

        async def main(simulation: Simulation) -> None:
            simulation.note("the last straw")
            raise ValueError

        with pytest.raises(ValueError) as caught:
            simulate(main, seed=77)

        (note,) = caught.value.__notes__
        assert "seed 77" in note
        assert "the last straw" in note


class TestActors:
    def test_run(self) -> None:
        """Actors live on the loop as on any other, and still refuse to block it."""

        class Echo(AsyncioActor):
            async def on_receive(self, message: Any) -> Any:
                return message

        async def main(simulation: Simulation) -> object:
            ref = await Echo.start_async()
            with pytest.raises(BlockingInLoopError):
                ref.ask("blocked")
            answer = await ref.ask_async("hello")
            await ref.stop(block=False)
            return answer

        assert "hello" == simulate(main, seed=1)
