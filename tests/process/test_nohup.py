"""Programs whose parent ignores signals: what nohup keeps away, and what stops a daemon even so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.commands import PATIENCE, ROOT, Commands, alive, until

pytestmark = pytest.mark.slow

#: Becomes the program that follows, with the signals ignored that come first: what a program
#: ignores, its children ignore.
_IGNORING = """
import os, signal, sys
for number in sys.argv[1].split():
    signal.signal(int(number), signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


def ignoring(*numbers: signal.Signals) -> list[str]:
    """Return the words that start Python with these signals ignored."""
    return [sys.executable, "-c", _IGNORING, " ".join(str(int(each)) for each in numbers)]


class TestDaemon:
    def test_hang_up(self, cortex: Commands) -> None:
        """`nohup cortex run` outlives its terminal, takes commands as ever, and ends on SIGTERM."""
        daemon = subprocess.Popen(
            [*ignoring(signal.SIGHUP), "-m", "cortex_actors", "run"],
            env=cortex.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        cortex.adopt(daemon)
        cortex.wait()
        daemon.send_signal(signal.SIGHUP)
        (cortex.home / "cortex.toml").write_text("[memory]\nwords_most = 7\n")
        reloaded = cortex("reload")

        assert 0 == reloaded.returncode, reloaded.stderr
        assert 0 == cortex.status()["code"]
        daemon.terminate()
        _, err = daemon.communicate(timeout=PATIENCE)
        assert (0, "signal SIGTERM") == (daemon.returncode, cortex.status()["reason"]), err

    @pytest.mark.parametrize("ending", ["stop", "SIGTERM"])
    def test_stops(self, cortex: Commands, ending: str) -> None:
        """A daemon stops by command and on SIGTERM, whatever its starter ignored."""
        ignored = ignoring(signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
        words = [*ignored, "-m", "cortex_actors", "start"]
        done = subprocess.run(words, env=cortex.env, capture_output=True, text=True, check=False)
        assert 0 == done.returncode, done.stderr
        pid = cortex.status()["pid"]
        if ending == "stop":
            assert 0 == cortex("stop").returncode
        else:
            os.kill(pid, signal.SIGTERM)
        until(lambda: not alive(pid), "its end")

        assert "stopped" == cortex.status()["state"]


class TestSuite:
    def test_children_hear_signals(self) -> None:
        """What a test starts hears SIGINT and SIGHUP."""
        program = (
            "import signal\n"
            "print([signal.getsignal(n) is signal.SIG_IGN for n in (signal.SIGINT, signal.SIGHUP)])"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

        assert b"[False, False]\n" == done.stdout

    def test_below_nohup(self) -> None:
        """So it does where whoever started pytest ignores them."""
        test = f"{Path(__file__)}::TestSuite::test_children_hear_signals"
        words = [*ignoring(signal.SIGINT, signal.SIGHUP), "-m", "pytest", "-n", "0", "-q", test]
        done = subprocess.run(
            words, cwd=ROOT, capture_output=True, text=True, timeout=4 * PATIENCE, check=False
        )

        assert 0 == done.returncode, done.stdout
