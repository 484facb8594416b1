"""`cortex service`: writing, replacing and removing the unit, with a systemctl of our own."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from cortex_actors.cli import entry, service
from cortex_actors.cli.service import NAME, make_unit
from cortex_actors.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]


class Machine:
    """A user's folders, and a systemctl that writes down what it is asked."""

    def __init__(self, root: Path) -> None:
        """Have a systemctl that does everything."""
        self.home = root / "home"
        self.unit = root / "config" / "systemd" / "user" / NAME
        self.bin = root / "bin"
        self.bin.mkdir()
        self._calls = root / "calls"
        self.systemctl("exit 0")

    def systemctl(self, does: str) -> None:
        """Say what systemctl does."""
        program = self.bin / "systemctl"
        program.write_text(f'#!/bin/sh\necho "$@" >> "{self._calls}"\n{does}\n')
        program.chmod(0o755)

    def calls(self) -> list[str]:
        """Return what systemctl was asked."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []


@pytest.fixture
def machine(tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Give a machine with systemd."""
    found = Machine(tmp_home)
    monkeypatch.setenv("PATH", f"{found.bin}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_home / "config"))
    monkeypatch.setenv("CORTEX_HOME", str(found.home))
    return found


@pytest.fixture
def cortex(machine: Machine, capsys: pytest.CaptureFixture[str]) -> Run:
    """Give the command line: exit code, output, error."""

    def run(*words: str) -> tuple[int, str, str]:
        code = entry.main(["service", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


class TestShow:
    def test_prints(self, machine: Machine, cortex: Run) -> None:
        """The unit is printed as it would be written, also where there is no systemd."""
        machine.bin.joinpath("systemctl").unlink()

        assert (0, make_unit(Home.find(machine.home)), "") == cortex("show")
        assert not machine.unit.exists()

    def test_home(self, machine: Machine, cortex: Run) -> None:
        """The home given is the one that is served."""
        _, out, _ = cortex("show", "--home", f"{machine.home}-2")

        assert f"--home {machine.home}-2\n" in out


class TestInstall:
    def test_writes(self, machine: Machine, cortex: Run) -> None:
        """The unit and the home are written, nothing is run, and the next command is said."""
        code, out, _ = cortex("install")

        assert (0, make_unit(Home.find(machine.home))) == (code, machine.unit.read_text())
        assert "systemctl --user enable --now cortex-actors.service" in out
        assert 0o700 == machine.home.stat().st_mode & 0o777
        assert [] == machine.calls()
        assert [machine.unit] == list(machine.unit.parent.iterdir())

    def test_now(self, machine: Machine, cortex: Run) -> None:
        """With --now systemd reads the unit and starts it."""
        code, out, _ = cortex("install", "--now")

        assert 0 == code
        assert ["--user daemon-reload", f"--user enable --now {NAME}"] == machine.calls()
        assert "enable-linger" in out

    def test_twice(self, machine: Machine, cortex: Run) -> None:
        """A unit of ours for the same home is brought up to date."""
        cortex("install")
        machine.unit.write_text(machine.unit.read_text() + "# old\n")
        code, _, _ = cortex("install")

        assert 0 == code
        assert "# old" not in machine.unit.read_text()

    def test_foreign(self, machine: Machine, cortex: Run) -> None:
        """A unit that somebody else wrote is replaced only by force."""
        machine.unit.parent.mkdir(parents=True)
        machine.unit.write_text("[Service]\nExecStart=/bin/true\n")
        code, _, err = cortex("install")
        before = machine.unit.read_text()
        forced, _, _ = cortex("install", "--force")

        assert (77, 0) == (code, forced)
        assert "--force" in err
        assert before.startswith("[Service]")
        assert machine.unit.read_text() == make_unit(Home.find(machine.home))

    def test_another_home(self, machine: Machine, cortex: Run) -> None:
        """A unit for another home is replaced only by force, and the refusal names that home."""
        cortex("install")
        code, _, err = cortex("install", "--home", f"{machine.home}-2")
        forced, _, _ = cortex("install", "--home", f"{machine.home}-2", "--force")

        assert (77, 0) == (code, forced)
        assert str(machine.home) in err

    def test_systemctl_fails(self, machine: Machine, cortex: Run) -> None:
        """What systemctl said last is passed on, with what to do next."""
        machine.systemctl("echo 'Failed to connect to bus: No medium found' >&2; exit 1")
        code, _, err = cortex("install", "--now")

        assert 1 == code
        assert "No medium found" in err
        assert "enable-linger" in err

    def test_systemctl_hangs(
        self, machine: Machine, cortex: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A systemctl that never ends is given up."""
        monkeypatch.setattr(service, "_TIMEOUT", 0.05)
        machine.systemctl("exec sleep 60")
        code, _, err = cortex("install", "--now")

        assert 1 == code
        assert "took more than" in err

    def test_unwritable(self, machine: Machine, cortex: Run) -> None:
        """A folder that cannot be written ends with 73."""
        machine.unit.parents[2].mkdir()
        machine.unit.parents[1].touch()
        code, _, err = cortex("install")

        assert 73 == code
        assert "cannot write" in err

    @pytest.mark.parametrize("words", [("install",), ("install", "--now"), ("uninstall",)])
    def test_without_systemd(
        self,
        machine: Machine,
        cortex: Run,
        monkeypatch: pytest.MonkeyPatch,
        *,
        words: tuple[str, ...],
    ) -> None:
        """Where there is no systemd, that is said, with what to use instead; nothing is written."""
        machine.bin.joinpath("systemctl").unlink()
        monkeypatch.setenv("PATH", str(machine.bin))
        code, _, err = cortex(*words)

        assert 78 == code
        assert "cortex daemon run" in err
        assert not machine.unit.exists()
        assert not machine.home.exists()


class TestUninstall:
    def test_removes(self, machine: Machine, cortex: Run) -> None:
        """The service is stopped and its unit removed; the home stays."""
        cortex("install")
        code, out, _ = cortex("uninstall")

        assert 0 == code
        assert [f"--user disable --now {NAME}"] == machine.calls()
        assert not machine.unit.exists()
        assert machine.home.exists()
        assert "daemon-reload" in out

    def test_nothing(self, cortex: Run) -> None:
        """Removing what is not there is fine."""
        code, out, _ = cortex("uninstall")

        assert 0 == code
        assert "not installed" in out

    def test_foreign(self, machine: Machine, cortex: Run) -> None:
        """A unit that somebody else wrote is removed only by force."""
        machine.unit.parent.mkdir(parents=True)
        machine.unit.write_text("[Service]\n")

        assert 77 == cortex("uninstall")[0]
        assert machine.unit.exists()
        assert 0 == cortex("uninstall", "--force")[0]
        assert not machine.unit.exists()

    def test_without_a_manager(self, machine: Machine, cortex: Run) -> None:
        """Where no user manager answers, unit and link are removed all the same, and it is said."""
        cortex("install")
        link = machine.unit.parent / "default.target.wants" / NAME
        link.parent.mkdir()
        link.symlink_to(machine.unit)
        machine.systemctl("echo 'Failed to connect to bus' >&2; exit 1")
        code, out, _ = cortex("uninstall")

        assert 0 == code
        assert "systemd was not told" in out
        assert not link.is_symlink()
        assert not machine.unit.exists()


class TestLaunchd:
    @pytest.fixture(autouse=True)
    def mac(self, machine: Machine, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Have it take this machine for a Mac; give where the agent is."""
        monkeypatch.setenv("HOME", str(tmp_home))
        monkeypatch.setattr(sys, "platform", "darwin")
        return service.name_agent()

    def test_prints(self, machine: Machine, cortex: Run) -> None:
        """The agent is printed as it would be written."""
        code, out, _ = cortex("show", "--launchd")

        assert (0, service.make_agent(Home.find(machine.home)).decode()) == (code, out)

    def test_writes(self, machine: Machine, mac: Path, cortex: Run) -> None:
        """The agent and the home are written, the next command is said, and it goes again."""
        code, out, _ = cortex("install")

        assert (0, service.make_agent(Home.find(machine.home))) == (code, mac.read_bytes())
        assert f"launchctl bootstrap gui/{os.getuid()} {mac}" in out
        assert mac == service.find_installed(Home.find(machine.home))
        code, out, _ = cortex("uninstall")
        assert (0, False) == (code, mac.exists())
        assert f"launchctl bootout gui/{os.getuid()}/{service.LABEL}" in out
        assert "not installed" in cortex("uninstall")[1]

    @pytest.mark.parametrize("found", [b"no plist", b""])
    def test_not_ours(self, mac: Path, cortex: Run, found: bytes) -> None:
        """An agent of another home, or one that nobody can read, stays without --force."""
        mac.parent.mkdir(parents=True)
        mac.write_bytes(found or service.make_agent(Home(mac)))

        assert 77 == cortex("install")[0]
        assert 0 == cortex("install", "--force")[0]
