"""Admission: what every request must pass before a route sees it.

In this order: it is meant for us (Host), no page of another site sent it (Origin), whoever sends it
has a token that counts, its body is no larger and no deeper than we read, and it is answered in
time. A request that does not pass changes nothing and learns nothing but that.

The body is read here, whole, so that no route waits for one that drips.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.errors import BadToken
from cortex_actors.gateways.premises import CALLER
from cortex_actors.gateways.refused import FAULT, HEADERS, UNAUTHORIZED, NotAdmitted, answer

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from cortex_actors.domain.agent import Caller
    from cortex_actors.gateways.visits import Visits
    from cortex_actors.process.tokens import Tokens

#: Seconds that a request may take as a whole; a verb has its own, shorter limits.
DEADLINE: Final = 120.0

#: Seconds in which a body must have come.
BODY: Final = 20.0

#: How deep a body may be nested: every contract has three or four levels.
DEPTH: Final = 32

#: Bytes of a body from which on its depth is looked at on a thread.
_LARGE: Final = 65_536

#: Close code of RFC 6455 for what is against the rules of the house.
_POLICY: Final = 1008

#: One host, with or without a port, and nothing else: of a list, a user in front or a dot behind
#: each reader makes something else. Whether the name is ours is looked up.
_HOST: Final = re.compile(r"(?P<name>[a-z0-9.]+|\[[0-9a-f:]+\])(?::(?P<port>[1-9][0-9]{0,4}))?")

#: The highest port.
_PORTS: Final = 65_535

#: A bracket, or a text in JSON, in which brackets mean nothing. No byte is looked at twice, also of
#: a text that never ends: a body can be made of nothing but the beginnings of such texts.
_BRACKETS: Final = re.compile(rb'[\[\]{}]|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)


class Admission:
    """Lets requests through to the routes, or answers in their place."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: Tokens,
        hosts: Collection[str],
        public: Collection[str],
        most: int,
        visits: Visits,
    ) -> None:
        """Guard an application.

        `hosts` are the names by which we are called, `public` the paths that need no token, `most`
        the bytes that a body may have.
        """
        self._app = app
        self._tokens = tokens
        self._hosts = frozenset(hosts)
        self._public = frozenset(public)
        self._most = most
        self._visits = visits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever goes wrong is an answer, too."""
        if scope["type"] != "http":
            await _refuse_other(scope, send)
            return
        reply, begun = _Reply(send), self._visits.begin()
        try:
            async with asyncio.timeout(DEADLINE):
                await self._admitted(scope, receive, reply)
        except NotAdmitted as error:
            await reply.instead(error.status, error.detail)
        except TimeoutError:
            await reply.instead(504, f"this was not done within {DEADLINE:g} s; try again")
        except asyncio.CancelledError:
            # The server's own task, which ends with this: whoever waits is told rather than cut.
            await reply.instead(503, "the daemon is stopping; try again once it is back")
        except Exception as error:  # noqa: BLE001 - the last place where a fault can be answered
            self._visits.fault(error)
            await reply.instead(500, FAULT)
        self._visits.ended(scope, reply.status, begun)

    async def _admitted(self, scope: Scope, receive: Receive, reply: _Reply) -> None:
        """Pass a request on; raises `NotAdmitted`."""
        headers = _Headers(scope)
        self._require_ours(headers)
        scope.setdefault("state", {})
        if scope["path"] not in self._public:
            scope["state"][CALLER] = await self._caller(headers)
        body = await self._body(headers, receive)
        await self._app(scope, _replayed(body, receive), reply)

    def _require_ours(self, headers: _Headers) -> None:
        """Raise `NotAdmitted` for a request that was meant for, or sent by, somebody else.

        A page on the web can have a browser ask us: by a name of its own that it points here (then
        that name is the Host), or across sites (then its own address is the Origin).
        """
        host = headers.only(b"host") or ""
        if _name(host) not in self._hosts:
            detail = "this is not the host that was asked for; ask 127.0.0.1 or localhost"
            raise NotAdmitted(421, detail)
        if headers.has(b"origin") and headers.only(b"origin") != f"http://{host}":
            raise NotAdmitted(403, "pages of other sites are not answered")

    async def _caller(self, headers: _Headers) -> Caller:
        """Return whose token was shown; raises `NotAdmitted`."""
        scheme, _, token = (headers.only(b"authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise NotAdmitted(401, UNAUTHORIZED)
        try:
            return await asyncio.to_thread(self._tokens.caller, token.strip())
        except BadToken:
            self._visits.stranger()
            raise NotAdmitted(401, UNAUTHORIZED) from None

    async def _body(self, headers: _Headers, receive: Receive) -> bytes:
        """Return the body; raises `NotAdmitted` for one that is too large, too deep or too slow."""
        announced = headers.only(b"content-length") or "0"
        if not announced.isdecimal() or int(announced) > self._most:
            raise self._too_large()
        try:
            async with asyncio.timeout(BODY):
                body = await self._received(receive)
        except TimeoutError:
            raise NotAdmitted(408, f"the body did not come within {BODY:g} s") from None
        look = asyncio.to_thread(_depth, body) if len(body) > _LARGE else None
        if (await look if look else _depth(body)) > DEPTH:
            raise NotAdmitted(422, f"the body is nested more than {DEPTH} levels deep")
        return body

    async def _received(self, receive: Receive) -> bytes:
        """Return all that comes of a body; raises `NotAdmitted` where that is too much."""
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise NotAdmitted(400, "the connection ended before the body did")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._most:
                raise self._too_large()
            if not message.get("more_body", False):
                return b"".join(parts)

    def _too_large(self) -> NotAdmitted:
        """Return the refusal of a body that is too large."""
        return NotAdmitted(413, f"a body may have {self._most} bytes; send less")


class _Headers:
    """The headers of a request; those that decide something may be there once."""

    def __init__(self, scope: Scope) -> None:
        self._raw: list[tuple[bytes, bytes]] = scope["headers"]

    def has(self, name: bytes) -> bool:
        """Return whether a header is there."""
        return any(name == each for each, _ in self._raw)

    def only(self, name: bytes) -> str | None:
        """Return a header's value; None for none. Raises `NotAdmitted` for two of it."""
        found = [value for each, value in self._raw if each == name]
        if len(found) > 1:
            raise NotAdmitted(400, f"the header {name.decode()} is there {len(found)} times")
        return found[0].decode("latin-1").strip(" \t") if found else None


class _Reply:
    """The way back: adds what every answer says, and knows how far the answer has come."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """Send a part of an answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
        await self._send(message)

    async def instead(self, status: int, detail: str) -> None:
        """Answer a refusal, unless an answer has begun already: that one just ends."""
        if not self.status:
            await answer(self, status, detail)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that has been read, and then what really comes."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _name(host: str) -> str:
    """Return the name in a Host header, in small letters; empty for all but one host[:port]."""
    found = _HOST.fullmatch(host.lower())
    return found["name"] if found and int(found["port"] or 0) <= _PORTS else ""


def _depth(body: bytes) -> int:
    """Return how deep a body is nested, or at least one level more than is read."""
    if body.count(b"[") + body.count(b"{") <= DEPTH:
        return 0
    depth = deepest = 0
    for found in _BRACKETS.finditer(body):
        bracket = found[0]
        if len(bracket) == 1 and bracket in b"[]{}":
            depth += 1 if bracket in b"[{" else -1
            deepest = max(deepest, depth)
        if deepest > DEPTH:
            break
    return deepest


async def _refuse_other(scope: Scope, send: Send) -> None:
    """Refuse what is no request: a socket that stays open is not offered."""
    if scope["type"] == "websocket":
        message: dict[str, Any] = {"type": "websocket.close", "code": _POLICY}
        await send(message)
