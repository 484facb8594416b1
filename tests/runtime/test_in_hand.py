from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import TYPE_CHECKING

import pykka
import pytest
from pykka.messages import ProxyCall

from cortex_actors.errors import InternalError
from cortex_actors.runtime.actor import AsyncioActor
from tests.runtime.support import Recorder, held

if TYPE_CHECKING:
    from cortex_actors.runtime.life import InHand


def in_hand(recorder: Recorder) -> dict[str, InHand]:
    """Return what an actor has in hand, by title."""
    return {one.title: one for one in recorder.actor_ref.life.list_work()}


class TestInHand:
    async def test_message(self) -> None:
        """The message being handled is in hand since its handler began, for `message_limit` s."""

        class Patient(Recorder):
            message_limit = 7.5

        loop = asyncio.get_running_loop()
        before = loop.time()
        recorder = await held(Patient())
        message = in_hand(recorder)["str"]

        assert before <= message.since <= loop.time()
        assert 7.5 == message.limit
        assert message.task is not None
        assert not message.task.done()
        recorder.gate.set()

    async def test_method(self) -> None:
        """A call through a proxy or by name is called as the method."""

        class Slow(Recorder):
            async def dig(self) -> None:
                self.held.set()
                await self.gate.wait()

        recorder = Slow()
        recorder.launch().tell(ProxyCall(("dig",), (), {}))
        await recorder.held.wait()

        assert ["dig"] == list(in_hand(recorder))
        recorder.gate.set()

    async def test_idle(self) -> None:
        """An idle actor has nothing in hand, and keeps nothing of its last message."""

        class Large:
            pass

        class Forgetful(AsyncioActor):
            def on_receive(self, message: object) -> None:
                """Take it."""

        actor, large = Forgetful(), Large()
        ref = actor.launch()
        gone = weakref.ref(large)
        await ref.ask_async(large)
        del large
        gc.collect()

        assert [] == ref.life.list_work()
        assert gone() is None

    async def test_synchronous(self) -> None:
        """A synchronous handler that hangs is in hand since it was first seen, from a thread."""

        class Blocking(AsyncioActor):
            def on_receive(self, message: object) -> None:
                """Freeze the loop."""
                look.start()
                assert seen.wait(5)

        def watch() -> None:
            found.extend(two for _ in range(2) for two in ref.life.list_work())
            seen.set()

        found: list[InHand] = []
        seen, look = threading.Event(), threading.Thread(target=watch)
        ref = Blocking.start()
        await ref.ask_async(1)
        look.join()

        assert ["int", "int"] == [one.title for one in found]
        assert found[0].since == found[1].since

    async def test_spawned(self) -> None:
        """A spawned task is in hand with the limit it was given; without one it has none."""
        recorder = Recorder()
        recorder.launch()
        recorder.spawn(recorder.gate.wait(), name="bounded", limit=3.0)
        recorder.spawn(recorder.gate.wait(), name="endless")
        limits = {title: one.limit for title, one in in_hand(recorder).items()}
        recorder.gate.set()

        assert {"bounded": 3.0, "endless": 0.0} == limits
        await recorder.actor_ref.stop(block=False)
        await recorder.actor_ref.join()
        assert {} == in_hand(recorder)

    async def test_deferred(self) -> None:
        """A deferred reply is in hand as long as a message may be, until it is given."""
        recorder = Recorder()
        answer = recorder.launch().proxy().later(7)
        await recorder.held.wait()
        later = in_hand(recorder)["later"]
        recorder.gate.set()

        assert Recorder.message_limit == later.limit
        assert 7 == await answer
        assert {} == in_hand(recorder)

    async def test_deferred_future(self) -> None:
        """A deferred reply that is a bare future is in hand too, without a task."""

        class Owing(AsyncioActor):
            def on_receive(self, message: object) -> asyncio.Future[str]:
                """Answer later."""
                return work

        work: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        ref = Owing.start()
        answer = ref.ask(1, block=False)
        await Recorder.start().ask_async("a turn of the loop")
        found = ref.life.list_work()
        work.set_result("done")

        assert ["deferred reply"] == [one.title for one in found]
        assert found[0].task is None
        assert "done" == await answer


class TestFail:
    async def test_in_a_handler(self) -> None:
        """An actor that sits in a handler can be crashed: its asker is told, on_failure runs."""
        recorder = Recorder()
        ref = recorder.launch()
        answer = ref.ask("wait", block=False)
        await recorder.held.wait()
        error = TimeoutError("too long")
        ref.fail(error)
        with pytest.raises(pykka.ActorDeadError):
            await answer

        assert error is await ref.join()
        assert ["start", "failure: too long"] == recorder.hooks

    async def test_idle(self) -> None:
        """An idle actor can be crashed as well, from a thread."""
        ref = Recorder.start()
        await ref.life.started
        error = OSError("gone")
        await asyncio.to_thread(ref.fail, error)

        assert error is await ref.join()

    async def test_before_first_step(self) -> None:
        """An actor that is crashed before it ran a line ends with that reason."""
        ref = Recorder.start()
        error = OSError("gone")
        ref.fail(error)

        assert error is await ref.join()

    async def test_swallowed(self) -> None:
        """A handler that swallows its cancellation is the last one that runs."""

        class Stubborn(Recorder):
            async def on_receive(self, message: object) -> object:
                try:
                    return await super().on_receive(message)
                except asyncio.CancelledError:
                    return "swallowed"

        recorder = await held(Stubborn())
        recorder.actor_ref.tell(2)
        error = OSError("gone")
        recorder.actor_ref.fail(error)

        assert error is await recorder.actor_ref.join()
        assert [] == recorder.seen

    async def test_ending(self) -> None:
        """An actor that is ending already, or has, keeps its reason."""

        class Hanging(Recorder):
            async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
                self.held.set()
                await self.gate.wait()

        recorder = Hanging()
        ref = recorder.launch()
        ref.shut_down()
        await recorder.held.wait()
        ref.fail(OSError("gone"))
        recorder.gate.set()

        assert "shutdown" == await ref.join()
        ref.fail(OSError("gone"))
        assert "shutdown" == await ref.join()


class TestPrivateNames:
    @pytest.mark.parametrize("name", ["_life", "_course", "_actor_ref", "_stop", "_handle_receive"])
    def test_refused(self, name: str) -> None:
        """A subclass cannot take, by accident, a private name that makes an actor run."""
        with pytest.raises(InternalError, match=name):
            type("Careless", (AsyncioActor,), {name: None})

    def test_own(self) -> None:
        """Every other name is free, as are the ones that every class has."""
        names = dict.fromkeys(["_turn", "_fail", "_crash", "_end", "_take_messages", "__doc__"])

        assert issubclass(type("Free", (AsyncioActor,), names), AsyncioActor)
