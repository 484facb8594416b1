from __future__ import annotations

import asyncio

import pykka
import pytest

from cortex_actors.errors import InternalError
from cortex_actors.runtime.actor import AsyncioActor
from tests.runtime.support import Recorder, held


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

    async def test_killed_in_on_failure(self) -> None:
        """An asker is told even when the actor is killed while it cleans up after a crash."""

        class Hanging(Recorder):
            async def on_failure(self, *args: object) -> None:  # type: ignore[override]
                failing.set()
                await asyncio.Event().wait()

        failing = asyncio.Event()
        recorder = Hanging()
        ref = recorder.launch()
        answer = ref.proxy().later(7)
        await recorder.held.wait()
        ref.tell(ValueError("bad"))
        await failing.wait()
        ref.kill()
        with pytest.raises(pykka.ActorDeadError):
            await answer

        assert "killed" == await ref.join()

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

    async def test_on_failure_fails(self) -> None:
        """The crash stays the exit reason when on_failure waits for something cancelled."""

        class Clumsy(Recorder):
            async def on_failure(self, *args: object) -> None:  # type: ignore[override]
                future = asyncio.get_running_loop().create_future()
                future.cancel()
                await future

        ref = Clumsy.start()
        error = OSError("gone")
        await ref.proxy().start_task(error)

        assert error is await ref.join()

    async def test_two_at_once(self) -> None:
        """Two tasks that fail at once are one crash, whatever its clean-up then runs into."""

        class Clumsy(Recorder):
            def start_tasks(self) -> None:
                self.spawn(self._work(ValueError("first")))
                self.spawn(self._work(ValueError("second")))

            async def on_failure(self, *_: object) -> None:  # type: ignore[override]
                lost = asyncio.get_running_loop().create_future()
                lost.cancel()
                await lost

        ref = Clumsy.start()
        ref.proxy().start_tasks()

        assert "ValueError('first')" == repr(await ref.join())

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
