from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pykka
import pytest

from cortex_actors.errors import BlockingInLoopError, DeadlineExceeded
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.names import NamedActor
from cortex_actors.runtime.ref import AsyncioRef
from tests.runtime.support import Recorder, held


class TestBlockingOnTheLoop:
    async def test_ask(self) -> None:
        """A blocking ask on the loop raises before anything is sent."""
        recorder = Recorder()
        ref = recorder.launch()
        with pytest.raises(BlockingInLoopError, match="ask_async"):
            ref.ask(1)
        await ref.stop(block=False)

        assert [] == recorder.seen

    async def test_stop(self) -> None:
        """A blocking stop on the loop raises before anything is sent."""
        ref = Recorder.start()
        with pytest.raises(BlockingInLoopError):
            ref.stop()
        with pytest.raises(BlockingInLoopError):
            pykka.ActorRegistry.stop_all()

        assert 1 == await ref.ask_async(1)

    async def test_proxy_set(self) -> None:
        """Setting a field through a proxy, which blocks in Pykka, raises and sets nothing."""
        recorder = Recorder()
        proxy = recorder.launch().proxy()
        with pytest.raises(BlockingInLoopError):
            proxy.seen = ["no"]

        assert [] == await proxy.seen

    async def test_get(self) -> None:
        """get() on the loop raises while the answer is due, and returns it once it is here."""
        recorder = await held(Recorder())
        answer = recorder.actor_ref.ask(1, block=False)
        for blocking in (
            answer.get,
            lambda: answer.get(timeout=1),
            lambda: pykka.get_all([answer]),
        ):
            with pytest.raises(BlockingInLoopError):
                blocking()
        recorder.gate.set()

        assert 1 == await answer
        assert 1 == answer.get()

    async def test_threads(self) -> None:
        """On a thread without a loop Pykka's blocking calls work."""
        ref = Recorder.start()

        def use() -> tuple[object, object]:
            return ref.ask(1), ref.proxy().double(2).get()

        assert (1, 4) == await asyncio.to_thread(use)
        assert await asyncio.to_thread(ref.stop)


class TestAsk:
    async def test_deadline(self) -> None:
        """An ask that is not answered in time raises, and its late reply is dropped."""
        recorder = await held(Recorder())
        with pytest.raises(DeadlineExceeded, match="Recorder"):
            await recorder.actor_ref.ask_async(1, timeout=0.01)
        recorder.gate.set()

        assert 2 == await recorder.actor_ref.ask_async(2)
        assert ["wait", 1, 2] == recorder.seen

    async def test_deadline_without_room(self) -> None:
        """The time allowed covers the wait for room; what found none is never handled."""

        class Small(Recorder):
            mailbox_limit = 1

        recorder = await held(Small())
        ref = recorder.actor_ref
        ref.tell(1)
        with pytest.raises(DeadlineExceeded):
            await ref.ask_async(2, timeout=0.01)
        with pytest.raises(pykka.Timeout):
            await asyncio.to_thread(ref.ask, 3, timeout=0.01)
        recorder.gate.set()
        await ref.stop(block=False)

        assert ["wait", 1] == recorder.seen

    async def test_no_timer_is_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An ask that was answered leaves no timer behind."""
        loop, ref = asyncio.get_running_loop(), await Recorder.start_async()
        timers: list[asyncio.TimerHandle] = []
        later = loop.call_at

        def note(*args: Any) -> asyncio.TimerHandle:
            timers.append(later(*args))
            return timers[-1]

        with monkeypatch.context() as patch:
            patch.setattr(loop, "call_at", note)
            await ref.ask_async(1)

        assert [True] == [timer.cancelled() for timer in timers]

    async def test_defaults(self) -> None:
        """An ask has a timeout when nobody says so."""
        assert 5.0 == inspect.signature(AsyncioRef.ask_async).parameters["timeout"].default
        assert 30.0 == inspect.signature(NamedActor).parameters["timeout"].default

    async def test_own_timeout(self) -> None:
        """A TimeoutError of the handler is not taken for the asker's."""
        with pytest.raises(TimeoutError, match="theirs"):
            await Recorder.start().ask_async(TimeoutError("theirs"))

    async def test_dead(self) -> None:
        """Asking a dead actor fails, and telling it raises."""
        ref = Recorder.start()
        await ref.stop(block=False)
        with pytest.raises(pykka.ActorDeadError):
            await ref.ask_async(1)
        with pytest.raises(pykka.ActorDeadError):
            ref.tell(1)
        with pytest.raises(pykka.ActorDeadError):
            await ref.tell_async(1)

    async def test_cancelled(self) -> None:
        """An asker that is cancelled leaves the actor as it was."""
        recorder = await held(Recorder())
        asking = asyncio.create_task(recorder.actor_ref.ask_async(1))
        asking.cancel()
        await asyncio.wait({asking})
        recorder.gate.set()

        assert asking.cancelled()
        assert 2 == await recorder.actor_ref.ask_async(2)

    async def test_room(self) -> None:
        """ask_async and tell_async wait for room in a full mailbox."""

        class Small(Recorder):
            mailbox_limit = 1
            overflow = Overflow.BACK_PRESSURE

        recorder = await held(Small())
        ref = recorder.actor_ref
        ref.tell(1)
        waiting = [asyncio.create_task(ref.ask_async(2)), asyncio.create_task(ref.tell_async(3))]
        other = await Recorder.start().ask_async("the loop goes on")
        recorder.gate.set()
        await asyncio.gather(*waiting)
        await ref.stop(block=False)

        assert "the loop goes on" == other
        assert ["wait", 1, 2, 3] == recorder.seen


class TestRace:
    @pytest.mark.parametrize("end", ["stop", "kill"])
    async def test_no_reply_is_lost(self, end: str) -> None:
        """Each of 5,000 and more asks from a thread that race an actor's end gets a reply."""
        answered = refused = 0
        while answered + refused < 5_000:
            ref = Recorder.start()
            begun = asyncio.Event()
            asking = asyncio.create_task(asyncio.to_thread(_ask_until_dead, ref, begun))
            await begun.wait()
            if end == "stop":
                ref.stop(block=False)
            else:
                ref.kill()
            async with asyncio.timeout(10):
                for answer in await asking:
                    try:
                        await answer
                        answered += 1
                    except pykka.ActorDeadError:
                        refused += 1
                await ref.join()

        assert answered
        assert refused


def _ask_until_dead(ref: AsyncioRef[Recorder], begun: asyncio.Event) -> list[pykka.Future[object]]:
    answers: list[pykka.Future[object]] = [ref.ask(0, block=False)]
    ref.life.loop.call_soon_threadsafe(begun.set)
    while ref.is_alive():
        answers.append(ref.ask(1, block=False))
    answers.append(ref.ask(2, block=False))
    return answers
