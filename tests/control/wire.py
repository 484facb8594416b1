"""A control socket with verbs of its own, and a raw connection to it."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.errors import UnknownProject
from cortex_actors.gateways.control import Control

if TYPE_CHECKING:
    from cortex_actors.home import Home
    from cortex_actors.process.logs import LogStream


@dataclass
class Desk:
    """A control socket with verbs of its own, and what came of it."""

    home: Home
    logs: LogStream
    stops: list[str] = field(default_factory=list)
    said: list[object] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.control = Control(
            self.home,
            verbs={
                "status": self.status,
                "publish": self.publish,
                "wait": self.wait,
                "insights": self.fails,
                "recall": self.breaks,
                "remember": self.remember,
            },
            logs=self.logs,
            shutdown=self.stops.append,
            quick={"publish": self.publish_now},
        )

    async def status(self) -> dict[str, object]:
        return {"state": "running"}

    async def publish(self, topic: str, payload: object = None) -> dict[str, object]:
        self.said.append(topic)
        return {"topic": topic, "payload": payload}

    def publish_now(self, topic: str, payload: object = None) -> dict[str, object] | None:
        if topic == "custom:break":
            raise ZeroDivisionError
        if not topic.startswith("custom:now"):
            return None
        self.said.append(topic)
        return {"topic": topic, "payload": payload, "now": True}

    async def remember(
        self,
        content: str,
        agent: str | None = None,
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, object]:
        caller.choose_reader(as_agent)
        acting = caller.choose_agent(agent, "claude")
        self.said.append(content)
        return {"by": caller.by, "agent": acting}

    async def wait(self) -> dict[str, object]:
        await self.gate.wait()
        return {"waited": True}

    async def fails(self) -> dict[str, object]:
        message = "no project is called x"
        raise UnknownProject(message)

    async def breaks(self) -> dict[str, object]:
        raise ZeroDivisionError


class Wire:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, line: bytes) -> dict[str, Any]:
        """Send a line and return the next one."""
        self.writer.write(line + b"\n")
        return await self.hear()

    async def call(self, method: str, **params: object) -> dict[str, Any]:
        """Call a method and return the whole answer."""
        return await self.ask(json.dumps({"id": 7, "method": method, "params": params}).encode())

    async def hear(self) -> dict[str, Any]:
        """Return the next message."""
        async with asyncio.timeout(10):
            found: dict[str, Any] = json.loads(await self.reader.readline())
            return found

    async def ended(self) -> bool:
        """Say whether the other side hung up."""
        async with asyncio.timeout(10):
            try:
                return b"" == await self.reader.read(1)
            except ConnectionError:
                return True


async def connect(desk: Desk) -> Wire:
    """Return a new connection."""
    return Wire(*await asyncio.open_unix_connection(desk.home.socket, limit=1 << 22))


def raw(desk: Desk) -> socket.socket:
    """Return a connection that waits for nothing, not even to be let in."""
    client = socket.socket(socket.AF_UNIX)
    client.setblocking(False)
    client.connect(str(desk.home.socket))
    return client
