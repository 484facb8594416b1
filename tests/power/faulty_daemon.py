"""A whole daemon, in which one call on the ledger's files fails or is the last."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from cortex_actors.home import Home
from tests.power.injection import Life
from tests.power.reopening import Reopened, unsound
from tests.power.strace import PATIENCE
from tests.process.commands import Commands, until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.power.injection import Fault

#: Events that are published in one life.
EVENTS = 4


class FaultyDaemon:
    """One home, and the daemons that live in it one after the other."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "strace"
        self._home = folder / "home"
        self._before = folder / "before"
        self._project = folder / "project"
        self.commands = Commands(self._home)
        #: Keys of the events that were acknowledged.
        self.told: set[str] = set()

    def prepare(self) -> None:
        """Make a home that follows a project."""
        self._project.mkdir()
        self._change("First")
        assert self.commands("start").returncode == 0
        assert self.commands("init", str(self._project)).returncode == 0
        assert self.commands("stop").returncode == 0
        shutil.copytree(self._home, self._before)

    def live(self, fault: Fault) -> Life:
        """Start a daemon that meets a fault, publish, change a file, stop it."""
        shutil.rmtree(self._home)
        shutil.copytree(self._before, self._home)
        self.told.clear()
        paths = [word for each in self._paths() for word in ("-P", each)]
        # Without --seccomp-bpf, with which strace 6.1 delivers no signal but at the first call.
        options = ["-f", "-qq", "-o", str(self._log), *paths]
        what = ["-e", f"trace={fault.call}", "-e", fault.option]
        process = subprocess.Popen(
            ["strace", *options, *what, sys.executable, "-m", "cortex_actors", "run"],
            env=self.commands.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.commands.adopt(process)  # type: ignore[arg-type]  # nobody reads its output
        until(lambda: process.poll() is not None or self._is_ready(), "the daemon's start")
        for number in range(EVENTS):
            self._publish(process, f"key-{number}")
            self._change(f"Change {number}")
        if process.poll() is None:
            self.commands("stop")
        life = Life(sorted(self.told), process.wait(PATIENCE))
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        life.injected = [each for each in lines if "INJECTED" in each]
        return life

    def problems(self) -> list[str]:
        """Return what is wrong once another daemon has come up after it, and published the rest."""
        if (started := self.commands("start")).returncode != 0:
            return [f"it does not start again: {started.stderr}"]
        for number in range(EVENTS):
            if self._say(f"key-{number}").returncode != 0:
                return ["it takes no event"]
        until(self._is_done, "the rest being done")
        if self.commands("stop").returncode != 0:
            return ["it does not stop"]
        with Reopened(Home(self._home).ledger).transaction() as opened:
            query = "SELECT payload ->> 'key' FROM events WHERE topic = 'custom:power' ORDER BY 1"
            said = opened.exec_driver_sql(query).scalars().all()
            wrong = unsound(opened)
        if said != [f"key-{number}" for number in range(EVENTS)]:
            wrong.append(f"there are the events {said}, {sorted(self.told)} were acknowledged")
        if any(self._home.glob("cortex.db.corrupt-*")):
            wrong.append("the ledger was taken for a damaged one")
        return wrong

    def _publish(self, process: subprocess.Popen[bytes], key: str) -> None:
        """Publish once, if there is a daemon to hear it."""
        if process.poll() is None and self._say(key).returncode == 0:
            self.told.add(key)

    def _say(self, key: str) -> subprocess.CompletedProcess[str]:
        return self.commands("publish", "custom:power", f"key={key}", "--idempotency-key", key)

    def _is_ready(self) -> bool:
        return bool(self.commands.status()["state"] != "stopped")

    def _is_done(self) -> bool:
        return self.commands.status().get("waiting") == 0

    def _change(self, what: str) -> None:
        """Change the project's file."""
        text = f"## Rules\n\n{what}: use tabs.\n"
        (self._project / "CLAUDE.md").write_text(text, encoding="utf-8")

    def _paths(self) -> list[str]:
        """Return the files whose calls count."""
        home = os.fspath(self._home)
        return [home, f"{home}/cortex.db", f"{home}/cortex.db-wal"]
