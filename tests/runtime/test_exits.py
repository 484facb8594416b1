from __future__ import annotations

import asyncio
import gc

import pykka
import pytest

from cortex_actors.runtime.actor import AsyncioActor
from tests.runtime.support import Recorder


class TestExitReason:
    async def test_stop(self) -> None:
        """stop() ends an actor normally, after what it was sent before and after on_stop."""
        recorder = Recorder()
        ref = recorder.launch()
        ref.tell(1)

        assert await ref.stop(block=False)
        assert "normal" == await ref.join()
        assert [1] == recorder.seen
        assert ["start", "stop"] == recorder.hooks
        assert not await ref.stop(block=False)

    async def test_shutdown(self) -> None:
        """A shutdown message ends an actor with its reason, in order."""
        recorder = Recorder()
        ref = recorder.launch()
        ref.tell(1)
        ref.shut_down()
        ref.tell(2)

        assert "shutdown" == await ref.join()
        assert [1] == recorder.seen

    async def test_tell_raises(self) -> None:
        """An exception in a tell ends the actor with that exception, after on_failure."""
        recorder = Recorder()
        ref = recorder.launch()
        error = ValueError("bad")
        ref.tell(error)

        assert error is await ref.join()
        assert ["start", "failure: bad"] == recorder.hooks

    async def test_kill(self) -> None:
        """kill() cancels the handler, fails every asker and runs no on_stop."""
        recorder = Recorder()
        ref = recorder.launch()
        answers = [ref.ask("wait", block=False), ref.ask(1, block=False)]
        await recorder.held.wait()
        ref.kill()
        for answer in answers:
            with pytest.raises(pykka.ActorDeadError):
                await answer

        assert "killed" == await ref.join()
        assert ["start"] == recorder.hooks
        assert pykka.ActorRegistry.get_by_urn(ref.actor_urn) is None

    async def test_kill_swallowed(self) -> None:
        """A handler that swallows its cancellation is the last one that runs."""

        class Stubborn(Recorder):
            async def on_receive(self, message: object) -> object:
                try:
                    return await super().on_receive(message)
                except asyncio.CancelledError:
                    return "swallowed"

        recorder = Stubborn()
        ref = recorder.launch()
        answer = ref.ask("wait", block=False)
        ref.tell(2)
        await recorder.held.wait()
        ref.kill()

        assert "killed" == await ref.join()
        assert "swallowed" == await answer
        assert [] == recorder.seen

    async def test_kill_in_on_stop(self) -> None:
        """An actor that hangs in on_stop can be killed."""

        class Hanging(Recorder):
            async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
                self.held.set()
                await self.gate.wait()

        recorder = Hanging()
        ref = recorder.launch()
        ref.shut_down()
        await recorder.held.wait()
        ref.kill()

        assert "killed" == await ref.join()

    async def test_kill_from_thread(self) -> None:
        """kill() may be called on any thread."""
        ref = Recorder.start()
        await asyncio.to_thread(ref.kill)

        assert "killed" == await ref.join()

    async def test_outlives_actor(self) -> None:
        """A ref knows the exit reason after the actor object is gone, and does not keep it."""
        ref = Recorder.start()
        await ref.stop(block=False)
        await ref.join()
        await Recorder.start().ask_async("a turn of the loop")
        gc.collect()

        assert ref._actor_weakref() is None

        assert "normal" == await ref.join()

    async def test_bad_listener(self, caplog: pytest.LogCaptureFixture) -> None:
        """Somebody who fails when it hears of an end keeps nobody else from hearing of it."""

        def fail() -> None:
            raise OSError("deaf")

        ref = Recorder.start()
        ref.on_end(fail)
        waiting = [asyncio.ensure_future(ref.join()) for _ in range(3)]
        await Recorder.start().ask_async("a turn of the loop")
        ref.kill()

        assert ["killed"] * 3 == await asyncio.gather(*waiting)
        assert "OSError: deaf" in caplog.text

    async def test_base_exception(self) -> None:
        """A SystemExit in a handler stops every actor, as in Pykka."""

        class Leaving(AsyncioActor):
            def on_receive(self, message: object) -> object:
                raise SystemExit(message)

        bystander, leaving = Recorder.start(), Leaving.start()
        leaving.tell(3)

        assert isinstance(await leaving.join(), SystemExit)
        assert "normal" == await bystander.join()
