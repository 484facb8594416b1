"""An address that speaks OpenAI's protocol, checked before anything is sent to it. Pure.

What an OpenAI-compatible endpoint answers, before anybody looks at what it holds. Pure.

`judge_answer` says whether an answer is one, `read_document` takes the JSON object out of it. Which
failure becomes which error is listed in docs/models.md.

What a remote store answers, before an adapter looks at what it means. Pure.

Whatever it is, another program wrote it: it is measured before it is read, and its own words
never become part of an error's text, because agents read those (`read_error` keeps them).

Why a store could not be asked, in one line each, without the store's name. Pure.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from cortex_actors import errors
from cortex_actors.rules.addresses import SCHEMES, Address, is_here, parse_address

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


#: Where requests go when `base_url` is empty.
OPENAI = "https://api.openai.com/v1"

#: How an address is written.
_HOW = "write it like http://localhost:11434/v1, without a key in it"

#: Characters a key or a token may have: what a header can carry, without the space that would end
#: it.
FOR_HEADERS = frozenset(map(chr, range(0x21, 0x7F)))


@dataclass(frozen=True, slots=True)
class Use:
    """What an endpoint is asked for, and how errors name that."""

    #: What the endpoint is called: "the embedding endpoint".
    noun: str
    #: The section of the settings that leads there.
    section: str
    #: What the address ends in: "embeddings".
    path: str
    #: What should be there: "an embeddings API".
    api: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where texts are sent, as what, and with which key."""

    use: Use
    #: The whole address, what it is asked for included.
    url: str
    #: Host and, unless it is the scheme's own, port: part of the name of a model.
    host: str
    is_loopback: bool
    key: str = field(default="", repr=False)
    #: Whether the operating system's certificates count.
    system_store: bool = False

    @property
    def named(self) -> str:
        """How a sentence names it."""
        return f"the {self.use.noun} endpoint {self.host}"


def read_endpoint(base_url: str, key: str, *, use: Use, system_store: bool = False) -> Endpoint:
    """Return the endpoint of the settings.

    Raises `EndpointUnusable` for an address that cannot be used, or must not: no scheme but http
    and https, nothing secret in it, and a key in clear text to this machine only. No error ever
    shows the key.
    """
    section = use.section
    where = _address(base_url, section)
    if key and not FOR_HEADERS.issuperset(key):
        raise errors.EndpointUnusable(
            f"{section}.api_key cannot be sent: it holds a space, a line end or a character that "
            f"is not ASCII; set CORTEX_{section.upper()}__API_KEY to the key alone"
        )
    # What is sent to this machine is seen by no other (RFC 6761, 6.3).
    loopback = where.host.endswith(".localhost") or is_here(where.host)
    if key and where.scheme == "http" and not loopback:
        raise errors.EndpointUnusable(
            f"{section}.api_key is not sent to {where.netloc}: over http anybody on the way can "
            f"read it; use https in {section}.base_url, or an endpoint without a key"
        )
    url = f"{where.origin}{where.path}/{use.path}"
    return Endpoint(use, url, where.netloc, loopback, key, system_store)


def find_host(base_url: str) -> str:
    """Return the host part of a model id for any address, even one that cannot be used."""
    try:
        return _address(base_url, "").netloc
    except errors.EndpointUnusable:
        return "?"


def _address(base_url: str, section: str) -> Address:
    """Return where an endpoint is; `EndpointUnusable` for what is no address of one."""
    try:
        where = parse_address(base_url or OPENAI, how=_HOW)
    except errors.StoreUnusable as error:
        raise errors.EndpointUnusable(f"{section}.base_url: {error}") from None
    if where.scheme not in SCHEMES:
        raise errors.EndpointUnusable(f"{section}.base_url cannot be used: {_HOW}")
    return where


#: Letters of a server's own words that an error shows.
SHOWN = 200

_OK = 200

#: The server says that what was sent cannot be used: too long, mostly.
_BLAMES_TEXT = frozenset({400, 413, 422})

#: The server may say something else in a moment: too slow, too early, too often, overloaded. So may
#: every answer from 500 on.
_PASSING = frozenset({408, 425, 429})
_SERVERS_FAULT = 500

#: What a person has to do, by status; any other one below 500 is no such protocol.
_ENDPOINT_MENDS = {
    401: "set {variable} to a valid key",
    402: "see to the account there",
    403: "have the key allowed to use this model, or set {variable} to another one",
    404: "see that {section}.model names a model it has (Ollama: `ollama pull`) and that "
    "{section}.base_url ends where its API begins, mostly in /v1",
    405: "set {section}.base_url to where its API begins, mostly in /v1",
    410: "set {section}.model to a model that it still has",
}


class Passing(errors.EndpointDown):
    """A failure that may be over in a moment; `rest` is what the server asked for, seconds."""

    def __init__(self, text: str, rest: float | None = None) -> None:
        super().__init__(text)
        self.rest = rest


@dataclass(frozen=True, slots=True)
class HttpReply:
    """One answer of a server, its body read to the end."""

    status: int
    #: Its `Content-Type`.
    kind: str
    body: bytes
    #: Its `Retry-After`, in seconds from now; None without one.
    rest: float | None = None
    #: Its `Location`: where it would have one go instead.
    location: str = ""


def judge_answer(answer: HttpReply, endpoint: Endpoint) -> errors.CortexError | None:
    """Return what kind of failure an answer is; None when it may hold what was asked for.

    The server's own words are shown, short and without the key, should it repeat it.
    """
    if answer.status == _OK:
        return None
    where = f"{endpoint.named} answered {answer.status}"
    words = read_error(answer.body, endpoint.key)
    if answer.status in _PASSING or answer.status >= _SERVERS_FAULT:
        return Passing(where + words, answer.rest)
    if answer.status in _BLAMES_TEXT:
        return errors.BadInput(where + words)
    section = endpoint.use.section
    if mend := _ENDPOINT_MENDS.get(answer.status):
        mend = mend.format(section=section, variable=f"CORTEX_{section.upper()}__API_KEY")
        return errors.EndpointUnusable(f"{where}{words}; {mend}")
    base_url = f"{section}.base_url"
    if answer.status // 100 == 3:  # noqa: PLR2004 - 3xx
        return errors.EndpointUnusable(
            f"{where}, a redirection, which is not followed, because texts and key are meant for "
            f"this address only; set {base_url} to where it leads"
        )
    return errors.EndpointUnusable(f"{where}{words}; see that {base_url} is {endpoint.use.api}")


def read_document(answer: HttpReply, endpoint: Endpoint, *, where: str, key: str) -> dict[str, Any]:
    """Return the object an answer consists of; raises `EndpointDown` for anything else.

    `where` is how an error begins: who answered what. An object without `key` may be an error.
    """
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise errors.EndpointDown(
            f"{where} with something else than a JSON object ({answer.kind[:60] or 'no type'}, "
            f"{len(answer.body)} bytes); see that {endpoint.use.section}.base_url is "
            f"{endpoint.use.api}, mostly ending in /v1, and that no login page or proxy answers in "
            "its place"
        )
    if key not in document and "error" in document:
        raise errors.EndpointDown(f"{where} with an error{read_error(answer.body, endpoint.key)}")
    return document


def read_error(body: bytes, key: str) -> str:
    """Return what a server says of its error, to be put behind a sentence; empty when nothing.

    Only a string that it calls its message is taken: whole bodies may repeat the texts.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    words = _message(document)
    words = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    words = words.replace(key, "[key]") if key else words
    return f" ({words[:SHOWN]})" if words else ""


def count_tokens(document: Mapping[str, Any], kind: str = "prompt_tokens") -> int:
    """Return the tokens the server has counted; 0 when it does not say."""
    usage = document.get("usage")
    count = usage.get(kind) if isinstance(usage, dict) else 0
    return count if type(count) is int and count > 0 else 0


def _message(document: object) -> str:
    """Return the message of an error object in the spellings of the servers there are."""
    if not isinstance(document, dict):
        return ""
    for name in ("error", "message", "detail"):
        found = document.get(name)
        if isinstance(found, dict):
            found = found.get("message")
        if isinstance(found, str):
            return found
    return ""


#: Objects and lists that one answer may have. Each takes some 60 bytes when it is read, and `[],`
#: three to send: without a limit four megabytes become a hundred.
MOST_VALUES = 200_000

#: Digits that a whole number may have: what takes more is no count, no time and no id.
_DIGITS = 20

#: Half of a character, as JSON can write one: nothing that stores or prints text takes it.
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")

#: The store cannot use what was asked; it works otherwise.
_BLAMES_QUESTION = frozenset({400, 413, 415, 422})

#: The same address will not do, however often it is asked.
_MENDS = {
    401: "wants a token, or another one",
    403: "does not allow this token to ask",
    404: "has nothing at the address it was asked at",
    405: "is asked in a way it does not know",
    410: "has nothing any more at the address it was asked at",
}


class BadStatus(errors.StoreDown):
    """A store answered with an error of its own.

    Attributes:
        status: the number of its answer.
        said: what it says of it: another program's words, for the owner's eyes only.
        rest: seconds for which it asks to be left alone.

    """

    def __init__(self, text: str, *, status: int, said: str = "", rest: float = 0.0) -> None:
        """Say what was answered."""
        super().__init__(text)
        self.status = status
        self.said = said
        self.rest = rest


class QuestionRefused(BadStatus):
    """A store works, and will not have this question."""


class Unwelcome(BadStatus, errors.StoreUnusable):
    """A store will not be asked like this: a token or an address has to be changed."""


def judge_store_answer(answer: HttpReply, token: str) -> BadStatus | None:
    """Return what kind of failure an answer is; None when it may hold what was asked for."""
    status = answer.status
    if status // 100 == 2:  # noqa: PLR2004 - 2xx
        return None
    words = read_error(answer.body, token).strip(" ()")
    if status // 100 == 3:  # noqa: PLR2004 - 3xx
        return Unwelcome(
            f"answered {status}, a redirection{_whither(answer)}, which is never followed; set its "
            "address to where it is"[:SHOWN],
            status=status,
        )
    if status in _BLAMES_QUESTION:
        return QuestionRefused(
            f"answered {status}: it cannot use this question", status=status, said=words
        )
    if mend := _MENDS.get(status):
        return Unwelcome(f"answered {status}: it {mend}", status=status, said=words)
    return BadStatus(f"answered {status}", status=status, said=words, rest=answer.rest or 0.0)


def parse_body(body: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the JSON document an answer consists of; raises `StoreDown` for anything else.

    Every number in it is finite and every text can be written as UTF-8. Takes time in proportion
    to the size: a large one belongs on a thread.
    """
    if body.count(b"[") + body.count(b"{") > MOST_VALUES:
        raise errors.StoreDown(
            f"answered with more than {MOST_VALUES} objects and lists; none is used"
        )
    try:
        found = _loads(body)
        if _HALF.search(body):  # a whole character may be written so too, hence no refusal
            found = _loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise errors.StoreDown(
            f"answered with something else than JSON ({len(body)} bytes); see that it is its "
            "address and that no login page answers in its place"
        ) from None
    return found


def _loads(body: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Read strict JSON: no NaN, no infinity, no number of a million digits."""
    return json.loads(
        body, parse_constant=refuse_constant, parse_float=require_finite, parse_int=_counted
    )


def refuse_constant(text: str) -> NoReturn:
    """Refuse what is no number of JSON, though many writers write it: NaN and the infinities."""
    raise ValueError(f"{text[:32]} is no number of JSON")


def require_finite(text: str) -> float:
    """Return a number; raises `ValueError` for one that is too large to be written again."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:32]} is too large a number")
    return number


def _counted(text: str) -> int:
    """Return a whole number of some digits."""
    if len(text) > _DIGITS:
        raise ValueError(f"a number of {len(text):,} digits is too long to be read")
    return int(text)


def _whither(answer: HttpReply) -> str:
    """Return to whom a redirection leads, when that can be said in plain letters."""
    try:
        host = urlsplit(answer.location).netloc.rpartition("@")[2]
    except ValueError:
        return ""
    plain = host.isascii() and host.isprintable() and " " not in host
    return f" to {host[:60]}" if host and plain else ""


#: Letters that are shown of what a library says.
_TOLD = 100


def explain_refused(error: Exception) -> errors.StoreDown:
    """Return why nothing could be connected to, in words of the system."""
    cause = _innermost(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return errors.StoreUnusable(
            f"its certificate is not believed ({cause.verify_message}); see to it, or to "
            "tls.trust_system_store"[:SHOWN]
        )
    if isinstance(cause, ConnectionRefusedError):
        return errors.StoreDown("refused the connection: nothing listens at its address")
    return errors.StoreDown(f"cannot be reached ({_short(cause)})")


def explain_broken(error: Exception) -> errors.StoreDown:
    """Return how a connection ended that had been made."""
    return errors.StoreDown(f"broke off the connection ({_short(_innermost(error))})")


def explain_unread(error: Exception) -> errors.StoreUnusable:
    """Return what keeps a connection with TLS from being made at all."""
    return errors.StoreUnusable(
        f"no certificates can be read ({_short(error)}): see to tls.trust_system_store, or "
        "SSL_CERT_FILE in the daemon's environment"
    )


@asynccontextmanager
async def limit_time(
    seconds: float, *, told: float | None = None, doing: str = ""
) -> AsyncIterator[None]:
    """Give what is done with a store that many seconds; raises `StoreTimeout` after them.

    The error names `told` seconds, where what came before was part of them.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        after = seconds if told is None else told
        raise errors.StoreTimeout(f"timeout after {after:.2f} s{doing}") from None


def refuse_large(most: int) -> errors.StoreDown:
    """Return that an answer has grown beyond what it may have."""
    return errors.StoreDown(f"answered with more than {most} bytes; nothing of it is used")


def _innermost(error: BaseException) -> BaseException:
    """Return the first cause of an error: libraries wrap what the system said."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return error


def _short(error: BaseException) -> str:
    """Return what went wrong in a few words; some of these errors have no text."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(text.split())[:_TOLD]
