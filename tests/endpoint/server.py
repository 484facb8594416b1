"""An HTTP server on a real socket of this machine, that does what a test tells it."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from ssl import SSLContext

#: Seconds between two bytes of a body that drips.
DRIP = 0.02

S = TypeVar("S", bound="FakeServer")


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked."""

    line: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered, and how."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    #: `whole`, `half` (then the connection breaks), `silent` (no answer at all), `drip`, or
    #: `chunked` (the body is in that form, and says nothing of its length).
    manner: str = "whole"


def document(content: object, status: int = 200, **headers: str) -> Reply:
    """Return an answer that is a JSON document."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps(content).encode()
    return Reply(status, body, {"Content-Type": "application/json", **named})


def error(status: int, message: str = "no luck", **headers: str) -> Reply:
    """Return an error as OpenAI words it."""
    return document({"error": {"message": message, "type": "x"}}, status, **headers)


class FakeServer:
    """Answers as it is told: `script` holds the next answers, then `answer` decides."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.script: deque[Reply] = deque()
        self.connections = 0
        #: Set while answers may go out.
        self.gate = asyncio.Event()
        self.gate.set()
        #: Set when a request has come in.
        self.asked = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The address to be set as `base_url`."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    def answer(self, request: Request) -> Reply:
        """Return the answer to a request."""
        raise NotImplementedError

    async def open(self, port: int = 0, *, tls: SSLContext | None = None) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._attend, "127.0.0.1", port, ssl=tls)

    async def close(self) -> int:
        """Listen no more and hang up; return the port, which refuses connections now."""
        assert self._server is not None
        port = self.port
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()
        return port

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while request := await _read(reader):
                self.requests.append(request)
                self.asked.set()
                await self.gate.wait()
                reply = self.script.popleft() if self.script else self.answer(request)
                if not await _answer(reader, writer, reply):
                    break
        except (asyncio.CancelledError, ConnectionError):
            pass  # the end of the test, or the client has gone
        finally:
            self._tasks.discard(task)
            writer.transport.abort()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    """Return the next request of a connection; None when it is closed."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
    except asyncio.IncompleteReadError:
        return None
    line, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(line, headers, json.loads(body or b"{}"))


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: Reply) -> bool:
    """Send an answer in its manner; return whether the connection may go on."""
    if reply.manner == "silent":
        await reader.read()  # until the client hangs up
        return False
    lines = [f"HTTP/1.1 {reply.status} X"]
    lines += [] if reply.manner == "chunked" else [f"Content-Length: {len(reply.body)}"]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    if reply.manner == "drip":
        gone = asyncio.ensure_future(reader.read())
        for byte in reply.body:
            writer.write(bytes([byte]))
            if (await asyncio.wait({gone}, timeout=DRIP))[0]:
                break
        gone.cancel()
        return False
    writer.write(reply.body[: len(reply.body) // 2] if reply.manner == "half" else reply.body)
    await writer.drain()
    return reply.manner == "whole"


@asynccontextmanager
async def listening(server: S, *, tls: SSLContext | None = None) -> AsyncIterator[S]:
    """Give a server that listens."""
    await server.open(tls=tls)
    try:
        yield server
    finally:
        await server.close()
