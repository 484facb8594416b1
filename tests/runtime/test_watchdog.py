"""Actors that sit in one message for too long: reported, crashed, killed, given up."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from cortex_actors.errors import ActorAway, Stuck
from cortex_actors.runtime.actor import ActorHandle, AsyncioActor, start_actor
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.runtime.watchdog import Watchdog
from cortex_actors.testing import eventually
from supervision import ChildSpec, Report, Supervisor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

#: Seconds that a message may take here.
LIMIT = 0.05


class Sleeper(AsyncioActor):
    """Waits for ever, in as many ways as there are."""

    message_limit: ClassVar[float] = LIMIT

    def __init__(self, names: Names | None = None) -> None:
        """Have nobody to ask, unless told."""
        super().__init__()
        self.names = names or Names()
        self.gate = asyncio.Event()

    async def hang(self) -> None:
        """Wait in the message."""
        await self.deeper()

    async def deeper(self) -> None:
        """Wait in a function of its own."""
        await self.gate.wait()

    async def answer(self) -> str:
        """Answer at once."""
        return "here"

    def defer(self) -> asyncio.Task[None]:
        """Wait in a deferred reply; the mailbox goes on."""
        return self.spawn(self.deeper(), name="deferred")

    def background(self, limit: float) -> None:
        """Wait in a task of its own."""
        self.spawn(self.deeper(), name="background", limit=limit)

    def background_stubborn(self, times: int) -> None:
        """Swallow so many cancellations in a task of its own."""
        self.spawn(self.stubborn(times), name="background", limit=LIMIT)

    async def ask(self, name: str) -> None:
        """Wait for another actor that hangs."""
        await NamedActor[Any](name, self.names, timeout=None).ask(Sleeper.hang)

    async def stubborn(self, times: int) -> None:
        """Swallow so many cancellations."""
        for _ in range(times):
            with suppress(asyncio.CancelledError):
                await self.deeper()


class Unlimited(Sleeper):
    """May take as long as it likes."""

    message_limit: ClassVar[float] = 0.0


class Stage:
    """Names, a supervisor that restarts, and a watchdog in a hurry."""

    def __init__(self) -> None:
        """Have nobody on the stage."""
        self.names = Names()
        self.reports: list[Report] = []
        self.watchdog = Watchdog(self.names, look=0.01, grace=0.05)
        self.supervisor: Supervisor | None = None

    async def play(self, **actors: type[Sleeper]) -> None:
        """Start actors under their names, and watch them."""
        specs = [
            ChildSpec(name, self._start(name, kind), shutdown=0.05) for name, kind in actors.items()
        ]
        self.supervisor = Supervisor(
            specs, name="stage", intensity=100, report=self.reports.append, grace=0.05
        )
        await self.supervisor.start()
        self.watchdog.start()

    def tell(self, name: str, method: Any, *args: object) -> None:
        """Have an actor do something, and wait for nothing."""
        assert NamedActor[Any](name, self.names).tell(method, *args)

    def told(self, kind: str) -> list[object]:
        """Return the reasons of reports of a kind, or the children where there is none."""
        found = [each for each in self.reports if each.kind == kind]
        return [each.child if each.reason is None else each.reason for each in found]

    async def end(self) -> None:
        """Stop everything."""
        await self.watchdog.stop()
        if self.supervisor is not None:
            await self.supervisor.stop(5.0)

    def _start(self, name: str, kind: type[Sleeper]) -> Any:
        async def start() -> ActorHandle:
            return await start_actor(self.names, name, kind, self.names)

        return start


def tasks(name: str) -> list[asyncio.Task[Any]]:
    """Return the tasks of a name."""
    return [task for task in asyncio.all_tasks() if task.get_name() == name]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """Give a stage, and clear it afterwards."""
    found = Stage()
    yield found
    await found.end()


class TestOverdue:
    @pytest.mark.parametrize(
        ("method", "args"),
        [(Sleeper.hang, ()), (Sleeper.defer, ()), (Sleeper.background, (LIMIT,))],
    )
    async def test_restarts(
        self,
        stage: Stage,
        caplog: pytest.LogCaptureFixture,
        *,
        method: Any,
        args: tuple[object, ...],
    ) -> None:
        """Whatever it hangs in, an actor is reported with its stack, crashed, and comes back."""
        await stage.play(sleeper=Sleeper)
        if method is Sleeper.defer:
            asking = asyncio.ensure_future(NamedActor[Any]("sleeper", stage.names).ask(method))
            with pytest.raises(ActorAway):
                await asking
        else:
            stage.tell("sleeper", method, *args)
        await eventually(lambda: ["sleeper"] == stage.told("restarted"))

        (reason,) = stage.told("exited")
        (record,) = [each for each in caplog.records if each.name == "cortex.watchdog"]
        assert isinstance(reason, Stuck)
        assert f"{LIMIT:g} s are allowed" in str(reason)
        assert reason.stack[-1].endswith("in Event.wait")
        assert (logging.ERROR, "sleeper") == (record.levelno, record.__dict__["actor"])
        assert "Sleeper.deeper" in record.__dict__["traceback"]
        assert "here" == await NamedActor[Any]("sleeper", stage.names).ask(Sleeper.answer)

    async def test_asker_is_told(self, stage: Stage) -> None:
        """Whoever asked the one that hangs gets an answer: that it ended."""
        await stage.play(sleeper=Sleeper)

        with pytest.raises(ActorAway, match="ended while it had the call"):
            await NamedActor[Any]("sleeper", stage.names).ask(Sleeper.hang)

    async def test_asker_lives(self, stage: Stage) -> None:
        """Of two that wait for one another, only the one that hangs is crashed."""
        await stage.play(sleeper=Sleeper, asker=Sleeper)
        with pytest.raises(ActorAway):
            await NamedActor[Any]("asker", stage.names).ask(Sleeper.ask, "sleeper")
        await eventually(lambda: bool(stage.told("restarted")))

        assert ["sleeper"] == [each.child for each in stage.reports if each.kind == "exited"]

    @pytest.mark.parametrize("kind", [Sleeper, Unlimited])
    async def test_patience(self, stage: Stage, kind: type[Sleeper]) -> None:
        """Tasks without a limit, and actors without one, may take as long as they like."""
        await stage.play(sleeper=kind, other=Sleeper)
        stage.tell("sleeper", Sleeper.background, 0.0)
        if kind is Unlimited:
            stage.tell("sleeper", Sleeper.hang)
        for times in (1, 2):
            stage.tell("other", Sleeper.hang)
            await eventually(lambda n=times: n == len(stage.told("restarted")))

        assert {"other"} == {each.child for each in stage.reports if each.kind == "exited"}


class TestStubborn:
    async def test_killed(self, stage: Stage) -> None:
        """An actor that swallows its crash goes on being pressed, and comes back."""
        await stage.play(sleeper=Sleeper)
        stage.tell("sleeper", Sleeper.stubborn, 2)
        await eventually(lambda: ["sleeper"] == stage.told("restarted"))

        assert "here" == await NamedActor[Any]("sleeper", stage.names).ask(Sleeper.answer)

    async def test_given_up(self, stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
        """An actor that survives its kill as well is given up, and its successor has its name."""
        await stage.play(sleeper=Sleeper)
        before = stage.names.whereis("sleeper")
        assert before is not None
        (task,) = tasks("sleeper")
        stage.tell("sleeper", Sleeper.stubborn, 3)
        await eventually(lambda: ["sleeper"] == stage.told("restarted"))

        assert ["killed"] == stage.told("exited")
        assert "is given up" in caplog.text
        assert not task.done()
        assert "here" == await NamedActor[Any]("sleeper", stage.names).ask(Sleeper.answer)
        task.cancel()
        await asyncio.wait({task})

    async def test_task(self, stage: Stage) -> None:
        """A task that swallows its end does not keep its actor from coming back."""
        await stage.play(sleeper=Sleeper)
        stage.tell("sleeper", Sleeper.background_stubborn, 3)
        await eventually(lambda: bool(tasks("sleeper/background")))
        (task,) = tasks("sleeper/background")
        await eventually(lambda: ["sleeper"] == stage.told("restarted"))

        assert not task.done()
        task.cancel()
        await asyncio.wait({task})


class TestFrozen:
    async def test_excuses(self, stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
        """The time in which the loop was frozen is not counted."""
        await stage.play(sleeper=Sleeper)
        await stage.watchdog.stop()
        loop = asyncio.get_running_loop()
        hanging = asyncio.ensure_future(NamedActor[Any]("sleeper", stage.names).ask(Sleeper.hang))
        await eventually(lambda: bool(stage.names.list_known()["sleeper"].life.list_work()))
        before = loop.time()
        await eventually(lambda: loop.time() > before + 3 * LIMIT)
        stage.watchdog.look()
        excused = "are allowed" not in caplog.text
        stage.watchdog.start()
        with pytest.raises(ActorAway):
            await hanging

        assert excused

    async def test_fault(
        self, stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A fault in a look is logged, and the next look is made."""
        await stage.play(sleeper=Sleeper)
        known, faults = stage.names.list_known, [ValueError("once")]

        def once() -> Any:
            if faults:
                raise faults.pop()
            return known()

        monkeypatch.setattr(stage.names, "list_known", once)
        stage.tell("sleeper", Sleeper.hang)
        await eventually(lambda: ["sleeper"] == stage.told("restarted"))

        assert "failed inside" in caplog.text


class TestPace:
    async def test_one_by_one(self, stage: Stage) -> None:
        """Of many that hang at once one is crashed at a time, and all are in the end."""
        names = [f"sleeper{number}" for number in range(5)]
        await stage.play(**dict.fromkeys(names, Sleeper))
        await stage.watchdog.stop()
        for name in names:
            stage.tell(name, Sleeper.hang)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await eventually(lambda: loop.time() > begun + 2 * LIMIT)
        stage.watchdog._looked = loop.time()
        stage.watchdog.look()
        stage.watchdog.look()
        await eventually(lambda: 1 == len(stage.told("exited")))
        stage.watchdog.start()
        await eventually(lambda: set(names) == set(stage.told("restarted")))

        assert 5 == len(stage.told("exited"))
