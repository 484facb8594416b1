from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import CallCycleError
from cortex_actors.runtime.actor import AsyncioActor
from tests.runtime.support import Recorder

if TYPE_CHECKING:
    from cortex_actors.runtime.ref import AsyncioRef


class Link(AsyncioActor):
    """Asks the next one, in one of several ways."""

    def __init__(self, way: str = "ask") -> None:
        super().__init__()
        self.way = way
        self.next: AsyncioRef[Any] | None = None

    async def on_receive(self, message: object) -> object:
        """Pass a message on."""
        if self.next is None:
            return message
        if self.way == "gather":
            return (await asyncio.gather(self.next.ask_async(message)))[0]
        if self.way == "future":
            return await self.next.ask(message, block=False)
        if self.way == "defer":
            return self.spawn(self.next.ask_async(message))
        return await self.next.ask_async(message)


def ring(*ways: str) -> list[AsyncioRef[Any]]:
    """Return actors each of which asks the next, the last one the first."""
    links = [Link(way) for way in ways]
    refs = [link.launch() for link in links]
    for link, ref in zip(links, [*refs[1:], refs[0]], strict=True):
        link.next = ref
    return refs


class TestCycles:
    @pytest.mark.parametrize("way", ["ask", "future", "gather"])
    @pytest.mark.parametrize("length", [1, 2, 3])
    async def test_ring(self, way: str, length: int) -> None:
        """A ring of actors that ask one another raises and names them, however they ask."""
        first = ring(*[way] * length)[0]
        with pytest.raises(CallCycleError, match=r"Link .* -> Link"):
            await first.ask_async(1)

        assert first.is_alive()

    async def test_before_sending(self) -> None:
        """The ask that would close a ring is not sent."""
        first, second = ring("ask", "ask")
        with pytest.raises(CallCycleError):
            await first.ask_async(1)

        assert (1, 1) == (first.life.handled, second.life.handled)

    async def test_waiting_ends(self) -> None:
        """An actor that has its answer waits for nobody: the other may ask it in turn."""
        first, second = Link(), Link()
        first.launch()
        second.launch()
        first.next = second.actor_ref
        there = await first.actor_ref.ask_async(1)
        first.next, second.next = None, first.actor_ref

        assert 1 == there
        assert 2 == await second.actor_ref.ask_async(2)

    async def test_chain(self) -> None:
        """A chain without a ring is answered."""
        refs = ring("ask", "gather", "future", "ask")
        last = refs[-1]._actor_weakref()
        assert last is not None
        last.next = None

        assert 1 == await refs[0].ask_async(1)

    async def test_deferred(self) -> None:
        """An actor whose reply is deferred takes its next message, so it closes no ring."""

        class Slow(Recorder):
            async def ask_back(self) -> object:
                return await first.actor_ref.ask_async("back")

        class Asking(Recorder):
            async def ask_later(self) -> object:
                return await slow.actor_ref.proxy().later(7)

        first, slow = Asking(), Slow()
        proxy, other = first.launch().proxy(), slow.launch().proxy()
        answer = proxy.ask_later()
        await slow.held.wait()
        back = other.ask_back()
        while not len(first.actor_inbox):
            await Link.start().ask_async("a turn of the loop")
        slow.gate.set()

        assert 7 == await answer
        assert "back" == await back

    async def test_spawned_task(self) -> None:
        """A spawned task may ask its own actor while the handler that started it still runs."""

        class Busy(Recorder):
            async def begin(self) -> None:
                self.task = self.spawn(self.actor_ref.ask_async("me"))
                while not len(self.actor_inbox):
                    await Link.start().ask_async("a turn of the loop")

        actor = Busy()
        await actor.launch().proxy().begin()

        assert "me" == await actor.task

    async def test_later_task(self) -> None:
        """A task that outlives the handler that started it may ask that handler's actor."""

        class Starter(AsyncioActor):
            def on_receive(self, message: object) -> object:
                return message

            async def detach(self) -> None:
                self.task = asyncio.create_task(self._ask_myself())

            async def _ask_myself(self) -> object:
                await go.wait()
                return await self.actor_ref.ask_async("me")

        go = asyncio.Event()
        actor = Starter()
        await actor.launch().proxy().detach()
        go.set()

        assert "me" == await actor.task
