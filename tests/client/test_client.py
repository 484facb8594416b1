"""The client, against a server that answers what it is told to."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from cortex_actors import errors
from cortex_actors.client import connection as module
from cortex_actors.client.connection import Client
from cortex_actors.client.doors import AsyncClient
from cortex_actors.home import Home
from cortex_actors.process.lock import Peer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    #: Starts a server that gives these lines to the next connection.
    Serve = Callable[..., Home]


@pytest.fixture
def serve(tmp_home: Path) -> Iterator[Serve]:
    """Give what starts a server for one connection."""
    home = Home(tmp_home)
    listener = socket.socket(socket.AF_UNIX)
    threads: list[threading.Thread] = []
    done = threading.Event()

    def one(answers: tuple[bytes, ...], hang: bool) -> None:
        connection, _ = listener.accept()
        # A client may hang up before it has said or heard anything.
        with suppress(OSError), connection, connection.makefile("rb") as reader:
            reader.readline()
            connection.sendall(b"".join(answers))
            if hang:
                done.wait(10)

    def start(*answers: bytes, hang: bool = False) -> Home:
        listener.bind(str(home.socket))
        listener.listen()
        threads.append(threading.Thread(target=one, args=(answers, hang)))
        threads[-1].start()
        return home

    yield start
    done.set()
    for thread in threads:
        thread.join(10)
    listener.close()


def _error(kind: str, code: int) -> bytes:
    """Return the line of an error."""
    data = {"type": kind, "exit_code": code}
    error = {"code": -32000, "message": "it went wrong", "data": data}
    return json.dumps({"id": 1, "error": error}).encode() + b"\n"


class TestCall:
    def test_result(self, serve: Serve) -> None:
        """A call returns the result."""
        assert {"a": 1} == Client(serve(b'{"id": 1, "result": {"a": 1}}\n')).call("status")

    def test_nobody(self, tmp_home: Path) -> None:
        """Without a daemon the error says how to start one."""
        with pytest.raises(errors.DaemonDown) as caught:
            Client(tmp_home).call("status")

        expected = f'no daemon answers for {tmp_home}: start one with "cortex start"'
        assert expected == str(caught.value)

    def test_why(self, tmp_home: Path) -> None:
        """What the system said of the socket is the cause of the error."""
        with pytest.raises(errors.DaemonDown) as caught:
            Client(tmp_home).call("status")

        assert isinstance(caught.value.__cause__, FileNotFoundError)

    def test_dead_socket(self, tmp_home: Path) -> None:
        """A socket that a killed daemon left behind is nobody, too."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(Home(tmp_home).socket))

        with pytest.raises(errors.DaemonDown, match="no daemon answers"):
            Client(tmp_home).call("status")

    @pytest.mark.parametrize(
        ("kind", "code", "expected"),
        [
            ("UnknownTopic", 66, errors.UnknownTopic),
            ("DaemonStopping", 69, errors.DaemonStopping),
            ("FromTheFuture", 65, errors.BadInput),
            ("Exception", 1, errors.CortexError),
            ("annotations", 42, errors.CortexError),
        ],
    )
    def test_error(
        self, serve: Serve, kind: str, code: int, expected: type[errors.CortexError]
    ) -> None:
        """An error is raised as its own class, or as the nearest one that is known."""
        with pytest.raises(errors.CortexError, match="^it went wrong$") as caught:
            Client(serve(_error(kind, code))).call("publish")

        assert expected is type(caught.value) or expected.exit_code == caught.value.exit_code

    @pytest.mark.parametrize(
        ("code", "text"),
        [
            (-32601, "no method is called 'status'; the methods are: tree"),
            (-32602, "cannot call status: got an unexpected keyword argument 'soon'"),
        ],
    )
    def test_older_daemon(self, serve: Serve, code: int, text: str) -> None:
        """An older daemon, which does not know what is asked, is met with the way to replace it."""
        error = {"code": code, "message": text, "data": {"type": "BadInput", "exit_code": 65}}
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()

        with pytest.raises(errors.BadInput, match="is replaced with: cortex daemon restart$"):
            Client(serve(line + b"\n")).call("status")

    def test_full_queue(self, tmp_home: Path) -> None:
        """A daemon that lets nobody in is not one that is down; nothing was sent to it."""
        home = Home(tmp_home)
        with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
            listener.bind(str(home.socket))
            listener.listen(0)
            first.connect(str(home.socket))
            with pytest.raises(errors.DeadlineExceeded, match="has not let in"):
                Client(home).call("status")
            with pytest.raises(errors.DeadlineExceeded, match="has not let in"):
                asyncio.run(AsyncClient(Client(home)).call("status"))

    def test_silence(self, serve: Serve) -> None:
        """An answer that does not come in time is an error that says how long was waited."""
        with pytest.raises(errors.DeadlineExceeded, match=r"did not answer status within 0\.05 s"):
            Client(serve(hang=True), timeout=0.05).call("status")

    @pytest.mark.parametrize("start", [b"", b'{"id": 1, "resu'])
    def test_daemon_ends(self, serve: Serve, start: bytes) -> None:
        """A daemon that ends while it answers is down, and what it did is not known."""
        with pytest.raises(errors.DaemonDown, match="whether it was done is not known"):
            Client(serve(start)).call("publish")

    @pytest.mark.parametrize("line", [b"x\n", b"[]\n", b'{"id": 1, "result": 7}\n', b"[" * 9999])
    def test_strange_answer(self, serve: Serve, line: bytes) -> None:
        """An answer that is no answer is a fault, not a crash."""
        with pytest.raises(errors.InternalError, match="the daemon's answer is no"):
            Client(serve(line.rstrip() + b"\n")).call("status")

    def test_too_much(self, serve: Serve) -> None:
        """A request over 1 MiB is refused before anything is sent."""
        with pytest.raises(errors.BadInput, match="1,048,576 are allowed"):
            Client(serve(b'{"id": 1, "result": {}}\n')).call("publish", text="x" * (1 << 20))

    def test_no_json(self, serve: Serve) -> None:
        """A parameter that is no JSON is refused before anything is sent."""
        with pytest.raises(errors.BadInput, match="its parameters are no JSON"):
            Client(serve(b"")).call("publish", payload={1, 2})

    def test_other_user(self, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
        """A socket of another user gets nothing from us."""
        monkeypatch.setattr(module, "find_peer", lambda _: Peer(1, 12_345))

        with pytest.raises(errors.Refused, match="belongs to another user"):
            Client(serve(b"")).call("status")


class TestStream:
    def test_items(self, serve: Serve) -> None:
        """A stream yields its items and ends with the result."""
        items = [b'{"method": "logs", "params": {"n": %d}}\n' % n for n in range(3)]
        home = serve(*items, b'{"id": 1, "result": {"sent": 3}}\n')

        assert [0, 1, 2] == [item["n"] for item in Client(home).stream("logs")]

    def test_error(self, serve: Serve) -> None:
        """A stream that is refused raises like a call."""
        with pytest.raises(errors.BadInput):
            list(Client(serve(_error("BadInput", 65))).stream("logs"))

    def test_end_without_a_word(self, serve: Serve) -> None:
        """A stream that breaks off is not a stream that ended."""
        with pytest.raises(errors.DaemonDown):
            list(Client(serve(b'{"method": "logs", "params": {}}\n')).stream("logs"))


class TestPid:
    def test_from_the_kernel(self, serve: Serve) -> None:
        """The pid is the kernel's word for who listens."""
        import os  # noqa: PLC0415 - beside its only use

        assert os.getpid() == Client(serve(b"")).find_pid()
