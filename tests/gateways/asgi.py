"""Requests as a server hands them to an application, without a server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

#: What a request has unless a test says otherwise.
HOST = (b"host", b"127.0.0.1:7424")


@dataclass(slots=True)
class Reply:
    """What was answered."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def document(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def detail(self) -> Any:
        """Why it was refused."""
        return self.document["detail"]


async def ask(
    app: Any,
    path: str = "/",
    *,
    method: str = "GET",
    token: str | None = None,
    headers: tuple[tuple[bytes, bytes], ...] = (HOST,),
    body: tuple[bytes, ...] = (b"",),
    hangs: bool = False,
) -> Reply:
    """Ask an application; the body comes in parts, and `hangs` keeps back its end."""
    given = list(headers)
    if token is not None:
        given.append((b"authorization", f"Bearer {token}".encode()))
    parts = list(body)

    async def receive() -> dict[str, Any]:
        if not parts:
            await asyncio.get_running_loop().create_future()
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts) or hangs}

    reply = Reply()

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            reply.body += message.get("body", b"")

    scope = {"type": "http", "method": method, "path": path, "headers": given, "state": {}}
    await app(scope, receive, send)
    return reply
