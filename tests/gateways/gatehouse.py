"""A door's actor alone, with a front desk that answers two verbs."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SystemClock
from cortex_actors.errors import NotFound
from cortex_actors.gateways.server import Http
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from cortex_actors.process.tokens import Tokens
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import NamedActor, Names
from cortex_actors.sections import HttpSettings
from cortex_actors.testing import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.runtime.actor import ActorHandle


class Desk:
    """A front desk that answers a few verbs, one of them when its gate is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()
        self.asked = 0

    async def outside_counts(self) -> dict[str, Any]:
        """Return that nothing is kept."""
        return {"memories": {}, "facts": {"principles": 0, "statements": 0}}

    async def stores(self) -> dict[str, Any]:
        """Return no stores."""
        return {"stores": [], "active": []}

    async def outside_recall(self, query: str, limit: int) -> dict[str, Any]:
        """Return nothing, once the gate is open."""
        if query == "fault":
            raise ZeroDivisionError
        if query == "nowhere":
            raise NotFound("nothing is called so")
        self.asked += 1
        self.begun.set()
        await self.gate.wait()
        return {"hits": [], "skipped": []}


class Gatehouse:
    """A door's actor in a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        self.home.create()
        self.clock: Any = SystemClock()
        self.logs = LogStream(folder / "log", self.clock)
        self.desk = Desk()
        self.names = Names()
        self.handle: ActorHandle

    async def open(self, **settings: Any) -> None:
        """Start the actor."""
        chosen = HttpSettings(**{"enabled": True, "port": 0, **settings})

        def make() -> Http:
            return Http(
                self.home,
                lambda: self.desk,  # type: ignore[arg-type, return-value]  # answers two verbs
                logs=self.logs,
                clock=self.clock,
                settings=chosen,
            )

        self.handle = await start_actor(self.names, "http", make)

    async def door(self) -> dict[str, Any]:
        """Return what the door is at."""
        return await NamedActor[Any]("http", self.names).ask(Http.describe)

    async def port(self) -> int:
        """Return the port, once the door is open."""
        await eventually(lambda: self.is_at("open"))
        return int((await self.door())["address"].rpartition(":")[2])

    async def is_at(self, state: str) -> bool:
        """Say whether the door is in a state."""
        return bool((await self.door())["state"] == state)

    def agent(self, name: str) -> str:
        """Return a token for an agent."""
        return Tokens(self.home.tokens).make(name)

    async def ask(self, path: str, body: object = None, *, token: str = "") -> tuple[int, Any]:
        """Return status and document of one request, by the owner unless a token is given."""
        reader, writer = await asyncio.open_connection("127.0.0.1", await self.port())
        shown = token or (self.home.tokens / "owner").read_text().strip()
        try:
            writer.write(request(path, body, token=shown, close=True))
            answer = await reader.read()
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
        head, _, rest = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(rest)


def request(path: str, body: object = None, *, token: str = "", close: bool = False) -> bytes:
    """Return a request as it goes over the wire."""
    data = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {token}",
        f"Content-Length: {len(data)}",
        "Content-Type: application/json",
        *(["Connection: close"] if close else []),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


@asynccontextmanager
async def gatehouse(folder: Path) -> AsyncIterator[Gatehouse]:
    """Run a house, and end it."""
    house = Gatehouse(folder)
    try:
        yield house
    finally:
        await house.handle.stop(5)
        house.logs.close()
