"""Admission: what every request must pass before a route sees it.

In this order: it is meant for us (Host), no page of another site sent it (Origin), its sender
has a token that counts, its body is no larger and no deeper than we read, and it is answered in
time. A request that does not pass changes nothing and learns nothing but that.

The body is read here, whole, so that no route waits for one that drips.

Refused: what is answered to a request that is not done, in the shape that clients expect.

Every refusal is `{"detail": ...}`, with the status that says whose turn it is. What failed inside
is named by its kind alone; the rest of it is in the log.

Premises: what the routes of the gateway are handed, and who asks them.

Bodies: what requests may hold, checked where they come in.

The fields, defaults and bounds are those of the contracts that are served; what else a client sends
is passed over, as the originals do, so that a newer one can ask an older one.

Wording: texts and times in the form in which they travel.

Writes refused and slow requests into the log, a few lines a minute at most.
"""

from __future__ import annotations

import asyncio
import re
import traceback
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, FailFast, Field
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - read at run time
from starlette.responses import JSONResponse

from cortex_actors import errors
from cortex_actors.clock import SECOND, Clock
from cortex_actors.domain.agent import Caller
from cortex_actors.domain.event import is_text
from cortex_actors.federation.fan import QUESTION_LIMIT
from cortex_actors.gateways import rpc
from cortex_actors.text.hazards import BEARER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.process.logs import LogStream
    from cortex_actors.process.tokens import Tokens


#: What passes by itself: the same request may be answered in a moment.
_AWAY: Final = (
    *(errors.Busy, errors.MailboxFull, errors.ActorAway, errors.LedgerDown, errors.DaemonStopping),
)

#: Kind of error -> status; the first that fits counts, and every other one is 500.
_STATUSES: Final[Mapping[type[errors.CortexError], int]] = {
    errors.BadToken: 401,
    errors.Refused: 403,
    errors.NotFound: 404,
    errors.BadInput: 422,
    errors.StorageFull: 507,
    errors.HomeUnwritable: 507,
    **dict.fromkeys(_AWAY, 503),
    errors.StoreDown: 502,
    errors.DeadlineExceeded: 504,
}

#: The answer to a request without a token that counts, and no more.
UNAUTHORIZED: Final = "unauthorized"

#: The answer where a fault of ours ends a request.
FAULT: Final = "the daemon failed inside; its log has more: cortex daemon logs --actor http"

#: Headers of every answer: it is not kept, and nothing but what it says it is.
HEADERS: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


def find_status(
    error: errors.CortexError, other: Mapping[type[errors.CortexError], int] | None = None
) -> int:
    """Return the status of an expected failure; `other` are those that a contract has otherwise."""
    known = (*(other or {}).items(), *_STATUSES.items())
    return next((status for kind, status in known if isinstance(error, kind)), 500)


@contextmanager
def apply_contract(statuses: Mapping[type[errors.CortexError], int]) -> Iterator[None]:
    """Answer expected failures with the statuses that a contract has for them."""
    try:
        yield
    except errors.CortexError as error:
        raise HTTPException(find_status(error, statuses), str(error)) from error


#: Where the admission leaves who asks, for the routes.
CALLER = "caller"


@dataclass(frozen=True, slots=True)
class Premises:
    """What every route may use."""

    #: The verbs; no route does anything without one.
    desk: FrontDesk
    clock: Clock
    version: str
    #: What we call ourselves where a contract asks for a name.
    service: str = "CortexActors"


def find_caller(request: Request) -> Caller:
    """Return who asks, as the admission found out; raises `KeyError` where it did not."""
    found = request.scope["state"][CALLER]
    assert isinstance(found, Caller)  # noqa: S101 - a fact for mypy
    return found


def require_owner(doing: str) -> Callable[[Request], Awaitable[None]]:
    """Return what raises `NotYours` for everybody but the owner; `doing` is what is asked for."""

    async def checked(request: Request) -> None:
        caller = find_caller(request)
        if not caller.is_owner:
            message = f"cannot {doing} for {caller.by}: show the owner's token (tokens/owner)"
            raise errors.NotYours(message)

    return checked


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


@dataclass(frozen=True, slots=True)
class Admission:
    """Lets requests through to the routes, or answers in their place."""

    app: ASGIApp
    _: KW_ONLY
    tokens: Tokens
    #: The names by which we are called, and the paths that need no token.
    hosts: Collection[str]
    public: Collection[str]
    #: The bytes that a body may have.
    most: int
    visits: Visits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever goes wrong is an answer, too."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":  # a socket that stays open is not offered
                await send({"type": "websocket.close", "code": _POLICY})
            return
        reply, begun = _Reply(scope, receive, send=send), self.visits.begin()
        try:
            async with asyncio.timeout(DEADLINE):
                await self._admitted(scope, receive, reply)
        except HTTPException as error:
            await reply.instead(error.status_code, error.detail)
        except TimeoutError:
            await reply.instead(504, f"this was not done within {DEADLINE:g} s; try again")
        except asyncio.CancelledError:
            # The server's own task, which ends with this: the client gets an answer and not a cut.
            await reply.instead(503, "the daemon is stopping; try again once it is back")
        except Exception as error:  # noqa: BLE001 - the last place where a fault can be answered
            self.visits.note_fault(error)
            await reply.instead(500, FAULT)
        self.visits.note_end(scope, reply.status, begun)

    async def _admitted(self, scope: Scope, receive: Receive, reply: _Reply) -> None:
        """Pass a request on; raises `HTTPException`."""
        headers = Headers(scope=scope)
        # A page on the web can have a browser ask us: by a name of its own that it points here
        # (then that name is the Host), or across sites (then its own address is the Origin).
        host = _only(headers, "host") or ""
        found = _HOST.fullmatch(host.lower())
        if not found or int(found["port"] or 0) > _PORTS or found["name"] not in self.hosts:
            detail = "this is not the host that was asked for; ask 127.0.0.1 or localhost"
            raise HTTPException(421, detail)
        if _only(headers, "origin") not in {None, f"http://{host}"}:
            raise HTTPException(403, "pages of other sites are not answered")
        scope.setdefault("state", {})
        if scope["path"] not in self.public:
            scope["state"][CALLER] = await self._caller(headers)
        body = await self._body(headers, receive)
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return waiting.pop() if waiting else await receive()

        await self.app(scope, replay, reply)

    async def _caller(self, headers: Headers) -> Caller:
        """Return whose token was shown; raises `HTTPException`."""
        scheme, _, token = (_only(headers, "authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise HTTPException(401, UNAUTHORIZED)
        try:
            return await asyncio.to_thread(self.tokens.find_caller, token.strip())
        except errors.BadToken:
            self.visits.note_stranger()
            raise HTTPException(401, UNAUTHORIZED) from None

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """Return the body; raises `HTTPException`: too large, too deep, too slow."""
        announced = _only(headers, "content-length") or "0"
        if not announced.isdecimal() or int(announced) > self.most:
            raise self._too_large()
        try:
            async with asyncio.timeout(BODY):
                body = await self._received(receive)
        except TimeoutError:
            raise HTTPException(408, f"the body did not come within {BODY:g} s") from None
        look = asyncio.to_thread(_depth, body) if len(body) > _LARGE else None
        if (await look if look else _depth(body)) > DEPTH:
            raise HTTPException(422, f"the body is nested more than {DEPTH} levels deep")
        return body

    async def _received(self, receive: Receive) -> bytes:
        """Return all that comes of a body; raises `HTTPException` where that is too much."""
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HTTPException(400, "the connection ended before the body did")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.most:
                raise self._too_large()
            if not message.get("more_body", False):
                return b"".join(parts)

    def _too_large(self) -> HTTPException:
        """Return the refusal of a body that is too large."""
        return HTTPException(413, f"a body may have {self.most} bytes; send less")


def _only(headers: Headers, name: str) -> str | None:
    """Return the value of a header that decides something; None for none.

    Raises `HTTPException` where it is there twice.
    """
    found = headers.getlist(name)
    if len(found) > 1:
        raise HTTPException(400, f"the header {name} is there {len(found)} times")
    return found[0].strip(" \t") if found else None


class _Reply:
    """The way back: adds what every answer says, and knows how far the answer has come."""

    def __init__(self, scope: Scope, receive: Receive, *, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
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
            # For the one status that HTTP has a header for.
            headers = {"www-authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else None
            refusal = JSONResponse({"detail": detail}, status, headers)
            await refusal(self._scope, self._receive, self)


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


def _valid(text: str) -> str:
    """Refuse half a character: it is in no text, and could not be answered either."""
    if not is_text(text):
        raise ValueError("it holds half a character, which is no valid text (UTF-8)")
    return text


#: Text in valid Unicode.
Text = Annotated[str, AfterValidator(_valid)]

#: Several texts. Of those that are none the first is named: a body holds a million, and naming each
#: would take seconds and a hundred megabytes.
Texts = Annotated[list[Text], FailFast()]

#: Ids that may be left out of an answer; more are never known to one client.
_KNOWN = 10_000

#: Hits that SerenMemory gives at most, and for whom names no number.
_CAP, _FEW = 50, 5


class Body(BaseModel):
    """One request's body."""

    model_config = ConfigDict(allow_inf_nan=False)


class Tiers(Body):
    """What of SerenMemory's tiers is searched."""

    n_results: int = Field(_FEW, ge=1, le=_CAP)
    include_short: bool = True
    include_near: bool = True
    include_long: bool = True
    include_superseded: bool = False
    include_satellites: bool = False


class MemorySearch(Tiers):
    """`POST /search` of SerenMemory."""

    query: Text
    with_surroundings: bool = False


class TopicSearch(Tiers):
    """`POST /by_topic` of SerenMemory."""

    topics: Texts
    exclude_ids: Texts = Field([], max_length=_KNOWN)


class FactSearch(Body):
    """`POST /search` of SerenLoci; no number of hits is too many, and none is none."""

    query: Text
    project: Text | None = None
    n_results: int = 10
    include_fundamentals: bool = True
    include_superseded: bool = False


class Recalled(Body):
    """`POST /recall` of another Cortex."""

    query: Text
    limit: int = Field(10, ge=1, le=200)


class FanSearch(Body):
    """`POST /search` of Callosum."""

    query: Text
    n_results: int | None = None
    budget_tokens: int | None = Field(None, ge=1)


def _spelt(name: str) -> Any:  # noqa: ANN401 - a field, whatever it holds
    """Return a field that may be left out; its name may begin with `bearer_`, too."""
    return Field(None, repr=False, validation_alias=AliasChoices(name, f"{BEARER}{name}"))


class NewStore(Body):
    """`POST /stores` of Callosum; where its token lies may be said instead of the token.

    Its keys may be spelt in either way, as they are in the settings.
    """

    name: Text
    type: Text
    url: Text
    weight: float = 1.0
    floor: float = 0.0
    enabled: bool = True
    token: Text | None = _spelt("token")
    token_env: Text | None = _spelt("token_env")
    token_keyring: Text | None = _spelt("token_keyring")
    options: dict[str, Any] | None = None


class Changes(Body):
    """`POST /configure` of Callosum: any of the knobs, and what single stores count.

    Numbers may be written as texts, as there; what else is no knob of ours is for the desk to say.
    """

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)

    k: int | None = None
    n_results: int | None = None
    fetch_multiplier: int | None = None
    per_store_timeout_s: float | None = None
    authority_margin: float | None = None
    min_per_store: int | None = None
    edges_enabled: bool | None = None
    edge_budget: int | None = None
    satellite_edges_enabled: bool | None = None
    satellite_budget: int | None = None
    hops: int | None = None
    hop_terms: int | None = None
    hop_budget: int | None = None
    stores: list[dict[str, Any]] | None = None

    def list_knobs(self) -> dict[str, Any]:
        """Return what is to be turned, by our names; no satellites are a budget of none."""
        given = {name: value for name, value in self.model_dump().items() if value is not None}
        if given.pop("satellite_edges_enabled", None) is False:
            given["satellite_budget"] = 0
        if "stores" in given:
            given["stores"] = [each for each in given["stores"] if each.get("name")]
        return given


def trim_question(query: str) -> str:
    """Return a question as it is looked for; empty when there is nothing to look for.

    The contracts know no longest question, so what is more than one may have is not looked for; the
    answer says so.
    """
    return query.strip()[:QUESTION_LIMIT].strip()


def clean(text: str) -> str:
    """Return a text in valid Unicode: a file's bytes that are none would not pass as JSON."""
    return text.encode("utf-8", "replace").decode()


def to_seconds(at: int) -> float:
    """Return a moment of ours (microseconds) in seconds since 1970."""
    return at / SECOND


class Visits:
    """Writes down what an owner would want to know."""

    def __init__(self, logs: LogStream, clock: Clock) -> None:
        """Begin with an empty page."""
        self._logs = logs
        self._clock = clock
        self._since = clock.monotonic()
        self._written = 0
        self._unsaid = 0

    def begin(self) -> float:
        """Return when a request came."""
        return self._clock.monotonic()

    def note_end(self, scope: Scope, status: int, begun: float) -> None:
        """Take down how a request ended, if that is worth a line."""
        took = self._clock.monotonic() - begun
        if status < _REFUSED and took < SLOW:
            return
        level = "error" if status >= _FAILED else "warning" if status >= _REFUSED else "info"
        slow = " [slow]" if took >= SLOW else ""
        path = ascii(scope["path"][:_PATH])[1:-1]
        self._say(level, f"{scope['method']} {path} -> {status} ({took * 1_000:.0f} ms){slow}")

    def note_stranger(self) -> None:
        """Take down that a token was shown that counts for no agent."""
        self._say("warning", "an unknown token was shown over http", actor=rpc.AUDIT)

    def note_fault(self, error: Exception) -> None:
        """Take down what failed inside, with its traceback."""
        trace = "".join(traceback.format_exception(error))
        self._say("error", "a request failed inside", traceback=trace)

    def _say(
        self, level: str, text: str, *, actor: str = "http", traceback: str | None = None
    ) -> None:
        """Write a line, unless there were many."""
        now = self._clock.monotonic()
        if now - self._since >= WINDOW:
            self._since, self._written = now, 0
        if self._written >= LINES:
            self._unsaid += 1
            return
        self._written += 1
        more = f" ({self._unsaid} more were not written down)" if self._unsaid else ""
        self._unsaid = 0
        self._logs.write(level, text + more, actor=actor, traceback=traceback)


#: Seconds from which on an answer counts as slow.
SLOW: Final = 1.0


#: Lines within so many seconds; those above are counted and told with the next one.
LINES, WINDOW = 20, 10.0


#: Characters of a path that are shown.
_PATH: Final = 120


#: Status from which on something is refused, and from which on it is our own fault.
_REFUSED, _FAILED = 400, 500
