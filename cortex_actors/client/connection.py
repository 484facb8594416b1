"""The caller's side of the control socket: what the command line and other programs use.

Standard library only and quick to import. Every call makes its own connection, so a client holds
nothing, may be shared by threads, and survives the daemon's restarts. Errors arrive as the same
classes, texts and exit codes that the daemon raised.
"""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING, Any, ClassVar, Final

from cortex_actors import errors
from cortex_actors.home import LINE_LIMIT, Home
from cortex_actors.process.lock import find_peer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from io import BufferedReader
    from pathlib import Path

#: Seconds an answer may take; where a model may have to load, or the name of a store is looked up
#: and a keyring may ask its user; where a model is loaded first, or a job done; and where the
#: daemon works for as long as it lets a verb (120): a caller shortens neither this nor what is
#: longer.
TIMEOUT, SLOW, LOADING, LONG = 30.0, 60.0, 120.0, 125.0

#: Operation -> seconds that its answer may take, where that is longer than for others. What only
#: the disk limits has hours; `resolve` waits until no file is being saved, and a
#: round trip has five steps of 30 s, and as many of one that goes before.
PATIENCE: Final[Mapping[str, float]] = {
    **dict.fromkeys(("backup", "doctor"), 21_600.0),
    **dict.fromkeys(("resolve", "undo_resolution"), 600.0),
    "round_trip": 310.0,
    "calibrate": 300.0,
    **dict.fromkeys(("import_memories", "ingest", "migrate"), LONG),
    **dict.fromkeys(("prepare_model", "reload", "scan"), LONG),
    **dict.fromkeys(("migration", "model", "remember", "run_job"), LOADING),
    **dict.fromkeys(("convergence", "insight", "knowledge_search", "recall", "search"), SLOW),
    **dict.fromkeys(("add_store", "disable_store", "enable_store", "ping_store"), SLOW),
    **dict.fromkeys(("remove_store", "what_if"), SLOW),
}

#: The variable with the token of the agent that asks; unset, it is the owner who asks.
TOKEN = "CORTEX_TOKEN"  # noqa: S105 - a variable's name

#: Codes of JSON-RPC 2.0, and what the daemon says of a parameter that it does not know.
UNKNOWN_METHOD, INVALID_PARAMS = -32601, -32602
UNKNOWN_PARAMETER = "unexpected keyword argument"

#: A JSON object, as it comes over the wire.
Answer = dict[str, Any]


def find_folder() -> str | None:
    """Return the folder of this process, of which the daemon finds the project; None if gone."""
    try:
        return os.getcwd()  # noqa: PTH109 - as text, and without `pathlib`
    except OSError:
        return None


class Client:
    """Calls the daemon of one home; blocking."""

    #: Starts a daemon where none answers, and returns whether it did; a connection is then tried
    #: once more. Nothing was sent before, so nothing is done twice. Only the command line sets it.
    when_down: ClassVar[Callable[[Home], bool] | None] = None

    #: Looks once, before a connection is made, whether the daemon is of an older version than this
    #: program. Only the command line sets it.
    when_older: ClassVar[Callable[[Home], None] | None] = None

    #: Waits for an answer, of which method and how many seconds, and says so where it is late. Only
    #: the command line sets it, too.
    when_slow: ClassVar[Callable[..., None] | None] = None

    def __init__(
        self,
        home: Home | Path | str | None = None,
        *,
        timeout: float | None = None,
        token: str | None = None,
        agent: str | None = None,
    ) -> None:
        """Remember whom to call, and as whom; see `choose_timeout` for the timeout.

        `token` is an agent's; without one `CORTEX_TOKEN` counts, and where that is not set either,
        the owner asks. A token that is empty is sent, too, and refused: a variable that was to hold
        an agent's token and does not must not make the agent the owner.

        `agent` is the agent of whose session this is a part: it has that agent's rights, not the
        owner's. Where a token is shown, the token alone says who asks, and `agent` is not sent.
        """
        self.home = home if isinstance(home, Home) else Home.find(home)
        self._timeout = timeout
        self._token = os.environ.get(TOKEN) if token is None else token
        self._agent = agent

    def choose_timeout(self, method: str = "") -> float:
        """Return the seconds that an answer may take: the caller's, unless it takes long anyhow."""
        own = PATIENCE.get(method, TIMEOUT)
        return own if self._timeout is None or own >= LONG else self._timeout

    def call(self, method: str, /, **params: object) -> Answer:
        """Return the result of one method.

        Raises `DaemonDown` when no daemon answers, `DeadlineExceeded` after `choose_timeout`
        seconds of silence, and whatever the daemon raised.
        """
        seconds = self.choose_timeout(method)
        with self._connect(seconds) as sock, sock.makefile("rb") as reader:
            self._send(sock, method, params)
            if (wait := type(self).when_slow) is not None:
                wait(sock, method=method, seconds=seconds)
            return read_result(self._receive(reader, method, seconds))

    def stream(
        self, method: str, /, *, timeout: float | None = None, **params: object
    ) -> Iterator[Answer]:
        """Yield what a method sends until it ends; ending the iteration ends the stream.

        Without a timeout it waits for ever between two items. Raises as `call` does, and
        `DaemonDown` when the daemon ends without saying so.
        """
        with self._connect(self.choose_timeout()) as sock, sock.makefile("rb") as reader:
            self._send(sock, method, params)
            sock.settimeout(timeout)
            while "method" in (message := self._receive(reader, method, timeout or 0.0)):
                yield message["params"]
            read_result(message)

    def open(self, method: str, /, **params: object) -> tuple[socket.socket, Answer]:
        """Return a connection that goes on behind the answer to a method, and that answer.

        The caller closes it. The other side must not speak first. Raises as `call` does.
        """
        seconds = self.choose_timeout(method)
        sock = self._connect(seconds)
        try:
            self._send(sock, method, params)
            with sock.makefile("rb") as reader:
                return sock, read_result(self._receive(reader, method, seconds))
        except BaseException:
            sock.close()
            raise

    def find_pid(self) -> int | None:
        """Return the process id of the daemon, as the kernel says; None if it cannot tell."""
        with self._connect(self.choose_timeout()) as sock:
            return find_peer(sock).pid

    def _connect(self, seconds: float) -> socket.socket:
        """Return a connection to our own daemon."""
        if (ask := type(self).when_older) is not None:
            type(self).when_older = None
            ask(self.home)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(seconds)
        failure: errors.CortexError = self.make_foreign_error()
        try:
            sock.connect(str(self.home.socket))
            if find_peer(sock).ours:
                return sock
        except TimeoutError:
            failure = self.make_late_error("connect", seconds)
        except BlockingIOError:
            failure = self.make_busy_error()
        except OSError as error:
            failure = self.make_down_error()
            failure.__cause__ = error
        sock.close()
        start = type(self).when_down
        if isinstance(failure, errors.DaemonDown) and start is not None and start(self.home):
            return self._connect(seconds)
        raise failure

    def make_busy_error(self) -> errors.DeadlineExceeded:
        """Return the error of a daemon that is too busy; the kernel does not wait for it."""
        return errors.DeadlineExceeded(
            f"the daemon for {self.home.root} has not let in those who connected before, nothing "
            "was sent: try again, and see cortex status"
        )

    def make_foreign_error(self) -> errors.Refused:
        """Return the error of a socket that is another user's."""
        return errors.Refused(
            f"the socket {self.home.socket} belongs to another user; nothing was sent: "
            "choose another home with --home"
        )

    def encode_call(self, method: str, params: Mapping[str, object]) -> bytes:
        """Return the line that asks for a method; raises `BadInput` for what cannot be sent."""
        request: Answer = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        if self._token is not None:
            request["token"] = self._token
        elif self._agent is not None:
            request["agent"] = self._agent
        try:
            text = json.dumps(request)
        except (TypeError, ValueError, RecursionError) as error:
            raise errors.BadInput(
                f"cannot send {method}: its parameters are no JSON: {error}"
            ) from error
        data = text.encode() + b"\n"
        if len(data) > LINE_LIMIT:
            message = f"cannot send {method}: {len(data):,} bytes, and {LINE_LIMIT:,} are allowed"
            raise errors.BadInput(message)
        return data

    def _send(self, sock: socket.socket, method: str, params: Mapping[str, object]) -> None:
        """Send one request."""
        data = self.encode_call(method, params)
        try:
            sock.sendall(data)
        except TimeoutError:
            raise self.make_late_error(method, sock.gettimeout() or 0.0) from None
        except OSError:
            # It refused us and hung up: why is what we read next.
            return

    def _receive(self, reader: BufferedReader, method: str, seconds: float) -> Answer:
        """Return the next message."""
        try:
            line = reader.readline()
        except TimeoutError:
            raise self.make_late_error(method, seconds) from None
        except OSError:
            line = b""
        return self.decode_line(line, method)

    def decode_line(self, line: bytes, method: str) -> Answer:
        """Return the message on a line; raises `AnswerLost` when the daemon ended within it."""
        if not line.endswith(b"\n"):
            raise errors.AnswerLost(
                f"the daemon for {self.home.root} ended before it answered {method}; "
                "whether it was done is not known: see cortex status and cortex daemon logs"
            )
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise errors.InternalError(f"the daemon's answer is no JSON: {line[:200]!r}") from error
        if not isinstance(message, dict):
            raise errors.InternalError(f"the daemon's answer is no object: {line[:200]!r}")
        return message

    def make_down_error(self) -> errors.DaemonDown:
        """Return the error of a home without a daemon."""
        return errors.DaemonDown(
            f'no daemon answers for {self.home.root}: start one with "cortex start"'
        )

    def make_late_error(self, method: str, seconds: float) -> errors.DeadlineExceeded:
        """Return the error of an answer that did not come in time."""
        return errors.DeadlineExceeded(
            f"the daemon for {self.home.root} did not answer {method} within {seconds:g} s; "
            "see cortex status and cortex daemon logs"
        )


def read_result(message: Answer) -> Answer:
    """Return a message's result, or raise its error."""
    if "error" in message:
        raise _error(message["error"])
    found = message.get("result")
    if not isinstance(found, dict):
        raise errors.InternalError(f"the daemon's answer is no object: {str(message)[:200]}")
    return found


def _error(found: Answer) -> errors.CortexError:
    """Return the exception that an error object describes.

    A class that this version does not know is shown as the first one with its exit code. What the
    daemon knows nothing of, a newer one may: programs and daemon come from one package.
    """
    data = found.get("data") or {}
    name = str(data.get("type", ""))
    named = getattr(errors, name, None)
    text = str(found.get("message", "the daemon gave no reason"))
    code = found.get("code")
    if code == UNKNOWN_METHOD or (code == INVALID_PARAMS and UNKNOWN_PARAMETER in text):
        text = f"{text}; a daemon older than this program is replaced with: cortex daemon restart"
    if isinstance(named, type) and issubclass(named, errors.CortexError):
        return named(text)
    return make_error(text, exit_code=data.get("exit_code"))


def make_error(text: str, *, exit_code: object) -> errors.CortexError:
    """Return an error with that text, of the first class that has that exit code."""
    alike = [c for c in errors.CortexError.__subclasses__() if c.exit_code == exit_code]
    return (alike[0] if alike else errors.CortexError)(text)
