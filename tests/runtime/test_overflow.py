from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pykka
import pytest

from cortex_actors.errors import MailboxFull
from cortex_actors.runtime.inbox import Overflow
from tests.runtime.support import Recorder, held, turns

if TYPE_CHECKING:
    from cortex_actors.runtime.ref import AsyncioRef

#: What comes of a message sent to a full mailbox in which "first" waits: what its sender gets, and
#: what the actor sees afterwards.
SENT = ("sent", ["first", "new"])
REFUSED = ("MailboxFull", ["first"])
DROPPED = ("sent", ["first"])

#: For each way to send: back-pressure, refuse, drop-new.
OUTCOMES = {
    "tell": (REFUSED, REFUSED, DROPPED),
    "tell_async": (SENT, REFUSED, DROPPED),
    "ask": (REFUSED, REFUSED, REFUSED),
    "ask_async": (SENT, REFUSED, REFUSED),
    "ask_async without a timeout": (SENT, REFUSED, REFUSED),
    "tell on a thread": (SENT, REFUSED, DROPPED),
    "ask on a thread": (SENT, REFUSED, REFUSED),
    "tell_async on another loop": (SENT, REFUSED, DROPPED),
    "ask_async on another loop": (SENT, REFUSED, REFUSED),
}

CASES = [
    pytest.param(how, policy, *outcome, id=f"{policy}, {how}")
    for how, outcomes in OUTCOMES.items()
    for policy, outcome in zip(Overflow, outcomes, strict=True)
]


def small(policy: Overflow, limit: int = 1) -> Recorder:
    """Return an actor with a small mailbox."""
    kind = type("Small", (Recorder,), {"mailbox_limit": limit, "overflow": policy})
    recorder = kind()
    assert isinstance(recorder, Recorder)
    return recorder


async def full(policy: Overflow) -> Recorder:
    """Return an actor that is held, with "first" in its mailbox and no more room."""
    recorder = await held(small(policy))
    recorder.actor_ref.tell("first")
    return recorder


def waiting(recorder: Recorder) -> list[object]:
    """Return the messages in an actor's mailbox."""
    return [envelope.message for envelope in recorder.actor_inbox._waiting]


async def send(ref: AsyncioRef[Any], how: str) -> str:
    """Send "new" and return what the sender gets."""
    way = how.split(maxsplit=1)[0]
    if how.endswith("another loop"):
        coroutine = ref.tell_async("new") if way == "tell_async" else ref.ask_async("new")
        await asyncio.to_thread(asyncio.run, coroutine)
    elif how.endswith("thread"):
        await asyncio.to_thread(ref.tell if way == "tell" else ref.ask, "new")
    elif how == "ask":
        await ref.ask("new", block=False)
    elif way == "ask_async":
        await ref.ask_async("new", timeout=None if "without" in how else 5.0)
    elif way == "tell_async":
        await ref.tell_async("new")
    else:
        ref.tell("new")
    return "sent"


async def outcome(ref: AsyncioRef[Any], how: str) -> str:
    """Send "new" and say how that ended."""
    try:
        return await send(ref, how)
    except MailboxFull:
        return "MailboxFull"


class TestPolicies:
    @pytest.mark.parametrize(("how", "policy", "result", "seen"), CASES)
    async def test_full(self, how: str, policy: Overflow, result: str, seen: list[str]) -> None:
        """A full mailbox does with one more message what its policy says, however it is sent."""
        recorder = await full(policy)
        inbox = recorder.actor_inbox
        sending = asyncio.ensure_future(outcome(recorder.actor_ref, how))
        await turns(lambda: sending.done() or inbox._room or "first" not in waiting(recorder))
        recorder.gate.set()

        assert result == await sending
        await recorder.actor_ref.stop(block=False)
        assert ["wait", *seen] == recorder.seen
        assert (seen != ["first", "new"]) == inbox.stats().dropped

    async def test_values(self) -> None:
        """The policies are called what the documentation calls them."""
        assert "back-pressure refuse drop-new" == " ".join(Overflow)

    async def test_says_whose(self) -> None:
        """MailboxFull says whose mailbox it is and how many messages wait."""
        recorder = await full(Overflow.REFUSE)
        with pytest.raises(MailboxFull, match="1 messages wait for Small"):
            recorder.actor_ref.tell("new")
        recorder.gate.set()


class TestPatience:
    async def test_in_turn(self) -> None:
        """Those who wait for room get it in the order in which they came."""
        recorder = await full(Overflow.BACK_PRESSURE)
        ref = recorder.actor_ref
        senders = [asyncio.create_task(ref.tell_async(number)) for number in range(20)]
        await turns(lambda: 20 == len(ref.actor_inbox._room))
        recorder.gate.set()
        await asyncio.gather(*senders)
        await ref.stop(block=False)

        assert ["wait", "first", *range(20)] == recorder.seen

    async def test_no_overtaking(self) -> None:
        """Room that was promised to somebody who waits is not given to a newcomer."""

        class Pushing(Recorder):
            mailbox_limit = 1

            async def on_receive(self, message: object) -> object:
                if message == "first":
                    with pytest.raises(MailboxFull):
                        self.actor_ref.tell("pushed in")
                return await super().on_receive(message)

        recorder = await held(Pushing())
        recorder.actor_ref.tell("first")
        patient = asyncio.create_task(recorder.actor_ref.tell_async("patient"))
        await turns(lambda: recorder.actor_inbox._room)
        recorder.gate.set()
        await patient
        await recorder.actor_ref.stop(block=False)

        assert ["wait", "first", "patient"] == recorder.seen

    async def test_cancelled_in_time(self) -> None:
        """Somebody who stops waiting just when room was promised leaves it to the next."""

        class Cancelling(Recorder):
            mailbox_limit = 1

            async def on_receive(self, message: object) -> object:
                if message == "first":
                    senders[0].cancel()
                return await super().on_receive(message)

        recorder = await held(Cancelling())
        ref = recorder.actor_ref
        ref.tell("first")
        senders = [asyncio.create_task(ref.tell_async(number)) for number in range(2)]
        await turns(lambda: 2 == len(ref.actor_inbox._room))
        recorder.gate.set()
        await asyncio.wait(senders)
        await ref.stop(block=False)

        assert senders[0].cancelled()
        assert ["wait", "first", 1] == recorder.seen
        assert ref.actor_inbox._cap == -1

    @pytest.mark.parametrize("how", ["tell_async", "ask_async", "ask on a thread"])
    async def test_the_actor_ends(self, how: str) -> None:
        """Whoever waits for room in the mailbox of an actor that ends is told so."""
        recorder = await full(Overflow.BACK_PRESSURE)
        sending = asyncio.ensure_future(outcome(recorder.actor_ref, how))
        await turns(lambda: recorder.actor_inbox._room)
        recorder.actor_ref.kill()
        with pytest.raises(pykka.ActorDeadError):
            await sending


class TestControl:
    @pytest.mark.parametrize("policy", Overflow)
    async def test_passes(self, policy: Overflow) -> None:
        """A full mailbox takes a stop and a shutdown, whatever its policy."""
        recorder = await full(policy)
        ref = recorder.actor_ref
        await asyncio.to_thread(ref.shut_down)
        stopping = ref.stop(block=False)

        assert 3 == len(ref.actor_inbox)
        recorder.gate.set()
        assert await stopping
