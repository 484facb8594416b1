"""Whom the watchdog does not crash, and whom it does not overlook."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from cortex_actors.errors import ActorAway
from cortex_actors.runtime.actor import AsyncioActor, start_actor
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.runtime.watchdog import Watchdog
from cortex_actors.testing import eventually
from supervision import ChildSpec, Supervisor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

#: Seconds that a message may take here.
LIMIT = 100.0


class Worker(AsyncioActor):
    """Waits for its gate."""

    message_limit: ClassVar[float] = LIMIT

    def __init__(self) -> None:
        """Have begun a task without a limit, long ago as tests go."""
        super().__init__()
        self.gate = asyncio.Event()
        self.task: asyncio.Task[Any] | None = None

    async def work(self) -> None:
        """Wait in the message."""
        await self.gate.wait()

    def begin(self) -> None:
        """Wait in a task that may take as long as it likes."""
        self.task = self.spawn(self.work(), name="old")

    def old(self) -> asyncio.Task[Any] | None:
        """Answer with what that task gives."""
        return self.task


class Lingerer(Worker):
    """Has a task that ends only when it is cancelled twice; or cleans up for ever."""

    message_limit: ClassVar[float] = 0.02
    lives = 0

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Have the task in the first life."""
        Lingerer.lives += 1
        if Lingerer.lives == 1:
            self.spawn(self.linger())

    async def linger(self) -> None:
        """Swallow one cancellation."""
        with suppress(asyncio.CancelledError):
            await self.gate.wait()
        await self.gate.wait()


class Hands:
    """Turns the hands of the clock by which a watchdog looks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Add nothing yet to the loop's own time."""
        self.names = Names()
        self.watchdog = Watchdog(self.names)
        loop = asyncio.get_running_loop()
        self._time: Callable[[], float] = loop.time
        self._ahead = 0.0
        monkeypatch.setattr(loop, "time", lambda: self._time() + self._ahead)

    def look(self, seconds: float) -> None:
        """Look after so many seconds, in all of which the loop turned."""
        self._ahead += seconds
        self.watchdog._looked = asyncio.get_running_loop().time()
        self.watchdog.look()

    def crashed(self) -> set[str]:
        """Return who was crashed since, and has not ended yet."""
        known = self.names.list_known().items()
        return {name for name, ref in known if ref.life.crash is not None}

    async def start(self, name: str) -> Worker:
        """Start a worker under a name."""
        handle = await start_actor(self.names, name, Worker)
        worker = handle.ref._actor_weakref()
        assert isinstance(worker, Worker)
        return worker

    async def hold(self, name: str) -> None:
        """Have a worker begin a message."""
        NamedActor[Any](name, self.names).tell(Worker.work)
        ref = self.names.whereis(name)
        assert ref is not None
        await eventually(lambda: bool(ref.life.list_work()))


@pytest.fixture
async def hands(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hands]:
    """Give the hands of a clock, and let nobody wait afterwards."""
    found = Hands(monkeypatch)
    yield found
    for ref in found.names.list_known().values():
        ref.kill()
        await ref.join()


class TestInnocent:
    async def test_within_limit(self, hands: Hands) -> None:
        """Who has nearly reached its limit is not crashed because another has passed its own."""
        await hands.start("late")
        worker = await hands.start("busy")
        await hands.hold("late")
        hands.look(0.03 * LIMIT)
        await hands.hold("busy")
        hands.look(0.98 * LIMIT)
        hands.look(0.01 * LIMIT)
        crashed = hands.crashed()
        worker.gate.set()
        await eventually(lambda: not worker.actor_ref.life.list_work())
        hands.look(0.01 * LIMIT)
        await eventually(lambda: {"busy"} == hands.names.list_known().keys())

        assert set() == crashed

    async def test_does_not_wait_for_ever(self, hands: Hands) -> None:
        """Who has nearly reached its limit delays the crash of another by no more than a tenth."""
        await hands.start("late")
        await hands.start("busy")
        await hands.hold("late")
        hands.look(0.14 * LIMIT)
        await hands.hold("busy")
        hands.look(0.97 * LIMIT)
        await eventually(lambda: {"busy"} == hands.names.list_known().keys())

    async def test_old_task(self, hands: Hands) -> None:
        """A task that ran for long without a limit has the whole of it once somebody waits."""
        worker = await hands.start("worker")
        NamedActor[Any]("worker", hands.names).tell(Worker.begin)
        await eventually(lambda: worker.task is not None)
        hands.look(5 * LIMIT)
        asking = asyncio.create_task(
            NamedActor[Any]("worker", hands.names, timeout=None).ask(Worker.old)
        )
        await eventually(lambda: bool(worker._life._owed))
        hands.look(0.9 * LIMIT)
        crashed = hands.crashed()
        hands.look(0.2 * LIMIT)
        with pytest.raises(ActorAway):
            await asking

        assert set() == crashed


class TestDying:
    async def test_comes_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who crashed by itself comes back even if a task of its own does not let it end."""
        monkeypatch.setattr(Lingerer, "lives", 0)
        names = Names()
        watchdog = Watchdog(names, look=0.01, grace=0.02)
        start = partial(start_actor, names, "lingerer", Lingerer)
        supervisor = await Supervisor([ChildSpec("lingerer", start)], name="top").start()
        watchdog.start()
        NamedActor[Any]("lingerer", names).tell(AsyncioActor.crash)
        await eventually(lambda: 2 == Lingerer.lives)
        await eventually(lambda: "lingerer" in names.list_known())
        await watchdog.stop()
        await supervisor.stop(5.0)

        assert {} == names.list_dying()
