"""App: the routes of the gateway behind their admission, and the server around both.

Imported on a thread, and only when a door is opened: what it is made of takes half a second. A new
contract is a line in `seren.CONTRACTS`.

Uvicorn is a guest in the daemon's loop. It installs no signal handlers, writes no log of its own,
and its end is quick. A connection on which no new request comes is closed, whatever it
drips. One connection too many costs another, which is closed at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final, cast

import h11
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from cortex_actors import __version__
from cortex_actors.errors import CortexError, InternalError
from cortex_actors.gateways import admission, seren
from cortex_actors.gateways.mcp import McpHost, McpRoute

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.types import ASGIApp

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.clock import Clock
    from cortex_actors.domain.agent import Caller
    from cortex_actors.process.logs import LogStream
    from cortex_actors.process.tokens import Tokens
    from cortex_actors.sections import HttpSettings

#: Paths that need no token: they say that a daemon is there, and nothing that is remembered.
PUBLIC: Final = frozenset(
    f"{prefix}{path}"
    for prefix in ("", seren.MEMORY_PREFIX, seren.LOCI_PREFIX)
    for path in ("/", "/health")
)

#: Names by which this machine is called by itself.
NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


def make_serving(
    desk: FrontDesk,
    address: tuple[Any, ...],
    *,
    tokens: Tokens,
    logs: LogStream,
    clock: Clock,
    settings: HttpSettings,
) -> Serving:
    """Return a server for a socket that is bound to an address."""
    host, port = address[:2]
    name = f"[{host}]" if ":" in host else host
    mcp = McpRoute(McpHost(desk, logs))
    app = admission.Admission(
        make_application(admission.Premises(desk, clock, __version__), mcp),
        tokens=tokens,
        hosts={*NAMES, name},
        public=PUBLIC,
        most=settings.max_body_bytes,
        visits=admission.Visits(logs, clock),
    )
    return Serving(
        app, address=f"http://{name}:{port}", most=settings.max_connections, close=mcp.close
    )


def make_application(premises: admission.Premises, mcp: McpRoute) -> ASGIApp:
    """Return all routes, without their admission."""
    app = FastAPI(title="Cortex Actors", version=premises.version, docs_url=None, redoc_url=None)
    for router in seren.make_routers(premises):
        app.include_router(router)
    app.router.routes.append(Route("/mcp", mcp))
    app.add_exception_handler(CortexError, _failed)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _broken)
    return app


async def _failed(_request: Request, error: Exception) -> JSONResponse:
    """Answer an expected failure; one of our own is for the log."""
    assert isinstance(error, CortexError)  # noqa: S101 - a fact for mypy
    if isinstance(error, InternalError):
        raise error
    return JSONResponse({"detail": str(error)}, admission.find_status(error))


async def _broken(_request: Request, _error: Exception) -> JSONResponse:
    """Answer a fault of ours; it goes on to the admission, which has it written down."""
    return JSONResponse({"detail": admission.FAULT}, 500)


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    """Answer a body that is none of the contract's, without repeating it: it may hold a token."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - a fact for mypy
    told = [{name: each[name] for name in ("type", "loc", "msg")} for each in error.errors()]
    return JSONResponse({"detail": told}, 422)


#: Seconds in which the head of a request must have come, and for which a connection is kept that
#: asks nothing; twice as many at most.
IDLE = 30


#: Seconds that requests have to end.
SERVING_GRACE: Final = 1


#: Seconds for which answers have the same date.
TICK: Final = 1.0


#: Bytes that the head of a request may have.
HEAD: Final = 16_384


#: Numbers by which the older one of two connections is known.
_NUMBERS: Final = count()


class Serving:
    """One server on one socket."""

    def __init__(
        self, app: ASGIApp, *, address: str, most: int, close: Callable[[], Awaitable[None]]
    ) -> None:
        """Serve an application to at most so many connections at once; `close` ends it."""
        self.address = address
        self._close = close
        # What a stranger sends is no fault of ours, and must not fill the log.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        config = uvicorn.Config(
            app,
            http=partial(_HttpConnection, most=most),  # type: ignore[arg-type]  # makes the class
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=IDLE,
            h11_max_incomplete_event_size=HEAD,
        )
        self._server = _Guest(config)

    async def run(self, sock: socket.socket) -> None:
        """Answer until `close`; the socket is closed with it, also where this is cancelled."""
        try:
            await self._server.serve([sock])
        finally:
            self._end(sock)
            await self._close()

    def close(self) -> None:
        """Take no new requests, and end `run` when the others are answered, soon in any case."""
        self._server.ask_to_exit()

    def _end(self, sock: socket.socket) -> None:
        """Close everything that is still open."""
        for server in getattr(self._server, "servers", ()):
            server.close()
        sock.close()
        state = self._server.server_state
        for task in list(state.tasks):
            task.cancel()
        for connection in list(state.connections):
            # One that is closing still sends what it was answered.
            if not connection.transport.is_closing():
                connection.transport.abort()


class _Guest(uvicorn.Server):
    """A server that leaves the process's signals to the daemon, and ends when it is asked to.

    uvicorn's own looks ten times a second whether it is to end, and waits for connections rather
    than for what is being answered on them.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._asked = asyncio.Event()

    def ask_to_exit(self) -> None:
        """End soon."""
        self.should_exit = True
        self._asked.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def main_loop(self) -> None:
        """Keep the date in answers right until it is asked to end."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._asked.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Give requests some time to be answered, then cancel them."""
        for server in self.servers:
            server.close()
        for sock in sockets or ():
            sock.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        late = set(self.server_state.tasks)
        if late:
            _, late = await asyncio.wait(late, timeout=SERVING_GRACE)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=SERVING_GRACE)


class _HttpConnection(H11Protocol):
    """One connection, which is closed when it holds a place and asks nothing."""

    def __init__(self, *args: Any, most: int, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's
        super().__init__(*args, **kwargs)
        self._most = most
        self.number = next(_NUMBERS)
        self._last: Any = None
        self._look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; where it is one too many, one of them ends."""
        super().connection_made(transport)
        self._look = self.loop.call_later(IDLE, self._looked)
        if len(self.connections) > self._most:
            self._spare().end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    @property
    def whom(self) -> Caller | None:
        """Who is being answered; None while the client is waited for, or has shown no token.

        How long a client takes to send a request and to read the answer is for the client to say;
        how long we take to answer is not.
        """
        # None until the first request, whatever uvicorn says of its type.
        now: Any = self.cycle
        if now is None or now.more_body or now.response_complete:
            return None
        if self.flow.write_paused or self.transport.is_closing():
            return None
        found: Caller | None = now.scope["state"].get(admission.CALLER)
        return found

    def _spare(self) -> _HttpConnection:
        """Return the connection that ends because this one, the newest, is one too many.

        It is the oldest on which no request is answered; else the oldest of a caller who is
        answered on more than half of them; else this one. So no client keeps others out for long,
        whether it says nothing, drips, does not read, or asks without end.
        """
        by_age = sorted(
            cast("set[_HttpConnection]", self.connections), key=lambda each: each.number
        )
        idle = [each for each in by_age if each.whom is None and each is not self]
        answered = Counter(each.whom for each in by_age)
        greedy = [each for each in by_age if answered[each.whom] > max(self._most // 2, 1)]
        return [*idle, *greedy, self][0]

    def end(self) -> None:
        """Close at once; what was not sent is lost."""
        self.connections.discard(self)
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, where nothing is answered yet; in any case that is the end.

        uvicorn's own would answer twice, an error for the log each time that a client wants one.
        """
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()
        # None until the first request, whatever uvicorn says of its type.
        now: Any = self.cycle
        if now is not None:
            now.disconnected = True
            now.message_event.set()

    def _looked(self) -> None:
        """Close the connection if nothing was asked since the last look, and look again if not.

        A closed one whose client does not read the rest of its answer would stay for ever.
        """
        # None until the first request, whatever uvicorn says of its type.
        now: Any = self.cycle
        is_idle = now is None or now.response_complete or self.transport.is_closing()
        if now is self._last and is_idle:
            self.end()
            return
        self._last = now
        self._look = self.loop.call_later(IDLE, self._looked)
