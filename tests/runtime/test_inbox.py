from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import Any, cast

import pykka
import pytest
from pykka._envelope import Envelope

from cortex_actors.errors import MailboxFull
from cortex_actors.runtime.future import AsyncioFuture
from cortex_actors.runtime.inbox import Inbox, Overflow
from tests.runtime.support import Recorder, held


class Strict(Recorder):
    """Refuses when full."""

    mailbox_limit = 2


class Choosy(Recorder):
    """Drops the newest when full."""

    mailbox_limit = 2
    overflow = Overflow.DROP_NEW


async def fill(recorder: Recorder) -> tuple[list[object], int]:
    """Send five messages to a held actor, let it go on, and return what it saw and dropped."""
    ref = recorder.actor_ref
    for number in range(5):
        ref.tell(number)
    recorder.gate.set()
    await ref.stop(block=False)
    return recorder.seen[1:], ref.actor_inbox.dropped


class TestFull:
    async def test_raise(self) -> None:
        """A full mailbox raises on the loop and says whose it is."""
        recorder = await held(Strict())
        with pytest.raises(MailboxFull, match="Strict"):
            await fill(recorder)

        assert 2 == len(recorder.actor_inbox)
        recorder.gate.set()

    async def test_drop_new(self) -> None:
        """Drop-new keeps the oldest messages and counts the others."""
        assert ([0, 1], 3) == await fill(await held(Choosy()))

    async def test_asker_is_told(self) -> None:
        """Whoever asked with a message that is dropped gets MailboxFull."""
        recorder = await held(Choosy())
        answers = [recorder.actor_ref.ask(number, block=False) for number in range(3)]
        recorder.gate.set()
        outcomes = await asyncio.gather(*map(_outcome, answers))

        assert 1 == outcomes.count("MailboxFull")

    @pytest.mark.parametrize("kind", [Strict, Choosy])
    async def test_control(self, kind: type[Recorder]) -> None:
        """A full mailbox still takes a stop, and never drops it for a newer message."""
        recorder = await held(kind())
        ref = recorder.actor_ref
        ref.shut_down()
        ref.tell(1)
        if kind is not Strict:
            ref.tell(2)
            ref.tell(3)
        ref.shut_down("late")
        recorder.gate.set()

        assert "shutdown" == await ref.join()

    async def test_from_a_thread(self) -> None:
        """The policies hold on other threads too."""
        recorder = await held(Choosy())
        ref = recorder.actor_ref
        await asyncio.to_thread(_tell_five, ref)
        recorder.gate.set()
        await ref.stop(block=False)

        assert [0, 1] == recorder.seen[1:]


class TestThreads:
    async def test_waits_for_room(self) -> None:
        """A thread that tells a full actor waits for room, and nothing is lost or reordered."""
        recorder = await held(Strict())
        ref = recorder.actor_ref

        def tell() -> None:
            for number in range(500):
                ref.tell((threading.get_ident(), number))

        telling = [asyncio.create_task(asyncio.to_thread(tell)) for _ in range(3)]
        recorder.gate.set()
        await asyncio.gather(*telling)
        await ref.stop(block=False)
        seen: dict[int, list[int]] = {}
        for thread, number in cast("list[tuple[int, int]]", recorder.seen[1:]):
            seen.setdefault(thread, []).append(number)

        assert 1_500 == len(recorder.seen[1:])
        for numbers in seen.values():
            assert numbers == sorted(numbers)

    async def test_waiting_when_killed(self) -> None:
        """A thread that waits for room goes on when the actor ends, and its ask fails."""
        recorder = await held(Strict())
        ref = recorder.actor_ref
        ref.tell(1)
        ref.tell(2)
        asking = asyncio.create_task(asyncio.to_thread(ref.ask, 3))
        while not ref.actor_inbox._room:
            await Recorder.start().ask_async("a turn of the loop")
        ref.kill()
        with pytest.raises(pykka.ActorDeadError):
            await asking

    async def test_closing_meanwhile(self) -> None:
        """A message that a thread puts just after the mailbox closed is refused as well."""

        def close() -> float:
            inbox.close()
            return 0.0

        inbox = Inbox(1)
        inbox.bind(asyncio.get_running_loop(), "closing")
        inbox._now = close  # between the look at the room and the append it reads the time
        reply: AsyncioFuture[object] = AsyncioFuture()
        await asyncio.to_thread(inbox.put, Envelope("late", reply))
        with pytest.raises(pykka.ActorDeadError):
            await reply

    def test_loop_ends_meanwhile(self) -> None:
        """A thread whose message waits for room on a loop that ends at that moment is told so."""

        async def end() -> concurrent.futures.Future[object]:
            ref = (await held(Strict())).actor_ref
            ref.tell(1)
            ref.tell(2)
            loop, called = asyncio.get_running_loop(), threading.Event()
            call = loop.call_soon_threadsafe

            def call_home(*args: Any, **options: Any) -> asyncio.Handle:
                handle = call(*args, **options)
                called.set()
                return handle

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(loop, "call_soon_threadsafe", call_home)
                asking = threads.submit(ref.ask, 3)
                called.wait(5)  # blocks the loop, which has no other turn before its end
            return asking

        with (
            concurrent.futures.ThreadPoolExecutor(1) as threads,
            pytest.raises(pykka.ActorDeadError),
        ):
            asyncio.run(end()).result(5)

    def test_closed_loop(self) -> None:
        """An actor whose loop has been closed answers nobody, and says so at once."""

        async def start() -> pykka.ActorRef[Recorder]:
            return await Recorder.start_async()

        with asyncio.Runner() as runner:
            ref = runner.run(start())
        with pytest.raises(pykka.ActorDeadError):
            ref.ask(1)


def _tell_five(ref: pykka.ActorRef[Choosy]) -> None:
    for number in range(5):
        ref.tell(number)


async def _outcome(answer: pykka.Future[object]) -> object:
    try:
        return await answer
    except MailboxFull as error:
        return type(error).__name__
