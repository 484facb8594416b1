from __future__ import annotations

import asyncio
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import pykka
import pytest

from cortex_actors.errors import InternalError
from cortex_actors.runtime.actor import AsyncioActor, start_actor
from cortex_actors.runtime.names import NamedActor, Names
from supervision import ChildSpec, Supervisor
from tests.runtime.support import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervision import Handle


class Broken(AsyncioActor):
    """Cannot start."""

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Fail."""
        raise OSError("no file")


class Greeter(AsyncioActor):
    """Is made with arguments."""

    def __init__(self, word: str, *, loud: bool) -> None:
        super().__init__()
        self.greeting = word.upper() if loud else word

    def greet(self) -> str:
        """Return the greeting."""
        return self.greeting


class TestStart:
    async def test_class(self) -> None:
        """An actor is started from a class and its arguments, knows its name and answers to it."""
        names = Names()
        handle = await start_actor(names, "greeter", Greeter, "hello", loud=True)

        assert "HELLO" == await NamedActor[Any]("greeter", names).ask(Greeter.greet)
        assert "greeter" == await handle.ref.proxy().actor_name

    async def test_on_start_raises(self) -> None:
        """What on_start raised is raised, and the name stays free."""
        names = Names()
        with pytest.raises(OSError, match="no file"):
            await start_actor(names, "broken", Broken)

        assert names.whereis("broken") is None
        assert [] == pykka.ActorRegistry.get_all()

    async def test_taken(self) -> None:
        """A name that a living actor has starts no second one."""
        names = Names()
        await start_actor(names, "recorder", Recorder)
        with pytest.raises(InternalError, match="cannot start recorder"):
            await start_actor(names, "recorder", Recorder)

        assert 1 == len(pykka.ActorRegistry.get_all())

    async def test_cancelled(self) -> None:
        """A start that is cancelled leaves no actor behind."""

        class Slow(Recorder):
            async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
                self.held.set()
                await self.gate.wait()

        names, slow = Names(), Slow()
        starting = asyncio.create_task(start_actor(names, "slow", lambda: slow))
        await slow.held.wait()
        starting.cancel()
        await asyncio.wait({starting})

        assert starting.cancelled()
        assert "killed" == await slow.actor_ref.join()


class TestHandle:
    @pytest.mark.parametrize("timeout", [None, math.inf, 5.0])
    async def test_stop(self, timeout: float | None) -> None:
        """A stop drains what was sent before and ends the actor with "shutdown"."""
        recorder = Recorder()
        handle = await start_actor(Names(), "recorder", lambda: recorder)
        handle.ref.tell(1)
        await handle.stop(timeout)

        assert [1] == recorder.seen
        assert "shutdown" == await handle.exited()
        await handle.stop(timeout)

    async def test_stop_late(self) -> None:
        """A stop raises TimeoutError when the actor is still alive, which can then be killed."""
        recorder = Recorder()
        handle = await start_actor(Names(), "recorder", lambda: recorder)
        handle.ref.tell("wait")
        with pytest.raises(TimeoutError):
            await handle.stop(0.01)
        handle.kill()

        assert "killed" == await handle.exited()

    async def test_info(self) -> None:
        """The info tells how many messages wait, were handled and found no room."""

        class Choosy(Recorder):
            mailbox_limit = 1
            overflow = "drop-new"  # type: ignore[assignment]

        recorder = Choosy()
        handle = await start_actor(Names(), "recorder", lambda: recorder)
        handle.ref.tell("wait")
        await recorder.held.wait()
        handle.ref.tell(1)
        before = handle.info()
        handle.ref.tell(2)

        after = handle.info()

        assert (1, 1, 1, 0) == tuple(before[key] for key in ("depth", "high", "handled", "dropped"))
        assert before | {"dropped": 1, "longest_ms": after["longest_ms"]} == after
        assert (1, "drop-new") == (after["limit"], after["overflow"])
        recorder.gate.set()


class TestUnderASupervisor:
    async def test_restart(self) -> None:
        """A caller by name notices nothing but a pause when its actor crashes."""
        names = Names()

        async def start() -> Handle:
            return await start_actor(names, "recorder", Recorder)

        double: Callable[[int], object] = partial(
            NamedActor[Any]("recorder", names).ask, Recorder.double
        )
        top = Supervisor([ChildSpec("recorder", start)], name="top", report=None)
        await top.start()
        first = names.whereis("recorder")
        assert first is not None
        names.tell("recorder", ValueError("crash"))
        await first.join()

        assert 4 == await double(2)  # type: ignore[misc]
        assert names.whereis("recorder") is not first
        await top.stop(None)
        assert names.whereis("recorder") is None
