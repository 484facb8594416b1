"""What `benchmarks/actors.py` measures inside one process: each runs once and says how often."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pykka

from cortex_actors.bus.bus import Bus
from cortex_actors.clock import SystemClock
from cortex_actors.domain.event import Custom
from cortex_actors.runtime.actor import AsyncioActor, start_actor
from cortex_actors.runtime.names import NamedActor, Names
from tests.bus.journal import MemoryJournal

#: Messages of one round: some tenths of a second, so that starting a loop counts for nothing.
MANY, FEW = 100_000, 20_000

#: Messages sent before the loop gets a turn; no more than a mailbox holds.
BURST = 64

#: What the events carry: a few fields, as they mostly do.
PAYLOAD = Custom({"path": "projects/17/CLAUDE.md", "size": 4_096})


class Sink(AsyncioActor):
    """Takes whatever comes and counts it."""

    def __init__(self) -> None:
        """Have counted nothing."""
        super().__init__()
        self.count = 0

    def on_receive(self, message: object) -> object:
        """Count a message, and give it back."""
        self.count += 1
        return message

    def add(self, number: int) -> int:
        """Count a call."""
        self.count += number
        return self.count


class Threaded(pykka.ThreadingActor):
    """Pykka's own actor: a thread."""

    def on_receive(self, message: object) -> object:
        """Give a message back."""
        return message


def ping_pong() -> int:
    """Send messages there and back between two tasks."""

    async def play() -> None:
        there: asyncio.Queue[int] = asyncio.Queue()
        back: asyncio.Queue[int] = asyncio.Queue()

        async def pong() -> None:
            for _ in range(FEW):
                await there.get()
                back.put_nowait(1)

        other = asyncio.create_task(pong())
        for _ in range(FEW):
            there.put_nowait(1)
            await back.get()
        await other

    asyncio.run(play())
    return 2 * FEW


def queue_and_future() -> int:
    """Ask with a queue and a future: what any ask on this loop costs at least."""

    async def play() -> None:
        loop = asyncio.get_running_loop()
        asked: asyncio.Queue[asyncio.Future[int]] = asyncio.Queue()

        async def answer() -> None:
            for _ in range(FEW):
                (await asked.get()).set_result(1)

        other = asyncio.create_task(answer())
        for _ in range(FEW):
            reply: asyncio.Future[int] = loop.create_future()
            asked.put_nowait(reply)
            await reply
        await other

    asyncio.run(play())
    return FEW


def pykka_ask() -> int:
    """Ask an actor that is a thread."""
    ref = Threaded.start()
    for number in range(FEW // 4):
        ref.ask(number)
    ref.stop()
    return FEW // 4


def tell() -> int:
    """Tell an actor in bursts."""

    async def play() -> None:
        ref = await Sink.start_async()
        for number in range(MANY):
            ref.tell(number)
            if not number % BURST:
                await asyncio.sleep(0)
        await ref.stop(block=False)

    asyncio.run(play())
    return MANY


def tell_async() -> int:
    """Tell an actor as fast as its mailbox has room."""

    async def play() -> None:
        ref = await Sink.start_async()
        for number in range(MANY):
            await ref.tell_async(number)
        await ref.stop(block=False)

    asyncio.run(play())
    return MANY


def tell_from_a_thread() -> int:
    """Tell an actor from a thread that runs no loop."""

    async def play() -> None:
        ref = await Sink.start_async()

        def flood() -> None:
            for number in range(MANY // 2):
                ref.tell(number)

        await asyncio.to_thread(flood)
        await ref.stop(block=False)

    asyncio.run(play())
    return MANY // 2


def ask() -> int:
    """Ask an actor, one question after the other."""

    async def play() -> None:
        ref = await Sink.start_async()
        for number in range(FEW):
            await ref.ask(number, block=False)
        await ref.stop(block=False)

    asyncio.run(play())
    return FEW


def ask_async() -> int:
    """Ask with a time limit."""

    async def play() -> None:
        ref = await Sink.start_async()
        for number in range(FEW):
            await ref.ask_async(number)
        await ref.stop(block=False)

    asyncio.run(play())
    return FEW


def ask_by_name() -> int:
    """Ask whoever has a name: what actors do to one another."""

    async def play() -> None:
        names = Names()
        handle = await start_actor(names, "sink", Sink)
        add = partial(NamedActor[Any]("sink", names).ask, Sink.add)
        for number in range(FEW):
            await add(number)
        await handle.stop(None)

    asyncio.run(play())
    return FEW


def topic(hearers: int) -> int:
    """Publish to actors that hear a topic; counts what they handled."""
    events = MANY // 2 // hearers
    handled: list[int] = []

    async def play() -> None:
        clock = SystemClock()
        bus, names = Bus(MemoryJournal(clock), clock), Names()
        handles = [await start_actor(names, f"sink-{n}", Sink) for n in range(hearers)]
        for handle in handles:
            bus.subscribe("custom:*", handle.ref.tell)
        for number in range(events):
            await bus.publish("custom:bench", PAYLOAD, source="bench", durable=False)
            if not number % 16:
                await asyncio.sleep(0)
        for handle in handles:
            await handle.stop(None)
            handled.append(handle.ref.life.handled)

    asyncio.run(play())
    done = sum(handled)
    assert done >= events * hearers
    return events * hearers
