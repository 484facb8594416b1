"""`mcp`: carries an AI client's MCP lines from standard input to the daemon, and its answers back.

Standard library only: no model, no database and no SDK in the process of a session. What the lines
say is the daemon's affair; looked at is only which requests wait for an answer.

The daemon may be restarted and upgraded meanwhile. A session then goes on: the client's greeting is
said again, and its answer kept back. A request that was not answered is asked again where it
changes nothing; else the client reads that it may have been done or not. A daemon that was
stopped is started again by the next request, not before: a person stopped it.
"""

from __future__ import annotations

import json
import os
import select
from typing import TYPE_CHECKING, Any

from cortex_actors import errors
from cortex_actors.client.connection import TOKEN, Client, find_folder
from cortex_actors.clock import SystemClock
from cortex_actors.home import LINE_LIMIT

if TYPE_CHECKING:
    import socket

    from cortex_actors.home import Home

#: Bytes read at once, and bytes of requests that may wait for the daemon to read them; of a line
#: that is longer the middle is not kept, because it is refused.
CHUNK, UNSENT = 65_536, 4 * 1024 * 1024

#: Seconds in which a daemon that is being restarted has its lock again: until then none is started.
RESTART = 2.0

#: Seconds that a daemon may take to start, and between two looks at it.
START_TIMEOUT, PAUSE = 60.0, 0.05

#: Seconds that answers may take once the client has said its last word: as long as a question that
#: waits for its model.
LAST_WORD = 60.0

#: Connections in a row that end with no answer for the client, after which nothing is asked again.
FRUITLESS = 3

#: Methods that change nothing, beside the tools of which the daemon says so.
_READING = ("ping", "server/discover", "tools/list", "resources/", "prompts/", "completion/")

_CLOCK = SystemClock()

#: JSON-RPC's code for an error of the server.
_FAILED = -32000

#: What is not known when the daemon ends before it answers.
_LOST = (
    "the daemon ended before it answered; whether it was done is not known: look with recall, or "
    "try again"
)

#: What is said of a request that would cost the session its connection.
_TOO_LONG = f"the request has more than {LINE_LIMIT:,} bytes, and was not sent: ask with less"


class Proxy:
    """One client's session, whichever daemon answers it."""

    def __init__(self, home: Home, wishes: dict[str, str]) -> None:
        """Connect. Raises `CortexError` where no daemon answers and none can be started."""
        self._home = home
        self._client = Client(home)
        self._wishes = wishes
        self._reads: frozenset[str] = frozenset()
        #: What waits to be sent, and the beginnings of lines.
        self._unsent, self._asked, self._answered = b"", b"", b""
        #: Whether the first line that waits to be sent was sent in part.
        self._is_broken = False
        #: Id of a request as JSON -> the request, while it is not answered.
        self._waiting: dict[str, dict[str, Any]] = {}
        #: The greeting of a client that says `initialize`, and ids whose next answer is kept back.
        self._greeting: list[dict[str, Any]] = []
        self._kept_back: set[str] = set()
        self._lost_at, self._fruitless = float("-inf"), 0
        self._sock: socket.socket | None = self._connected()

    def run(self, source: int, target: int) -> None:
        """Carry lines until the client closes `source`; both are file descriptors."""
        self._target = target
        end: float | None = None
        while end is None or (self._waiting and _CLOCK.monotonic() < end):
            left = None if end is None else max(0.0, end - _CLOCK.monotonic())
            reads: list[Any] = [self._sock] if self._sock else []
            if end is None and len(self._unsent) < UNSENT:
                reads.append(source)
            writes = [self._sock] if self._sock and self._unsent else []
            readable, writable, _ = select.select(reads, writes, [], left)
            if self._sock and self._sock in readable:
                self._from_daemon(self._sock)
            elif self._sock and self._sock in writable:
                self._send(self._sock)
            if source in readable:
                data = os.read(source, CHUNK)
                if not data:
                    end = _CLOCK.monotonic() + LAST_WORD
                self._from_client(data)
        if self._sock:
            self._sock.close()

    def _from_client(self, data: bytes) -> None:
        """Take what the client says; a daemon that is away is looked for when there is a line."""
        *lines, self._asked = (self._asked + data).split(b"\n")
        self._asked = self._asked[:UNSENT]
        for line in filter(None, map(bytes.strip, lines)):
            request = _object(line)
            if len(line) > LINE_LIMIT:
                self._refuse(json.dumps(request.get("id")), _TOO_LONG)
                continue
            self._note(request)
            if self._sock is None and not self._return():
                continue  # each that waited has its error
            self._unsent += line + b"\n"

    def _note(self, request: dict[str, Any]) -> None:
        """Remember what may have to be said again."""
        method = request.get("method")
        if method == "initialize":
            self._greeting = [request]
        elif method == "notifications/initialized":
            self._greeting.append(request)
        elif method == "notifications/cancelled":
            self._waiting.pop(json.dumps(_given(request, "requestId")), None)
        if "id" in request and method is not None:
            self._waiting[json.dumps(request["id"])] = request

    def _from_daemon(self, sock: socket.socket) -> None:
        """Hand answers on; at the end of the connection look for another daemon."""
        try:
            data = sock.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose()
            return
        *lines, self._answered = (self._answered + data).split(b"\n")
        for line in lines:
            answer = _object(line)
            key = json.dumps(answer.get("id")) if "method" not in answer else ""
            self._waiting.pop(key, None)
            if key in self._kept_back:
                self._kept_back.discard(key)
            else:
                self._fruitless = 0
                _write(self._target, line + b"\n")

    def _send(self, sock: socket.socket) -> None:
        """Send what the daemon takes now."""
        try:
            count = sock.send(self._unsent)
            self._is_broken = not self._unsent[:count].endswith(b"\n")
            self._unsent = self._unsent[count:]
        except BlockingIOError:
            return
        except OSError:
            self._lose()

    def _lose(self) -> None:
        """Deal with the end of a connection: ask again what may be asked again."""
        assert self._sock is not None  # noqa: S101 - a fact for mypy
        self._sock.close()
        self._sock, self._lost_at = None, _CLOCK.monotonic()
        unsent = self._unsent.splitlines(keepends=True)[int(self._is_broken) :]
        self._fruitless += 1
        may_ask = self._fruitless < FRUITLESS
        unsent = unsent if may_ask else []
        fresh = {json.dumps(each.get("id")) for each in map(_object, unsent)}
        self._unsent, self._answered, self._is_broken = b"", b"", False
        self._kept_back.clear()
        sent = {key: each for key, each in self._waiting.items() if key not in fresh}
        again = [each for each in sent.values() if may_ask and self._is_reading(each)]
        for key in [key for key, each in sent.items() if each not in again]:
            self._refuse(key, _LOST)
        if (again or unsent) and self._return():
            # A greeting that was not sent is not to be said twice.
            said = [*map(_object, self._unsent.splitlines())]
            unsent = [each for each in unsent if _object(each) not in said]
            self._unsent += b"".join([*map(_line, again), *unsent])

    def _return(self) -> bool:
        """Connect again and say the greeting; where that fails, tell all that wait."""
        try:
            self._sock = self._connected()
        except errors.CortexError as error:
            for key in list(self._waiting):
                self._refuse(key, str(error))
            return False
        # A greeting that still waits is said by who asks again.
        for each in self._greeting:
            key = json.dumps(each.get("id"))
            if "id" in each and key in self._waiting:
                break
            if "id" in each:
                self._kept_back.add(key)
            self._unsent += _line(each)
        return True

    def _refuse(self, key: str, why: str) -> None:
        """Answer a request ourselves."""
        self._waiting.pop(key, None)
        error = {"code": _FAILED, "message": why}
        _write(self._target, _line({"jsonrpc": "2.0", "id": json.loads(key), "error": error}))

    def _is_reading(self, request: dict[str, Any]) -> bool:
        """Return whether a request changes nothing, so that it may be asked twice."""
        method = str(request["method"])
        if method == "tools/call":
            return str(_given(request, "name")) in self._reads
        return method == "initialize" or method.startswith(_READING)

    def _connected(self) -> socket.socket:
        """Return a connection that speaks MCP; starts a daemon where there is none.

        One that is being restarted is waited for. Raises `CortexError`.
        """
        begun = _CLOCK.monotonic()
        while True:
            try:
                sock, told = self._client.open("mcp", **self._wishes)
            except (errors.DaemonDown, errors.DaemonStopping):
                now = _CLOCK.monotonic()
                if now - begun > START_TIMEOUT or not self._start(now):
                    raise
            else:
                self._reads = frozenset(told["reads"])
                sock.setblocking(False)
                return sock

    def _start(self, now: float) -> bool:
        """Start a daemon, or wait a moment where another process does; return whether to go on."""
        from cortex_actors.cli import lifecycle  # noqa: PLC0415 - only what is needed
        from cortex_actors.process import lock  # noqa: PLC0415 - as above

        if os.environ.get("CORTEX_AUTOSTART") == "0" or TOKEN in os.environ:
            return False
        if now - self._lost_at < RESTART or lock.read_state(self._home) in lock.HELD:
            lifecycle.pause(PAUSE)
            return True
        try:
            lifecycle.launch(self._home, timeout=START_TIMEOUT)
        except errors.AlreadyRunning:
            lifecycle.pause(PAUSE)
        return True


def run(home: Home, wishes: dict[str, str | None]) -> int:
    """Serve the client that started us, until it closes our standard input."""
    given = {**wishes, "here": find_folder()}
    Proxy(home, {name: each for name, each in given.items() if each}).run(0, 1)
    return 0


def _object(line: bytes) -> dict[str, Any]:
    """Return the object on a line; an empty one for what is none, which the daemon answers."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _given(request: dict[str, Any], name: str) -> object:
    """Return a parameter of a request; None where it has none, whatever its parameters are."""
    params = request.get("params")
    return params.get(name) if isinstance(params, dict) else None


def _line(message: dict[str, Any]) -> bytes:
    """Return a message as a line."""
    return json.dumps(message).encode() + b"\n"


def _write(target: int, data: bytes) -> None:
    """Write all of it; a client that is gone raises `BrokenPipeError`."""
    while data:
        data = data[os.write(target, data) :]
