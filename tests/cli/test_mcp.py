"""`cortex mcp`: lines are carried, whatever becomes of the daemon meanwhile."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import mcp
from cortex_actors.errors import DaemonDown
from cortex_actors.home import LINE_LIMIT, Home
from tests.process.commands import Commands, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GREETING: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
GREETED: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def tool(number: int, name: str, **given: object) -> dict[str, Any]:
    """Return a request that calls a tool."""
    params = {"name": name, "arguments": given}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@dataclass
class Daemon:
    """Listens where a home's daemon does, and answers what a test tells it to."""

    home: Home
    connections: list[socket.socket] = field(default_factory=list)
    readers: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home.create()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.home.socket))
        self._listening.listen()
        self._listening.settimeout(30)

    def accept(self) -> None:
        """Take a session that comes, and tell it which tools only read."""
        sock, _ = self._listening.accept()
        sock.settimeout(30)
        self.connections.append(sock)
        self.readers.append(sock.makefile("rb"))
        assert "mcp" == self.hear()["method"]
        self.say({"id": 1, "result": {"agent": "CLAUDE", "reads": ["recall"]}})

    def hear(self) -> dict[str, Any]:
        """Return the next line of the session that came last."""
        found: dict[str, Any] = json.loads(self.readers[-1].readline())
        return found

    def say(self, message: dict[str, Any]) -> None:
        """Send a line to it."""
        self.connections[-1].sendall(json.dumps(message).encode() + b"\n")

    def hang_up(self) -> None:
        """End its connection, as a daemon that stops does."""
        self.readers[-1].close()
        self.connections[-1].close()

    def close(self) -> None:
        """End all."""
        for each in (*self.readers, *self.connections, self._listening):
            each.close()


@dataclass
class AiClient:
    """The program that started `cortex mcp`."""

    to: int
    came: Any

    def say(self, *messages: dict[str, Any]) -> None:
        """Send lines."""
        data = b"".join(json.dumps(each).encode() + b"\n" for each in messages)
        while data:
            data = data[os.write(self.to, data) :]

    def hear(self) -> dict[str, Any]:
        """Return the next line."""
        found: dict[str, Any] = json.loads(self.came.readline())
        return found

    def close(self) -> None:
        """Say the last word."""
        if self.to >= 0:
            os.close(self.to)
            self.to = -1


@pytest.fixture
def daemon(tmp_home: Path) -> Iterator[Daemon]:
    """Give somebody who answers as the daemon of a home."""
    daemon = Daemon(Home(tmp_home))
    yield daemon
    daemon.close()


@contextmanager
def session(daemon: Daemon) -> Iterator[AiClient]:
    """Run a session with a client of its own."""
    source, to = os.pipe()
    come, target = os.pipe()

    def run() -> None:
        mcp.Proxy(daemon.home, {}).run(source, target)

    thread = threading.Thread(target=run)
    thread.start()
    daemon.accept()
    with os.fdopen(come, "rb") as came:
        client = AiClient(to, came)
        try:
            yield client
        finally:
            client.close()
            thread.join(30)
        assert not thread.is_alive()
    os.close(source)
    os.close(target)


class TestRestart:
    def test_goes_on(self, daemon: Daemon) -> None:
        """Behind a restart the greeting is said again by itself, and its answer kept back."""
        with session(daemon) as client:
            client.say(GREETING, GREETED)
            assert ("initialize", "notifications/initialized") == (
                daemon.hear()["method"],
                daemon.hear()["method"],
            )
            daemon.say({"id": 0, "result": {}})
            assert 0 == client.hear()["id"]
            daemon.hang_up()
            client.say(tool(1, "remember", content="x"))
            daemon.accept()
            heard = [daemon.hear() for _ in range(3)]
            daemon.say({"id": 0, "result": {}})
            daemon.say({"id": 1, "result": {"content": []}})

            assert [GREETING, GREETED, tool(1, "remember", content="x")] == heard
            assert 1 == client.hear()["id"]

    def test_reading(self, daemon: Daemon) -> None:
        """What changes nothing and was not answered is asked again."""
        with session(daemon) as client:
            client.say(tool(1, "recall", query="x"))
            assert "tools/call" == daemon.hear()["method"]
            daemon.hang_up()
            daemon.accept()

            assert tool(1, "recall", query="x") == daemon.hear()
            daemon.say({"id": 1, "result": {}})
            assert {"id": 1, "result": {}} == client.hear()

    def test_writing(self, daemon: Daemon) -> None:
        """What may have been done is not asked again: the client is told, and decides."""
        with session(daemon) as client:
            client.say(tool(7, "remember", content="x"))
            daemon.hear()
            daemon.hang_up()
            told = client.hear()

        assert 7 == told["id"]
        assert "whether it was done is not known" in told["error"]["message"]
        assert 1 == len(daemon.connections)

    def test_greeting(self, daemon: Daemon) -> None:
        """A greeting without an answer is said again once, and its answer reaches the client."""
        with session(daemon) as client:
            client.say(GREETING)
            daemon.hear()
            daemon.hang_up()
            daemon.accept()
            assert GREETING == daemon.hear()
            daemon.say({"id": 0, "result": {"again": True}})

            assert {"id": 0, "result": {"again": True}} == client.hear()

    def test_greeting_not_sent(self, daemon: Daemon) -> None:
        """A daemon that ends before it is greeted has the next one greeted once."""
        with session(daemon) as client:
            client.say(GREETING, GREETED)
            assert [GREETING, GREETED] == [daemon.hear(), daemon.hear()]
            daemon.say({"id": 0, "result": {}})
            assert 0 == client.hear()["id"]
            daemon.hang_up()
            client.say(tool(1, "recall", query="x"))
            daemon.accept()
            daemon.hang_up()
            daemon.accept()

            heard = [daemon.hear() for _ in range(3)]
            daemon.say({"id": 0, "result": {}})
            daemon.say({"id": 1, "result": {}})
            assert [GREETING, GREETED, tool(1, "recall", query="x")] == heard
            assert 1 == client.hear()["id"]

    def test_hopeless(self, daemon: Daemon) -> None:
        """A daemon that only ends is not asked for ever: the client is told."""
        with session(daemon) as client:
            client.say(tool(1, "recall", query="x"))
            for _ in range(mcp.FRUITLESS - 1):
                daemon.hear()
                daemon.hang_up()
                daemon.accept()
            daemon.hear()
            daemon.hang_up()

            assert "ended before it answered" in client.hear()["error"]["message"]

    def test_greeted_and_hopeless(self, daemon: Daemon) -> None:
        """A daemon that answers the greeting and then ends is not asked for ever, either."""
        with session(daemon) as client:
            client.say(GREETING, GREETED)
            assert [GREETING, GREETED] == [daemon.hear(), daemon.hear()]
            daemon.say({"id": 0, "result": {}})
            assert 0 == client.hear()["id"]
            client.say(tool(1, "recall", query="x"))
            for _ in range(mcp.FRUITLESS - 1):
                assert "tools/call" == daemon.hear()["method"]
                daemon.hang_up()
                daemon.accept()
                assert [GREETING, GREETED] == [daemon.hear(), daemon.hear()]
                daemon.say({"id": 0, "result": {}})
            daemon.hear()
            daemon.hang_up()

            assert "ended before it answered" in client.hear()["error"]["message"]

    @pytest.mark.parametrize("size", [LINE_LIMIT, mcp.UNSENT * 2])
    def test_too_long(self, daemon: Daemon, size: int) -> None:
        """A request that the daemon would not read is refused here, and the session goes on."""
        with session(daemon) as client:
            client.say(tool(1, "recall", query="x" * size), tool(2, "recall", query="x"))
            told = client.hear()
            assert 2 == daemon.hear()["id"]
            daemon.say({"id": 2, "result": {}})
            assert 2 == client.hear()["id"]

        assert 1 == told["id"]
        assert "ask with less" in told["error"]["message"]

    def test_garbage(self, daemon: Daemon) -> None:
        """Parameters in a form that no client has end no session."""
        with session(daemon) as client:
            for method in ("notifications/cancelled", "tools/call"):
                client.say({"jsonrpc": "2.0", "id": 1, "method": method, "params": [1]})
                assert method == daemon.hear()["method"]
            daemon.hang_up()

            assert "ended before it answered" in client.hear()["error"]["message"]

    def test_last_word(self, daemon: Daemon) -> None:
        """A client that has said its last word still gets its answer."""
        with session(daemon) as client:
            client.say(tool(1, "recall", query="x"))
            daemon.hear()
            client.close()
            daemon.say({"id": 1, "result": {}})
            assert 1 == client.hear()["id"]


class TestStart:
    def test_down(self, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where no daemon may be started, a session says so and how to start one."""
        monkeypatch.setenv("CORTEX_AUTOSTART", "0")

        with pytest.raises(DaemonDown, match="cortex start"):
            mcp.Proxy(Home(tmp_home), {})

    @pytest.mark.slow
    def test_cost(self) -> None:
        """The process of a session is made of the standard library alone, and small."""
        heavy = ("asyncio", "pydantic", "click", "rich", "mcp", "sqlite3", "sqlalchemy", "numpy")
        code = (
            "import sys; from cortex_actors.cli import entry, fast, mcp; "
            f"print([name for name in {heavy} if name in sys.modules])"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

        assert b"[]" == found.stdout.strip()

    @pytest.mark.slow
    def test_lives(self, tmp_home: Path) -> None:
        """A session starts the daemon, survives a restart, prints lines alone, and ends."""
        cortex = Commands(tmp_home)
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "cortex_actors", "mcp"],
                env=cortex.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            client = AiClient(process.stdin.fileno(), process.stdout)
            client.say(GREETING, GREETED, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            listed = {answer["id"]: answer["result"] for answer in (client.hear(), client.hear())}
            restarted = cortex("daemon", "restart")
            assert 0 == restarted.returncode, restarted.stderr
            client.say(tool(2, "remember", content="Herons nest in March."))
            said = client.hear()
            until(lambda: 1 == cortex.status()["mcp"]["sessions"], "the session")
            rest, errors = process.communicate(timeout=60)
        finally:
            cortex.clean_up()

        assert "recall" in [each["name"] for each in listed[1]["tools"]]
        assert said["result"]["structuredContent"]["id"].startswith("mem_")
        assert (0, b"", b"") == (process.returncode, rest, errors)
