"""The daemon's life in real processes: one owner, an honest status, a clean end."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import time
from typing import TYPE_CHECKING

import pytest

from cortex_actors import daemon
from tests.process.commands import PATIENCE, ROOT, Commands, alive, kill, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


class TestReady:
    def test_what_is_loaded_stays(self) -> None:
        """Once it answers, no collection of garbage walks through what was loaded for that."""
        reading, writing = os.pipe()
        loaded, before = [[each] for each in range(1_000)], gc.get_freeze_count()
        daemon._ready(writing)
        told = os.read(reading, 100)
        os.close(reading)

        assert daemon.READY == told
        assert gc.get_freeze_count() >= before + len(loaded)


class TestStart:
    def test_says_pid_and_time(self, cortex: Commands) -> None:
        """`start` returns once the daemon answers, and says its pid and how long it took."""
        done = cortex("start")
        found = cortex.status()

        assert 0 == done.returncode, done.stderr
        assert done.stdout.startswith(f"started, pid {found['pid']}, in ")
        assert 0 == found["code"]

    def test_second(self, cortex: Commands) -> None:
        """A second start is refused with 75 and names the owner; the first goes on."""
        cortex("start")
        pid = cortex.status()["pid"]
        done = cortex("start")

        assert 75 == done.returncode
        assert f"pid {pid}" in done.stderr
        assert pid == cortex.status()["pid"]

    def test_unwritable_home(self, cortex: Commands, tmp_path: Path) -> None:
        """A home that cannot be made ends with 73 and one line."""
        (tmp_path / "file").touch()
        done = cortex("start", "--home", str(tmp_path / "file" / "home"))

        assert 73 == done.returncode
        assert 1 == done.stderr.count("\n")

    def test_bad_setting(self, cortex: Commands) -> None:
        """A daemon that cannot start hands its reason and its exit code to `start`."""
        done = cortex("start", CORTEX_EMBEDDING__PROVIDER="magic")

        assert 78 == done.returncode
        assert "embedding.provider" in done.stderr
        assert 1 == done.stderr.count("\n")
        assert 3 == cortex.status()["code"]

    def test_foreign_supervision(self, cortex: Commands, tmp_path: Path) -> None:
        """The unrelated package of the name supervision is recognised and named."""
        (tmp_path / "supervision").mkdir()
        (tmp_path / "supervision" / "__init__.py").touch()
        cortex.env["PYTHONPATH"] = f"{tmp_path}:{ROOT}"
        daemon = cortex.spawn(program="-mcortex_actors.daemon", cwd=tmp_path)
        _, err = daemon.communicate(timeout=PATIENCE)

        assert 78 == daemon.returncode
        assert str(tmp_path) in err
        assert "pip uninstall supervision" in err

    def test_garbage_in_the_lock(self, cortex: Commands) -> None:
        """Garbage in the lock file keeps nobody from starting."""
        cortex.home.joinpath("cortex.lock").write_bytes(b"\xff\x00{[[[")

        assert 3 == cortex.status()["code"]
        assert 0 == cortex("start").returncode
        assert 0 == cortex.status()["code"]


class TestStatus:
    def test_nobody(self, cortex: Commands) -> None:
        """A home without a daemon is stopped: 3."""
        found = cortex.status()

        assert (3, "stopped") == (found["code"], found["state"])

    def test_after_a_kill(self, cortex: Commands) -> None:
        """A daemon that was killed is told from one that was stopped, and can be started again."""
        cortex("start")
        kill(cortex.status()["pid"])
        crashed = cortex.status()
        again = cortex("start")

        assert (1, "crashed") == (crashed["code"], crashed["state"])
        assert crashed["reason"].startswith("it ended without a word")
        assert 0 == again.returncode, again.stderr

    def test_silent(self, cortex: Commands) -> None:
        """A daemon that holds the lock and does not answer is 4."""
        daemon = cortex.fake("slow-start")
        until(lambda: cortex.status()["code"] == 4, "silence")

        assert daemon.poll() is None
        assert "starting" == cortex.status()["state"]
        assert f"state    starting, pid {daemon.pid}\n" in cortex("status").stdout


class TestStop:
    def test_running(self, cortex: Commands) -> None:
        """`stop` waits for the end and leaves neither socket nor process."""
        cortex("start")
        pid = cortex.status()["pid"]
        done = cortex("stop")

        assert 0 == done.returncode, done.stderr
        assert not alive(pid)
        assert not (cortex.home / "cortex.sock").exists()
        assert "stopped" == json.loads((cortex.home / "cortex.lock").read_text())["state"]

    def test_nobody(self, cortex: Commands) -> None:
        """Stopping what does not run is fine."""
        done = cortex("stop")

        assert (0, "not running\n") == (done.returncode, done.stdout)

    def test_frozen(self, cortex: Commands) -> None:
        """A daemon whose loop hangs is killed after the timeout, which is a failure."""
        daemon = cortex.fake("frozen")
        until((cortex.home / "cortex.sock").exists, "the socket")
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(cortex.home / "cortex.sock"))
            sock.sendall(b'{"id": 1, "method": "status"}\n')
            done = cortex("stop", "--timeout", "1")

        assert 1 == done.returncode
        assert "was killed" in done.stderr
        assert -signal.SIGKILL == daemon.wait(PATIENCE)

    def test_without_a_pid_in_the_lock(self, cortex: Commands) -> None:
        """Garbage written over a running daemon's lock does not hide it from `stop`."""
        cortex("start")
        (cortex.home / "cortex.lock").write_text("nonsense")

        assert 0 == cortex.status()["code"]
        assert 0 == cortex("stop").returncode
        assert 3 == cortex.status()["code"]

    def test_restart(self, cortex: Commands) -> None:
        """`restart` gives another process."""
        cortex("start")
        before = cortex.status()["pid"]
        done = cortex("restart")

        assert 0 == done.returncode, done.stderr
        assert before != cortex.status()["pid"]

    def test_bad_setting(self, cortex: Commands) -> None:
        """`restart` with settings that cannot work stops nothing."""
        cortex("start")
        before = cortex.status()["pid"]
        (cortex.home / "cortex.toml").write_text("[watching]\nnope = 1\n")
        done = cortex("restart")
        (cortex.home / "cortex.toml").unlink()

        assert 78 == done.returncode
        assert before == cortex.status()["pid"]


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_ends_cleanly(self, cortex: Commands, number: signal.Signals) -> None:
        """A signal ends a foreground daemon cleanly within ten seconds."""
        daemon = cortex.spawn("run")
        cortex.wait()
        begun = time.monotonic()
        daemon.send_signal(number)
        out, err = daemon.communicate(timeout=PATIENCE)

        assert 0 == daemon.returncode, err
        assert 10 > time.monotonic() - begun
        assert "ready, pid" in out
        assert f"signal {number.name}" in cortex.status()["reason"]

    def test_while_starting(self, cortex: Commands) -> None:
        """A daemon that is asked to stop while it starts, stops."""
        daemon = cortex.fake("slow-start")
        log = cortex.home / "logs" / "cortex.ndjson"
        until(lambda: log.exists() and "starting slowly" in log.read_text(), "the start")
        daemon.terminate()

        assert 0 == daemon.wait(PATIENCE)
        assert 3 == cortex.status()["code"]

    def test_second_signal(self, cortex: Commands) -> None:
        """A second signal does not wait for a tree that does not stop."""
        daemon = cortex.fake("stuck")
        cortex.wait()
        daemon.terminate()
        log = cortex.home / "logs" / "cortex.ndjson"
        until(lambda: "stopping" in log.read_text(), "the first signal")
        begun = time.monotonic()
        daemon.terminate()
        daemon.wait(PATIENCE)

        assert 4 > time.monotonic() - begun

    def test_drains(self, cortex: Commands) -> None:
        """New work is refused first, the socket goes last: `status` answers while the tree ends."""
        daemon = cortex.fake("stuck")
        cortex.wait()
        daemon.terminate()
        log = cortex.home / "logs" / "cortex.ndjson"
        until(lambda: "stopping" in log.read_text(), "the first signal")
        refused = cortex("publish", "custom:late", "--no-offline")
        asked = cortex.status()
        daemon.terminate()
        daemon.wait(PATIENCE)

        assert 69 == refused.returncode
        assert "is stopping and takes no new publish" in refused.stderr
        assert 0 == asked["code"]
        assert not (cortex.home / "cortex.sock").exists()

    def test_stuck_tree(self, cortex: Commands) -> None:
        """A tree that does not stop is left behind: the process is gone within ten seconds."""
        daemon = cortex.fake("stuck")
        cortex.wait()
        begun = time.monotonic()
        daemon.terminate()
        daemon.wait(PATIENCE)

        assert 10 > time.monotonic() - begun

    def test_lingering_thread(self, cortex: Commands) -> None:
        """A thread that never ends does not keep a daemon alive that has said goodbye."""
        daemon = cortex.fake("lingering")
        cortex.wait()
        begun = time.monotonic()
        daemon.terminate()
        until(lambda: cortex.status()["code"] == 3, "the end")
        code = daemon.wait(PATIENCE)

        assert 0 == code
        assert 10 > time.monotonic() - begun


class TestFailure:
    def test_tree_gives_up(self, cortex: Commands) -> None:
        """A tree that gives up ends the daemon with 1 and the reason, and leaves a crash."""
        daemon = cortex.fake("give-up")
        _, err = daemon.communicate(timeout=PATIENCE)

        assert 1 == daemon.returncode
        assert "cortex: the tree gave up: shutdown\n" == err
        found = cortex.status()
        assert (1, "the tree gave up: shutdown") == (found["code"], found["reason"])

    def test_fault(self, cortex: Commands) -> None:
        """A mistake of ours ends with 70, one line last, and the traceback in the log."""
        daemon = cortex.fake("fault")
        _, err = daemon.communicate(timeout=PATIENCE)

        assert 70 == daemon.returncode
        assert err.splitlines()[-1].startswith("cortex: the daemon failed inside")
        assert "ZeroDivisionError" in (cortex.home / "logs" / "cortex.ndjson").read_text()

    def test_expected_cause(self, cortex: Commands) -> None:
        """An expected failure below a start error keeps its own exit code and text."""
        daemon = cortex.fake("bad-setting")
        _, err = daemon.communicate(timeout=PATIENCE)

        assert (78, "cortex: the setting x.y cannot be used\n") == (daemon.returncode, err)

    def test_inherited_lock(self, cortex: Commands) -> None:
        """A descriptor that is not the lock is refused."""
        daemon = cortex.fake("", "--lock-fd", "0")

        assert 75 == daemon.wait(PATIENCE)
