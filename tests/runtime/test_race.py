from __future__ import annotations

import asyncio
import queue
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pykka
import pytest

from cortex_actors.errors import MailboxFull
from cortex_actors.runtime.future import AsyncioFuture
from tests.runtime.support import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.runtime.ref import AsyncioRef

#: Asks of the whole test.
ASKS = 200_000

#: Seconds in which a reply that has not come is lost.
LOST = 20.0

Replies = list[AsyncioFuture[Any]]


@pytest.fixture
def second_answers(monkeypatch: pytest.MonkeyPatch) -> list[AsyncioFuture[Any]]:
    """Give the replies to which a second answer was given."""
    found: list[AsyncioFuture[Any]] = []

    def refuse(future: AsyncioFuture[Any]) -> None:
        if future.target is not None:  # the reply to an ask
            found.append(future)
        raise queue.Full

    monkeypatch.setattr(AsyncioFuture, "_refuse_second", refuse)
    return found


@pytest.mark.slow
class TestRace:
    async def test_no_reply_is_lost(self, second_answers: list[AsyncioFuture[Any]]) -> None:
        """Each of 200,000 asks that race an actor's end gets an answer or a refusal, just one."""
        seed = random.randrange(2**32)
        print(f"seed: {seed}")  # noqa: T201  # repeats a failure
        chance = random.Random(seed)
        outcomes: Counter[str] = Counter()
        while outcomes.total() < ASKS:
            async with asyncio.timeout(LOST):
                for reply in await _one_life(chance):
                    outcomes[await _outcome(reply)] += 1

        assert {"answered", "dead"} == outcomes.keys()
        assert [] == second_answers


async def _one_life(chance: random.Random) -> Replies:
    """Ask an actor from two threads and from the loop until it has ended, and return the replies.

    It is stopped or killed, from the loop or from a thread, after a random number of asks.
    """
    ref = Recorder.start()
    replies: Replies = []
    asking = [asyncio.create_task(asyncio.to_thread(_ask, ref, replies)) for _ in range(2)]
    end: Callable[[], object] = chance.choice([ref.kill, lambda: ref.stop(block=False)])
    asks, on_a_thread = chance.randrange(2_000), chance.random() < 0.5  # half of the lives
    while ref.is_alive():
        for _ in range(chance.randrange(1, 20)):
            try:
                replies.append(ref.ask(1, block=False))
            except MailboxFull:  # nothing was asked
                break
        if len(replies) >= asks:
            asks = 10**9
            await asyncio.to_thread(end) if on_a_thread else end()
        patient: AsyncioFuture[Any] = AsyncioFuture()
        replies.append(patient)
        await ref.send(1, patient)
        await _outcome(patient)
    await asyncio.gather(*asking)
    await ref.join()
    return replies


def _ask(ref: AsyncioRef[Recorder], replies: Replies) -> None:
    """Ask on a thread until the actor has ended, and once more."""
    while ref.is_alive():
        replies.append(ref.ask(1, block=False))
    replies.append(ref.ask(2, block=False))


async def _outcome(reply: AsyncioFuture[Any]) -> str:
    try:
        await reply
    except pykka.ActorDeadError:
        return "dead"
    return "answered"
