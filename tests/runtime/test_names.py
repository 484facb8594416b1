from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pykka
import pytest

from cortex_actors.errors import ActorAway, DeadlineExceeded, InternalError, MailboxFull
from cortex_actors.runtime.actor import ActorHandle, start_actor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.names import NamedActor, Names
from tests.runtime.support import Recorder


async def cast(names: Names, recorder: Recorder) -> ActorHandle:
    """Start an actor of a test under the name "recorder"."""
    return await start_actor(names, "recorder", lambda: recorder)


class TestRegister:
    async def test_whereis(self) -> None:
        """A name resolves to its actor until that has ended."""
        names = Names()
        handle = await cast(names, Recorder())
        here = names.whereis("recorder")
        known = dict(names.list_known())
        await handle.stop(None)

        assert handle.ref is here
        assert {"recorder": handle.ref} == known
        assert names.whereis("recorder") is None
        assert {} == names.list_known()

    async def test_taken(self) -> None:
        """A name that a living actor has is not given to another."""
        names = Names()
        handle = await cast(names, Recorder())
        with pytest.raises(InternalError, match="recorder"):
            names.register("recorder", Recorder.start())
        names.register("recorder", handle.ref)

        assert handle.ref is names.whereis("recorder")

    async def test_unregister(self) -> None:
        """An actor that ends late does not take the name from its successor."""
        names = Names()
        first, second = await Recorder.start_async(), await Recorder.start_async()
        names.register("recorder", first)
        names.unregister("recorder", first)
        names.register("recorder", second)
        names.unregister("recorder", first)
        await first.stop(block=False)
        await first.join()

        assert second is names.whereis("recorder")

    async def test_dead(self) -> None:
        """A name that is given to an actor that has ended is free at once."""
        names = Names()
        ref = await Recorder.start_async()
        await ref.stop(block=False)
        await ref.join()
        names.register("recorder", ref)

        assert {} == names.list_known() == names.list_dying()

    async def test_dying(self) -> None:
        """An actor that cleans up is not found any more, and its name goes to a successor."""

        class Slow(Recorder):
            async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
                self.held.set()
                await self.gate.wait()

        names, slow = Names(), Slow()
        ref, successor = slow.launch(), Recorder.start()
        names.register("recorder", ref)
        ref.shut_down()
        await slow.held.wait()
        found, dying = names.whereis("recorder"), names.list_dying()
        names.register("recorder", successor)
        slow.gate.set()
        await ref.join()

        assert (None, {"recorder": ref}) == (found, dying)
        assert successor is names.whereis("recorder")


class TestFind:
    async def test_waits(self) -> None:
        """A search waits for a name to come back."""
        names = Names()
        finding = asyncio.create_task(names.find("recorder"))
        handle = await cast(names, Recorder())

        assert handle.ref is await finding

    async def test_away(self) -> None:
        """A search raises ActorAway with the name when nobody came."""
        names = Names()
        with pytest.raises(ActorAway, match="recorder"):
            await names.find("recorder", 0.01)

        assert {} == names._waiting


class TestTell:
    async def test_away(self) -> None:
        """Telling a name that nobody has returns False."""
        names = Names()
        away = names.tell("recorder", 1)
        handle = await cast(names, Recorder())

        assert not away
        assert names.tell("recorder", 1)
        await handle.stop(None)
        assert not names.tell("recorder", 1)

    async def test_thread(self) -> None:
        """A message may be sent from any thread."""
        names, recorder = Names(), Recorder()
        handle = await cast(names, recorder)
        await asyncio.to_thread(names.tell, "recorder", 1)
        await handle.stop(None)

        assert [1] == recorder.seen

    async def test_notice(self) -> None:
        """A notice runs a method of whoever has the name, without a reply."""
        names, recorder = Names(), Recorder()
        named = NamedActor[Any]("recorder", names)
        away = named.tell(Recorder.start_task, None)
        handle = await cast(names, recorder)

        assert not away
        assert named.tell(Recorder.start_task, OSError("gone"))
        assert isinstance(await handle.exited(), OSError)


class TestMethod:
    async def test_kinds(self) -> None:
        """Plain, asynchronous and deferred methods are called alike and give their result."""
        names, recorder = Names(), Recorder()
        double = partial(NamedActor[Any]("recorder", names).ask, Recorder.double)
        triple = partial(NamedActor[Any]("recorder", names).ask, Recorder.triple)
        later = partial(NamedActor[Any]("recorder", names).ask, Recorder.later)
        await cast(names, recorder)
        recorder.gate.set()
        answers: list[int] = [await double(1), await triple(number=1), await later(1)]

        assert [2, 3, 1] == answers

    async def test_raises(self) -> None:
        """What the method raised reaches the caller and the actor lives."""
        names, recorder = Names(), Recorder()
        handle = await cast(names, recorder)
        recorder.gate.set()
        with pytest.raises(ValueError, match="-1"):
            await NamedActor[Any]("recorder", names).ask(Recorder.later, -1)

        assert handle.ref.is_alive()

    async def test_survives_restart(self) -> None:
        """A call during a restart waits for the actor's successor."""
        names = Names()
        double = partial(NamedActor[Any]("recorder", names).ask, Recorder.double)
        first = await cast(names, Recorder())
        await first.stop(None)
        calling = asyncio.create_task(double(2))
        await cast(names, Recorder())

        assert 4 == await calling

    async def test_unseen(self) -> None:
        """A call that waited in the mailbox of an actor that died goes to its successor."""
        names, recorder = Names(), Recorder()
        double = partial(NamedActor[Any]("recorder", names).ask, Recorder.double)
        first = await cast(names, recorder)
        first.ref.tell("wait")
        await recorder.held.wait()
        calling = asyncio.create_task(double(2))
        while not len(recorder.actor_inbox):
            await Recorder.start().ask_async("a turn of the loop")
        first.kill()
        await first.exited()
        await cast(names, Recorder())

        assert 4 == await calling

    @pytest.mark.parametrize("call", ["on_receive", "later"])
    async def test_seen(self, call: str) -> None:
        """A call that a dying actor had begun is not sent again, and its caller is told."""
        names, recorder, second = Names(), Recorder(), Recorder()
        first = await cast(names, recorder)
        calling: asyncio.Future[object]
        if call == "later":
            calling = asyncio.ensure_future(
                NamedActor[Any]("recorder", names).ask(Recorder.later, 1)
            )
        else:
            calling = asyncio.ensure_future(
                NamedActor[Any]("recorder", names).ask(Recorder.on_receive, "wait")
            )
        await recorder.held.wait()
        first.kill()
        await first.exited()
        handle = await cast(names, second)
        with pytest.raises(ActorAway, match="recorder ended while it had the call"):
            await calling
        await handle.stop(None)

        assert ["start", "stop"] == second.hooks
        assert not second.held.is_set()

    async def test_away(self) -> None:
        """A call to a name that stays away raises ActorAway with the name."""
        with pytest.raises(ActorAway, match="no actor has been recorder for 0.01 s"):
            await NamedActor[Any]("recorder", Names(), timeout=0.01).ask(Recorder.double, 1)

    async def test_deadline(self) -> None:
        """A call that is not answered in time raises DeadlineExceeded with name and method."""
        names, recorder = Names(), Recorder()
        await cast(names, recorder)
        with pytest.raises(DeadlineExceeded, match="recorder did not answer later"):
            await NamedActor[Any]("recorder", names, timeout=0.01).ask(Recorder.later, 1)

    async def test_own_timeout(self) -> None:
        """A TimeoutError of the method is not taken for the caller's deadline."""

        class Late(Recorder):
            def fail(self) -> None:
                raise TimeoutError("theirs")

        names = Names()
        await start_actor(names, "late", Late)
        with pytest.raises(TimeoutError, match="theirs"):
            await NamedActor[Any]("late", names).ask(Late.fail)

    async def test_dropped(self) -> None:
        """A call that a full mailbox drops raises MailboxFull and is not repeated."""

        class Choosy(Recorder):
            mailbox_limit = 1
            overflow = Overflow.DROP_NEW

        names, recorder = Names(), Choosy()
        handle = await cast(names, recorder)
        handle.ref.tell("wait")
        await recorder.held.wait()
        handle.ref.tell("older")
        with pytest.raises(MailboxFull):
            await NamedActor[Any]("recorder", names).ask(Recorder.double, 1)
        recorder.gate.set()

    async def test_somebody_else_died(self) -> None:
        """A method that itself met a dead actor has been handled and is not sent again."""

        class Unlucky(Recorder):
            def fail(self) -> None:
                self.hooks.append("fail")
                raise pykka.ActorDeadError("another one")

        names, unlucky = Names(), Unlucky()
        await start_actor(names, "unlucky", lambda: unlucky)
        with pytest.raises(pykka.ActorDeadError, match="another one"):
            await NamedActor[Any]("unlucky", names, timeout=0.2).ask(Unlucky.fail)

        assert ["start", "fail"] == unlucky.hooks


class TestRoom:
    async def test_waits(self) -> None:
        """A call to an actor whose mailbox is full waits for room."""

        class Small(Recorder):
            mailbox_limit = 1
            overflow = Overflow.BACK_PRESSURE

        names, small = Names(), Small()
        double = partial(NamedActor[Any]("small", names).ask, Recorder.double)
        handle = await start_actor(names, "small", lambda: small)
        handle.ref.tell("wait")
        await small.held.wait()
        handle.ref.tell(1)
        calling = asyncio.ensure_future(double(2))
        await Recorder.start().ask_async("a turn of the loop")
        small.gate.set()

        assert 4 == await calling


class TestRetry:
    async def test_deadline_is_kept(self) -> None:
        """A call that is sent again to a successor has the time of the first, not more."""
        names, recorder = Names(), Recorder()
        double: Any = partial(NamedActor[Any]("recorder", names, timeout=0.05).ask, Recorder.double)
        handle = await start_actor(names, "recorder", lambda: recorder)
        handle.ref.tell("wait")
        await recorder.held.wait()
        calling = asyncio.create_task(double(2))
        while not len(recorder.actor_inbox):
            await Recorder.start().ask_async("a turn of the loop")
        handle.kill()
        await handle.exited()
        with pytest.raises(Exception, match="no actor has been recorder for 0.05 s"):
            await calling


class TestNamedActor:
    async def test_ask(self) -> None:
        """An actor by its name runs a method, and returns what that returns in the end."""
        names = Names()
        recorder: NamedActor[Recorder] = NamedActor("recorder", names)
        await cast(names, Recorder())

        assert 4 == await recorder.ask(Recorder.double, 2)

    async def test_successor(self) -> None:
        """The name is looked up at each use, so a restart of the actor breaks no caller."""
        names = Names()
        recorder: NamedActor[Recorder] = NamedActor("recorder", names)
        first = await cast(names, Recorder())
        before = await recorder.ask(Recorder.double, 2)
        first.kill()
        await first.exited()
        await cast(names, Recorder())

        assert 4 == before == await recorder.ask(Recorder.double, 2)

    async def test_within(self) -> None:
        """A call has the limit that it was given, and others keep theirs."""
        names = Names()
        recorder: NamedActor[Recorder] = NamedActor("recorder", names)
        await cast(names, Recorder())
        with pytest.raises(DeadlineExceeded, match="within 0.01 s"):
            await recorder.limit(0.01).ask(Recorder.later, 1)

        assert 4 == await recorder.ask(Recorder.double, 2)

    async def test_tell(self) -> None:
        """What an actor is told is not answered; nobody takes it while it is away."""
        names, actor = Names(), Recorder()
        recorder: NamedActor[Recorder] = NamedActor("recorder", names)
        is_away = not recorder.tell(Recorder.double, 1)
        await cast(names, actor)

        assert is_away
        assert recorder.tell(Recorder.double, 1)
