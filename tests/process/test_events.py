"""What other processes say to the daemon, and what they can follow."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest

from tests.process.commands import PATIENCE, Commands

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow


@pytest.fixture
def cortex(tmp_home: Path) -> Iterator[Commands]:
    """Give the command line of a home whose daemon runs."""
    commands = Commands(tmp_home)
    commands("start")
    yield commands
    commands.clean_up()


def _line(stream: IO[str] | None) -> str:
    """Return the next line of a process."""
    assert stream is not None
    return stream.readline()


class TestPublish:
    def test_is_heard(self, cortex: Commands) -> None:
        """What one process publishes, another one follows."""
        follower = cortex.spawn("logs", "-f", "-n", "1", "--json")
        assert _line(follower.stdout)
        done = cortex("publish", "custom:deployed", "version=1.4", "replicas:=3")
        records = iter(lambda: json.loads(_line(follower.stdout)), None)
        record = next(found for found in records if found["topic"] == "custom:deployed")

        assert 0 == done.returncode, done.stderr
        assert done.stdout.startswith("published custom:deployed, seq ")
        assert "replicas=3" in record["text"]

    def test_transient(self, cortex: Commands) -> None:
        """A transient event is not stored."""
        done = cortex("publish", "custom:ping", "--transient")

        assert "not stored" in done.stdout

    def test_unknown_topic(self, cortex: Commands) -> None:
        """A mistyped topic is 66 and the error names what it may have been."""
        done = cortex("publish", "file:chnaged")

        assert 66 == done.returncode
        assert "file:changed" in done.stderr
        assert 1 == done.stderr.count("\n")

    def test_owners_topic(self, cortex: Commands) -> None:
        """What only the daemon may say is refused with 77."""
        assert 77 == cortex("publish", "daemon:ready", "name=x").returncode

    def test_after_stop(self, cortex: Commands) -> None:
        """Without a daemon `publish --no-offline` ends with 69 and says how to start one."""
        cortex("stop")
        done = cortex("publish", "custom:ping", "--no-offline")

        assert 69 == done.returncode
        assert 'start one with "cortex start"' in done.stderr


class TestLogs:
    def test_slow_followers(self, cortex: Commands) -> None:
        """Ten readers that read nothing stop nobody, and cost a bounded piece of memory."""
        readers = [_mute_follower(cortex.home) for _ in range(10)]
        pid = cortex.status()["pid"]
        _say(cortex.home, 1_000)
        before = _memory(pid)
        _say(cortex.home, 6_000)
        grown = _memory(pid) - before
        found = cortex.status()
        for reader in readers:
            reader.close()

        assert 0 == found["code"]
        # 5,000 records of 2 KB or so are kept, and what ten sockets hold.
        assert 64 * 1024 > grown
        assert 0 == cortex("stop").returncode

    def test_daemon_stops(self, cortex: Commands) -> None:
        """`logs -f` shows the daemon's last words and ends well when it stops."""
        follower = cortex.spawn("logs", "-f")
        assert _line(follower.stdout)
        cortex("stop")
        out, err = follower.communicate(timeout=PATIENCE)

        assert (0, "") == (follower.returncode, err)
        assert "stopping" in out

    def test_while_down(self, cortex: Commands) -> None:
        """The log can be read without a daemon, but not followed."""
        cortex("stop")

        assert "ready, pid" in cortex("logs", "-n", "1000").stdout
        assert 69 == cortex("logs", "-f").returncode

    def test_reader_has_enough(self, cortex: Commands) -> None:
        """A reader that hangs up (`cortex logs -f | head -1`) is no error."""
        reader = cortex.spawn("logs", "-f")
        assert _line(reader.stdout)
        assert reader.stdout is not None
        reader.stdout.close()
        while reader.poll() is None:
            cortex("publish", "custom:ping", "--transient")
        assert reader.stderr is not None

        assert (0, "") == (reader.returncode, reader.stderr.read())

    def test_numbers_go_on(self, cortex: Commands) -> None:
        """`seq` goes on across a restart, so a reader can say where it stopped."""
        before = json.loads(cortex("logs", "-n", "1", "--json").stdout)["seq"]
        cortex("restart")
        after = cortex("logs", "--since", str(before), "--json").stdout.splitlines()

        assert after
        assert all(before < json.loads(line)["seq"] for line in after)


def _memory(pid: int) -> int:
    """Return the KiB of memory that a process has; 0 where nobody tells."""
    status = Path(f"/proc/{pid}/status")
    found = re.findall(r"VmRSS:\s+(\d+)", status.read_text()) if status.exists() else ()
    return int(found[0]) if found else 0


def _mute_follower(home: Path) -> socket.socket:
    """Return a connection that asked for the log and never reads it."""
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(home / "cortex.sock"))
    sock.sendall(b'{"id": 1, "method": "logs", "params": {"follow": true}}\n')
    return sock


def _say(home: Path, count: int) -> None:
    """Publish transient events on one connection and wait for the answers."""
    request = {"method": "publish", "id": 1}
    params = {"topic": "custom:noise", "payload": {"text": "x" * 1000}, "transient": True}
    line = json.dumps({**request, "params": params}).encode() + b"\n"
    with socket.socket(socket.AF_UNIX) as sock, sock.makefile("rb") as answers:
        sock.connect(str(home / "cortex.sock"))
        for _ in range(count):
            sock.sendall(line)
            assert b"result" in answers.readline()
