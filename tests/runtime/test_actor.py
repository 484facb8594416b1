from __future__ import annotations

import asyncio

import pykka
import pytest

from cortex_actors.errors import InternalError
from cortex_actors.runtime.actor import AsyncioActor
from tests.runtime.support import Recorder


class TestHandlers:
    async def test_proxy(self) -> None:
        """Synchronous methods, asynchronous methods and fields answer through Pykka's proxy."""
        proxy = Recorder.start().proxy()

        assert 6 == await proxy.double(3)
        assert 9 == await proxy.triple(3)
        assert [] == await proxy.seen

    async def test_order(self) -> None:
        """Messages are handled one after another in the order in which they were sent."""
        recorder = Recorder()
        ref = recorder.launch()
        for number in range(200):
            ref.tell(number)
        await ref.stop(block=False)

        assert list(range(200)) == recorder.seen

    async def test_failed_ask(self) -> None:
        """An exception in an ask goes to the asker and the actor lives."""
        ref = Recorder.start()
        with pytest.raises(ValueError, match="bad"):
            await ref.ask_async(ValueError("bad"))

        assert 1 == await ref.ask_async(1)

    async def test_cancelled_inside(self) -> None:
        """A handler that waits for something cancelled has failed; the actor is not cancelled."""

        class Waiting(AsyncioActor):
            async def on_receive(self, message: object) -> object:
                future = asyncio.get_running_loop().create_future()
                future.cancel()
                return await future if message == "lost" else message

        ref = Waiting.start()
        with pytest.raises(InternalError, match="cancelled"):
            await ref.ask_async("lost")

        assert "here" == await ref.ask_async("here")

    async def test_turns(self) -> None:
        """A busy actor lets others run after `throughput` messages."""
        recorder = Recorder()
        ref = recorder.launch()
        for number in range(1_000):
            ref.tell(number)
        done = await Recorder.start().ask_async("other")

        assert "other" == done
        assert len(recorder.seen) < 1_000
        await ref.stop(block=False)

    def test_no_loop(self) -> None:
        """Without a running loop, and without a home loop, an actor cannot be made."""
        with pytest.raises(InternalError, match="home_loop"):
            Recorder.start()


class TestStart:
    async def test_waits(self) -> None:
        """start_async returns after on_start."""
        recorder = Recorder()
        await recorder.launch().life.started

        assert ["start"] == recorder.hooks

    async def test_raises(self) -> None:
        """start_async raises what on_start raised, and that is the exit reason."""

        class Broken(AsyncioActor):
            async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
                raise OSError("no file")

        with pytest.raises(OSError, match="no file"):
            await Broken.start_async()
        assert [] == pykka.ActorRegistry.get_all()

    async def test_once(self) -> None:
        """An actor is started once, while it lives and afterwards."""
        recorder = Recorder()
        ref = recorder.launch()
        with pytest.raises(InternalError, match="started before"):
            recorder.launch()
        await ref.stop(block=False)
        await ref.join()
        with pytest.raises(InternalError, match="started before"):
            recorder.launch()

        assert ["start", "stop"] == recorder.hooks
        assert ref not in pykka.ActorRegistry.get_all()

    async def test_killed_before_first_step(self) -> None:
        """An actor that is killed before it ran a line ends as any other."""
        ref = Recorder.start()
        answer = ref.ask(1, block=False)
        ref.kill()

        assert "killed" == await ref.join()
        for reply in (answer, ref.life.started):
            with pytest.raises(pykka.ActorDeadError):
                await reply
