"""An actor that hears a topic in its mailbox, at the pace of a test."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from cortex_actors.domain.event import Custom, Event
from cortex_actors.runtime.actor import ActorHandle, AsyncioActor, start_actor
from cortex_actors.runtime.inbox import Overflow

if TYPE_CHECKING:
    from cortex_actors.bus.bus import Bus
    from cortex_actors.runtime.names import Names

#: What the tests say.
TOPIC = "custom:news"


class Hearer(AsyncioActor):
    """Hears numbers, each when the gate is open; three may wait."""

    mailbox_limit: ClassVar[int] = 3
    overflow: ClassVar[Overflow] = Overflow.BACK_PRESSURE

    def __init__(self, heard: list[int], gate: asyncio.Event) -> None:
        """Put what is heard into a list that outlives this actor."""
        super().__init__()
        self._heard = heard
        self._gate = gate

    async def on_receive(self, message: object) -> None:
        """Hear one event."""
        await self._gate.wait()
        if isinstance(message, Event):
            self._heard.append(message.payload.body["n"])


class Refusing(Hearer):
    """Wants nobody to wait for it."""

    mailbox_limit: ClassVar[int] = 3
    overflow: ClassVar[Overflow] = Overflow.REFUSE


class Audience:
    """Actors on one bus, by name."""

    def __init__(self, bus: Bus, names: Names) -> None:
        """Begin with nobody."""
        self.bus = bus
        self.names = names
        self.heard: dict[str, list[int]] = {}
        self.gates: dict[str, asyncio.Event] = {}
        self.handles: list[ActorHandle] = []

    async def join(self, name: str, kind: type[Hearer] = Hearer, *, shut: bool = False) -> Any:
        """Start an actor under a name, with its gate open unless it is to be shut."""
        gate = self.gates.setdefault(name, asyncio.Event())
        if not shut:
            gate.set()
        heard = self.heard.setdefault(name, [])
        handle = await start_actor(self.names, name, kind, heard, gate)
        self.handles.append(handle)
        return handle

    async def say(self, number: int) -> None:
        """Publish a number to whoever listens now."""
        await self.bus.publish(TOPIC, Custom({"n": number}), source="test", durable=False)

    async def leave(self) -> None:
        """End everybody."""
        for handle in self.handles:
            handle.kill()
            await handle.exited()
