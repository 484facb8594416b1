"""JSON-RPC 2.0 on single lines: requests in, answers out; pure.

Errors travel as `{"code", "message", "data": {"type", "exit_code"}}`, so that the other side can
raise the same class. The codes below -32000 are the specification's (https://www.jsonrpc.org).

An agent shows its token beside method and parameters; a session of an agent on the owner's socket
names the agent there. Who asks is found out at the door and put into the verbs that take a
`caller`; all others are the owner's, of which a session may call those that say so.
"""

from __future__ import annotations

import inspect
import json
import traceback
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.agent import ASK_A_PERSON, OWNER, Caller
from cortex_actors.endpoint.replies import refuse_constant, require_finite
from cortex_actors.errors import (
    BadInput,
    CortexError,
    DaemonStopping,
    InternalError,
    NotYours,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from cortex_actors.process.logs import LogStream

#: Codes of the specification.
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL = -32601, -32602, -32603

#: Our own: any `CortexError`, and the refusal while the daemon drains.
FAILED, STOPPING = -32000, -32001

#: Verbs whose parameters are remembered: more than there are.
VERBS = 256

#: The parameter that only the door may give: a verb that takes it may be called by agents.
CALLER = "caller"

#: What an owner's notes in the log are by: who asked for what, and never a text or a token.
AUDIT = "audit"

Id = str | int | float | None

#: Kinds of JSON values: as verbs annotate them, in Python, and in words.
_KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "a text"),
    "int": (int, "a whole number"),
    "bool": (bool, "true or false"),
    "dict": (dict, "an object"),
    "list": (list, "a list"),
    "None": (type(None), "null"),
}

#: What an id may be, for `isinstance`: the union above is made again whenever it is written out.
_IDS = (str, int, float, type(None))


@dataclass(frozen=True, slots=True)
class Request:
    """One call; without an id it is a notification and gets no answer.

    Attributes:
        token: what an agent shows for who it is; None is the owner, an empty one counts for none.
        agent: the agent whose session asks; None for none.

    """

    id: Id
    method: str
    params: dict[str, Any]
    token: str | None = None
    agent: str | None = None


class UnreadableRequest(Exception):
    """A request that cannot be dispatched, with what to answer."""

    def __init__(self, code: int, error: CortexError, request_id: Id = None) -> None:
        super().__init__(str(error))
        self.code = code
        self.error = error
        self.id = request_id


def parse(line: bytes) -> Request:
    """Return the request on one line. Raises `UnreadableRequest`."""
    found = _json(line)
    if not isinstance(found, dict):
        raise UnreadableRequest(
            INVALID_REQUEST, BadInput("a request is one JSON object, not a batch")
        )
    request_id, method, params = found.get("id"), found.get("method"), found.get("params", {})
    if isinstance(request_id, bool) or not isinstance(request_id, _IDS):
        raise UnreadableRequest(
            INVALID_REQUEST, BadInput("the request's id must be a string or a number")
        )
    code, token, agent = INVALID_REQUEST, found.get("token"), found.get("agent")
    if not isinstance(method, str):
        why = "the request has no method: it needs a string"
    elif not isinstance(params, dict):
        code = INVALID_PARAMS
        why = f"the parameters of {method!r} must be an object: they have names here"
    elif "token" in found and not isinstance(token, str):
        # Refused, else who sends null by mistake were the owner.
        why = "the request's token must be a text; without one it is the owner's"
    elif "agent" in found and not isinstance(agent, str):
        why = "the request's agent must be a text; without one it is the owner's"
    elif "token" in found and "agent" in found:
        why = "the request has a token and an agent: a token says whose it is, so leave agent out"
    else:
        return Request(request_id, method, params, token, agent)
    raise UnreadableRequest(code, BadInput(why), request_id)


def bind_verb(
    verbs: Mapping[str, Callable[..., Awaitable[object]]],
    request: Request,
    caller: Caller = OWNER,
    *,
    takes: Iterable[str] = (),
) -> Callable[[], Awaitable[object]]:
    """Return the verb with its parameters, not called yet.

    `takes`: the parameters that an error names; without these, all.

    Raises `UnreadableRequest`, and `NotYours` when an agent asks for what is the owner's.
    """
    verb = verbs.get(request.method)
    if verb is None:
        open_to = [name for name, each in verbs.items() if _is_open(each, caller)]
        known = ", ".join(sorted({*verbs, "logs"} if caller.is_owner else open_to))
        error = UsageError(f"no method is called {request.method!r}; the methods are: {known}")
        raise UnreadableRequest(UNKNOWN_METHOD, error, request.id)
    if not _is_open(verb, caller):
        raise make_refusal(caller, request.method)
    signature, _ = _known(*_function(verb))
    try:
        signature.bind(**request.params)
    except TypeError as wrong:
        names = ", ".join(takes or signature.parameters) or "no parameters"
        bad = BadInput(f"cannot call {request.method}: {wrong}; it takes {names}")
        raise UnreadableRequest(INVALID_PARAMS, bad, request.id) from None
    _refuse_kinds(signature, request)
    if _takes_caller(verb):
        return partial(verb, **request.params, caller=caller)
    return partial(verb, **request.params)


def make_refusal(caller: Caller, method: str) -> NotYours:
    """Return the error of an agent that asks for what only the owner may."""
    if caller.is_session:
        return NotYours(
            f"{method} is not for agents, and this session is {caller.agent}'s: only the owner of "
            f"the daemon may; {ASK_A_PERSON}"
        )
    return NotYours(
        f"{method} is not for agents, and the token is {caller.agent}'s: only the owner of the "
        "daemon may, without a token (unset CORTEX_TOKEN)"
    )


def encode_success(request_id: Id, result: object) -> bytes:
    """Return the line of a result."""
    return _line({"jsonrpc": "2.0", "id": request_id, "result": result})


def encode_failure(request_id: Id, error: Exception, *, code: int | None = None) -> bytes:
    """Return the line of an error; a fault of ours shows its kind, the log its traceback."""
    if is_fault(error):
        text = f"the daemon failed inside: {type(error).__name__}: {error}; see cortex daemon logs"
        error = InternalError(text)
    assert isinstance(error, CortexError)  # noqa: S101 - a fact for mypy
    data = {"type": type(error).__name__, "exit_code": error.exit_code}
    own = INTERNAL if isinstance(error, InternalError) else FAILED
    own = STOPPING if isinstance(error, DaemonStopping) else own
    shown = {"code": own if code is None else code, "message": str(error), "data": data}
    return _line({"jsonrpc": "2.0", "id": request_id, "error": shown})


def encode_notice(method: str, params: str) -> bytes:
    """Return the line of one item of a stream; `params` is JSON already."""
    return f'{{"jsonrpc": "2.0", "method": "{method}", "params": {params}}}\n'.encode()


def is_fault(error: Exception) -> bool:
    """Say whether an exception is our own mistake rather than an expected failure."""
    return not isinstance(error, CortexError) or isinstance(error, InternalError)


def note_failure(
    logs: LogStream, error: Exception, *, method: str, caller: Caller, actor: str
) -> None:
    """Write down that an agent asked for what is not its own, and a fault of ours with its trace.

    Other failures are the asker's affair.
    """
    if isinstance(error, NotYours):
        text = f"{caller.by} was refused {method}"
        logs.write("warning", text, actor=AUDIT, verb=method, by=caller.by)
    elif is_fault(error):
        trace = "".join(traceback.format_exception(error))
        logs.write("error", f"{method} failed", actor=actor, traceback=trace)


def _is_open(verb: Callable[..., Awaitable[object]], caller: Caller) -> bool:
    """Say whether a caller may call a verb."""
    if caller.is_session:
        return bool(getattr(verb, "sessions", _takes_caller(verb)))
    return caller.is_owner or _takes_caller(verb)


def _takes_caller(verb: Callable[..., Awaitable[object]]) -> bool:
    """Say whether a verb asks who calls it, and so may be called by agents."""
    return _known(*_function(verb))[1]


def _function(verb: Callable[..., Awaitable[object]]) -> tuple[Callable[..., object], bool]:
    """Return a verb's function, and whether that has the object of a method before the rest.

    What is remembered of a method would keep its object, and with it a whole tree that has ended.
    """
    own = getattr(verb, "__func__", None)
    return (verb, False) if own is None else (own, True)


@lru_cache(VERBS)
def _known(function: Callable[..., object], is_method: bool) -> tuple[inspect.Signature, bool]:  # noqa: FBT001 - of a key
    """Return what a function may be given; finding out costs as much as a small verb does."""
    whole = inspect.signature(function)
    some = list(whole.parameters.values())[int(is_method) :]
    given = [each for each in some if each.name != CALLER]
    return whole.replace(parameters=given), len(given) < len(some)


def _refuse_kinds(signature: inspect.Signature, request: Request) -> None:
    """Raise `UnreadableRequest` for a parameter of another kind than its verb takes.

    Annotations are read as the text they are; what names no kind of JSON allows anything.
    """
    for name, value in request.params.items():
        wanted = str(signature.parameters[name].annotation)
        named = [each.partition("[")[0] for each in wanted.split(" | ")]
        kinds = [_KINDS[each] for each in named if each in _KINDS]
        if len(kinds) < len(named) or type(value) in dict(kinds):
            continue
        words = " or ".join(word for _, word in kinds)
        error = BadInput(f"cannot call {request.method}: {name} must be {words}")
        raise UnreadableRequest(INVALID_PARAMS, error, request.id)


def _json(line: bytes) -> object:
    """Return the value on a line, strictly: no NaN, no half characters."""
    try:
        text = line.decode()
        found = _DECODER.decode(text)
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError:
        why = "is nested too deeply"
    except UnicodeEncodeError:
        why = "holds text that is no valid text: half a character (UTF-8)"
    except ValueError as wrong:
        why = f"is no JSON: {str(wrong)[:200]}"
    else:
        return found
    raise UnreadableRequest(PARSE_ERROR, BadInput(f"the request {why}"))


def _line(message: dict[str, object]) -> bytes:
    """Return a message as one line of ASCII JSON."""
    return _ENCODER.encode(message).encode() + b"\n"


# Made once: `json.loads` and `json.dumps` make new ones whenever they are given an option.
_DECODER = json.JSONDecoder(parse_constant=refuse_constant, parse_float=require_finite)
_ENCODER = json.JSONEncoder(default=str)
