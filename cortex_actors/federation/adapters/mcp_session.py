"""One session with an MCP server. The door to the official SDK; import it on a thread.

The SDK wants to be left by the task that entered it, so each session has a task of its own. It also
keeps a caller that gives up until the server has its notice, up to five seconds; so no caller waits
inside it, and what it goes on to do costs no caller any time.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult

from cortex_actors.endpoint.replies import HttpReply, judge_store_answer, refuse_large
from cortex_actors.errors import StoreDown, StoreUnusable
from cortex_actors.federation.adapters.troubles import (
    SessionEnded,
    ToolOutcome,
    Unknown,
    UnusableAnswer,
    explain_failure,
)
from cortex_actors.runtime.tasks import Background

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Mapping

    from cortex_actors.endpoint.connection import StoreConnection

T = TypeVar("T")

#: Seconds that a session may take to come about: a program may load a model first.
OPENING = 60.0

#: Seconds that each step of a request may take; the whole of it has its asker's limit.
STEP = 30.0

#: Seconds that an end in good manners may take, after which it is an end in any case: of a program,
#: to which the SDK gives two to go by itself and two more when it is asked to, and over HTTP.
ENDING_PROGRAM, ENDING_HTTP = 6.0, 1.0

#: Pages of a server's list of tools that are read.
PAGES = 10

#: Where a program's stderr goes.
_NOWHERE = Path(os.devnull)

#: From here on an answer over HTTP is an error.
_ERROR = 400

#: The SDK's number for a connection that has ended under a request.
_CLOSED = -32000

#: What is said where a session is not known any more.
_GONE = 404


class McpSession:
    """A session from its opening to its end; made within a running loop, it opens by itself.

    With a command that program is started and spoken to through its pipes, with no more of our
    environment than the SDK gives every program; else the line leads to a server that speaks
    streamable HTTP. What the server asks of us in turn (texts of a model, answers of a person,
    folders) it is refused.
    """

    def __init__(
        self, line: StoreConnection, path: str, *, command: tuple[str, ...], env: Mapping[str, str]
    ) -> None:
        # Its errors hold the server's words; each of them reaches the caller without those.
        logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
        self._line = line
        self._path = path
        self._command = command
        self._env = dict(env)
        self._tools: frozenset[str] = frozenset()
        self._client: Client | None = None
        self._watched: Pinned | None = None
        self._opened = asyncio.Event()
        self._closing = asyncio.Event()
        self._asks = Background()
        self._life = self._asks.begin(self._live(), "MCP session")

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self._life.done() or self._closing.is_set()

    async def wait_ready(self) -> None:
        """Return once it is open; raises `StoreDown` when it will not be."""
        if not self._opened.is_set():
            opened = asyncio.create_task(self._opened.wait(), name="opening of an MCP session")
            try:
                await asyncio.wait({opened, self._life}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                opened.cancel()
        if self._life.done():
            raise self._reason()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Return what a tool says; raises `StoreUnusable` when there is no such tool."""
        client = self._client
        if client is None:
            raise self._reason()
        if tool not in self._tools:  # it may have come since
            self._tools = await self._asked(_tools(client))
        if tool not in self._tools:
            there = ", ".join(sorted(self._tools))
            raise Unknown(f"has no tool {tool[:60]!r}; see options.tool", there)
        # Not `client.call_tool`: it would hold the answer against a schema of the server's own, and
        # a pattern in that can keep Python's regular expressions, and the loop, busy for ever.
        params = CallToolRequestParams(name=tool, arguments=dict(arguments))
        call = client.session.send_request(CallToolRequest(params=params), CallToolResult)
        result = await self._asked(call)
        found = (getattr(block, "text", None) for block in result.content)
        texts = tuple(each for each in found if isinstance(each, str))
        if result.is_error:
            raise UnusableAnswer(
                f"its tool {tool[:60]!r} says that it failed", self._clean(" ".join(texts))
            )
        return ToolOutcome(result.structured_content, texts)

    async def describe(self) -> dict[str, Any]:
        """Return who the server says it is, and its tools."""
        info = self._client.server_info if self._client else None
        return {
            "service": info.name[:80] if info else "an MCP server",
            "version": (info.version or "")[:40] if info else "",
            "protocol": self._client.protocol_version if self._client else "",
            "tools": sorted(each[:80] for each in self._tools)[:50],
        }

    async def close(self) -> None:
        """End it, in good manners if that is possible."""
        self._closing.set()
        if self._opened.is_set():
            patience = ENDING_PROGRAM if self._command else ENDING_HTTP
            await asyncio.wait({self._life}, timeout=patience)
        ending = {self._life, *self._asks}
        for task in ending:
            task.cancel()
        await asyncio.wait(ending)

    async def _live(self) -> None:
        """Open, and stay open until it is closed or it breaks."""
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(OPENING):
                if self._command:
                    program, *arguments = self._command
                    # What it writes to stderr is lost.
                    silence = stack.enter_context(_NOWHERE.open("w", encoding="utf-8"))  # noqa: ASYNC230 - no disk
                    params = StdioServerParameters(command=program, args=arguments, env=self._env)
                    streams = stdio_client(params, errlog=silence)
                else:
                    # The server is reached by the line alone.
                    self._watched = Pinned(self._line)
                    http = httpx2.AsyncClient(
                        transport=self._watched,
                        timeout=STEP,
                        trust_env=False,
                        follow_redirects=False,
                    )
                    await stack.enter_async_context(http)
                    where = self._line.address
                    streams = streamable_http_client(
                        f"{where.origin}{where.path}{self._path}",
                        http_client=http,
                        max_sse_event_size=self._line.most,
                    )
                client = Client(streams, cache=None, input_required_max_rounds=1)
                self._client = await stack.enter_async_context(client)
                self._tools = await _tools(self._client)
            self._opened.set()
            await self._closing.wait()

    async def _asked(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the SDK makes of a request; who gives up leaves it to end by itself."""
        task = self._asks.begin(work, "MCP request")
        try:
            await asyncio.wait({task, self._life}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done() or task.cancelled():
            task.cancel()
            raise self._reason()
        try:
            return task.result()
        except MCPError as error:
            raise self._refusal(error) from None
        except (RuntimeError, ValueError) as error:
            words = self._clean(str(error))
            raise UnusableAnswer("answered in a way that is not MCP's", words) from None

    def _clean(self, words: str) -> str:
        """Return the server's words without the token, should it repeat that."""
        return words.replace(self._line.token, "[token]") if self._line.token else words

    def _refusal(self, error: MCPError) -> Exception:
        """Return what a refused request means: a session that is known no more ends."""
        trouble = self._watched.trouble if self._watched else None
        is_lost = trouble is None and error.code == _CLOSED
        if is_lost or self._life.done() or getattr(trouble, "status", None) == _GONE:
            return self._reason()
        return trouble or UnusableAnswer(
            f"refused the call ({error.code})", self._clean(error.message)
        )

    def _reason(self) -> Exception:
        """Return why a session has ended, or never began."""
        trouble = self._watched.trouble if self._watched else None
        if self._opened.is_set():
            return SessionEnded(str(trouble) if trouble else "has ended the session")
        if trouble is not None:
            return trouble
        if self._life.cancelled() or not self._life.done():
            return SessionEnded("the session is closed; ask again")
        return explain_failure(self._life.exception(), is_program=bool(self._command))


class Pinned(httpx2.AsyncBaseTransport):
    """Sends the SDK's requests over a line, whose connections it uses.

    What `StoreConnection` promises holds for them: judged addresses only, no proxy, no redirection,
    the token to this store alone, and no answer larger than `line.most`. Why a request failed is
    kept in `trouble`, because the SDK makes something of its own of it.
    """

    def __init__(self, line: StoreConnection) -> None:
        self._line = line
        #: Why the last request failed; None when it was answered.
        self.trouble: StoreDown | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the store; raises `httpx2.ConnectError` for any other address.

        What a server would say by itself is not listened to.
        """
        self.trouble = None
        where, own = request.url, self._line.address
        port = where.port or {"http": 80, "https": 443}.get(where.scheme)
        try:
            if (where.scheme, where.host, port) != (own.scheme, own.host, own.port):
                raise StoreUnusable("was about to be asked at another address than its own")
            if request.method == "GET":
                return httpx2.Response(405, request=request)
            response = await self._checked(await self._line.send(request))
        except StoreDown as error:
            self.trouble = error
            raise httpx2.ConnectError(str(error), request=request) from error
        if response.status_code >= _ERROR:
            self.trouble = judge_store_answer(HttpReply(response.status_code, "", b""), "")
        return response

    async def _checked(self, response: httpx2.Response) -> httpx2.Response:
        """Return an answer with a limit to its size; a redirection is none."""
        reason = ""
        if response.is_redirect:
            reason = f"answered {response.status_code}, a redirection, which is never followed"
        elif response.headers.get("content-encoding", "identity") != "identity":
            reason = "answered compressed, which it was not asked to"
        if reason:
            await response.aclose()
            raise StoreUnusable(reason)
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            raise StoreDown("answered in a way that cannot be read")
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Measured(response.stream, self, self._line.most),
            extensions=response.extensions,
        )


class _Measured(httpx2.AsyncByteStream):
    """An answer that ends with an error where it becomes too large."""

    def __init__(self, stream: httpx2.AsyncByteStream, transport: Pinned, most: int) -> None:
        self._stream = stream
        self._transport = transport
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                trouble = refuse_large(self._most)
                self._transport.trouble = trouble
                raise httpx2.ReadError(str(trouble))
            yield piece

    async def aclose(self) -> None:
        """Close the connection, or give it back when all of it was read."""
        await self._stream.aclose()


async def _tools(client: Client) -> frozenset[str]:
    """Return the names of a server's tools."""
    names: set[str] = set()
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        names.update(tool.name for tool in page.tools)
        cursor = page.next_cursor
        if not cursor:
            break
    return frozenset(names)
