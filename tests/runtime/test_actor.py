from __future__ import annotations

import asyncio
import gc

import pykka
import pytest

from cortex_actors.errors import InternalError
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.life import AskErrors, Exit
from tests.runtime.support import Recorder, held


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

    async def test_failed_ask_crash(self) -> None:
        """With `ask_errors = "crash"` the asker gets the exception and the actor ends with it."""

        class Strict(Recorder):
            ask_errors = AskErrors.CRASH

        ref = Strict.start()
        error = ValueError("bad")
        with pytest.raises(ValueError, match="bad"):
            await ref.ask_async(error)

        assert error is await ref.join()

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

    async def test_exit(self) -> None:
        """Exit in on_start is the exit reason, and whoever started the actor is told."""

        class Unwilling(AsyncioActor):
            def on_start(self) -> None:
                raise Exit("shutdown")

        ref = Unwilling.start()
        with pytest.raises(pykka.ActorDeadError, match="shutdown"):
            await ref.life.started

        assert "shutdown" == await ref.join()

    async def test_killed_before_first_step(self) -> None:
        """An actor that is killed before it ran a line ends as any other."""
        ref = Recorder.start()
        answer = ref.ask(1, block=False)
        ref.kill()

        assert "killed" == await ref.join()
        for reply in (answer, ref.life.started):
            with pytest.raises(pykka.ActorDeadError):
                await reply


class TestExitReason:
    async def test_stop(self) -> None:
        """stop() ends an actor normally, after what it was sent before and after on_stop."""
        recorder = Recorder()
        ref = recorder.launch()
        ref.tell(1)

        assert await ref.stop(block=False)
        assert "normal" == await ref.join()
        assert ref.exit_reason == "normal"
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

    async def test_exit(self) -> None:
        """Exit ends the actor with its reason, and the asker is told."""
        recorder = Recorder()
        ref = recorder.launch()
        answer = ref.proxy().leave(("shutdown", 1))
        with pytest.raises(pykka.ActorDeadError):
            await answer

        assert ("shutdown", 1) == await ref.join()
        assert ["start", "stop"] == recorder.hooks

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
        """A ref knows the exit reason after the actor object is gone."""
        ref = Recorder.start()
        await ref.stop(block=False)
        await ref.join()
        gc.collect()

        assert "normal" == await ref.join()

    async def test_base_exception(self) -> None:
        """A SystemExit in a handler stops every actor, as in Pykka."""

        class Leaving(AsyncioActor):
            def on_receive(self, message: object) -> object:
                raise SystemExit(message)

        bystander, leaving = Recorder.start(), Leaving.start()
        leaving.tell(3)

        assert isinstance(await leaving.join(), SystemExit)
        assert "normal" == await bystander.join()


class TestDeferredReply:
    async def test_mailbox_goes_on(self) -> None:
        """While a deferred reply is due the actor handles other messages."""
        recorder = Recorder()
        proxy = recorder.launch().proxy()
        answer = proxy.later(7)
        await recorder.held.wait()

        assert 4 == await proxy.double(2)
        assert not answer.done()
        recorder.gate.set()
        assert 7 == await answer

    async def test_failure(self) -> None:
        """A deferred reply that fails goes to the asker and is no crash."""
        recorder = Recorder()
        proxy = recorder.launch().proxy()
        recorder.gate.set()
        with pytest.raises(ValueError, match="-1"):
            await proxy.later(-1)

        assert 4 == await proxy.double(2)

    @pytest.mark.parametrize("end", ["kill", "stop", "crash"])
    async def test_actor_ends(self, end: str) -> None:
        """An asker whose deferred reply can no longer come gets ActorDeadError."""
        recorder = Recorder()
        ref = recorder.launch()
        answer = ref.proxy().later(7)
        await recorder.held.wait()
        if end == "kill":
            ref.kill()
        elif end == "stop":
            ref.shut_down()
        else:
            ref.tell(ValueError("bad"))
        with pytest.raises(pykka.ActorDeadError):
            await answer

    async def test_cancelled(self) -> None:
        """An asker whose deferred reply was cancelled is told, and the actor lives."""
        recorder = Recorder()
        ref = recorder.launch()
        answer = ref.proxy().later(7)
        await recorder.held.wait()
        next(task for task in asyncio.all_tasks() if task.get_name().endswith("/later")).cancel()
        with pytest.raises(InternalError, match="cancelled"):
            await answer

        assert 4 == await ref.proxy().double(2)

    async def test_shared(self) -> None:
        """Several askers may get the same future as their deferred reply."""

        class Shared(AsyncioActor):
            def __init__(self) -> None:
                super().__init__()
                self.work = asyncio.get_running_loop().create_future()

            def on_receive(self, message: object) -> asyncio.Future[str]:
                return self.work

        actor = Shared()
        ref = actor.launch()
        answers = [ref.ask(n, block=False) for n in range(3)]
        actor.work.set_result("one")

        assert ["one"] * 3 == [await answer for answer in answers]


class TestSpawn:
    async def test_crash(self) -> None:
        """An exception in a spawned task ends the actor with it."""
        recorder = Recorder()
        ref = recorder.launch()
        error = OSError("gone")
        await ref.proxy().start_task(error)

        assert error is await ref.join()
        assert ["start", "failure: gone"] == recorder.hooks

    async def test_crash_cuts_handler(self) -> None:
        """A spawned task's crash ends the handler that runs, and its asker is told."""
        recorder = Recorder()
        ref = recorder.launch()
        ref.proxy().start_task.defer(OSError("gone"))
        answer = ref.ask("wait", block=False)
        with pytest.raises(pykka.ActorDeadError):
            await answer

        assert isinstance(await ref.join(), OSError)

    async def test_crash_in_on_start(self) -> None:
        """A spawned task's crash ends an on_start that waits for it."""

        class Reading(Recorder):
            async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
                await self.start_task(OSError("gone"))
                await self.gate.wait()

        with pytest.raises(OSError, match="gone"):
            await Reading.start_async()

    async def test_exit(self) -> None:
        """Exit in a spawned task ends the actor with that reason, through on_stop."""
        recorder = Recorder()
        ref = recorder.launch()
        await ref.proxy().start_task(Exit("shutdown"))

        assert "shutdown" == await ref.join()
        assert ["start", "stop"] == recorder.hooks

    @pytest.mark.parametrize("end", ["kill", "shut_down"])
    async def test_ends_with_actor(self, end: str) -> None:
        """An owned task is cancelled, and waited for, when its actor ends."""
        recorder = Recorder()
        ref = recorder.launch()
        await ref.proxy().start_task()
        await ref.proxy().double(1)
        getattr(ref, end)()
        await ref.join()

        assert "work ended" == recorder.hooks[-1]

    async def test_after_end(self) -> None:
        """An actor that has ended starts no task."""
        recorder = Recorder()
        ref = recorder.launch()
        await ref.stop(block=False)
        await ref.join()
        with pytest.raises(pykka.ActorDeadError):
            recorder.later(1)

    async def test_stubborn_task(self) -> None:
        """A kill ends an actor whose task does not let itself be cancelled."""
        recorder = await held(Recorder())
        release = asyncio.Event()

        async def stubborn() -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    recorder.hooks.append("cancelled")
                    cancelled.set()

        cancelled = asyncio.Event()
        task = recorder.spawn(stubborn())
        recorder.gate.set()
        recorder.actor_ref.shut_down()
        await cancelled.wait()
        recorder.actor_ref.kill()

        assert "killed" == await recorder.actor_ref.join()
        release.set()
        await task
