"""The systemd unit: what it says, and what systemd itself thinks of it."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from cortex_actors import daemon, errors
from cortex_actors.cli import service as units
from cortex_actors.cli.service import make_unit
from cortex_actors.errors import BadInput
from cortex_actors.home import Home

#: A folder whose name has everything that a unit file gives a meaning to.
STRANGE = """/home/me/my files/100% $HOME "new" \\x41's ; é"""

#: Settings with which no user unit starts: they need privileges that its manager has not.
FORBIDDEN = (
    "CapabilityBoundingSet",
    "DeviceAllow",
    "PrivateDevices",
    "PrivateUsers",
    "ProtectClock",
    "ProtectHostname",
    "ProtectKernelLogs",
    "ProtectKernelModules",
    "User",
)


def setting(text: str, name: str) -> str:
    """Return the value of a setting, which must be there once."""
    (value,) = re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)
    return str(value)


def seconds(text: str, name: str) -> float:
    """Return a setting in seconds."""
    return float(setting(text, name))


def words(line: str) -> list[str]:
    """Return the words of a line as systemd reads them: quotes and escapes taken away."""
    found = re.findall(r'"(?:[^"\\]|\\.)*"|\S+', line)
    return [re.sub(r"\\(.)", r"\1", word.strip('"')).replace("%%", "%") for word in found]


def analyze(folder: Path, home: Home, *command: str) -> subprocess.CompletedProcess[str]:
    """Let systemd-analyze look at the unit of a home; skip where there is none."""
    program = shutil.which("systemd-analyze")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("systemd-analyze is missing, and this is CI")
        pytest.skip("systemd-analyze is not on this machine")
    path = folder / units.NAME
    path.write_text(make_unit(home))
    return subprocess.run(
        [program, "--user", *command, str(path)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class TestCommand:
    @pytest.mark.parametrize("root", ["/home/me/cortex", STRANGE])
    @pytest.mark.parametrize(("name", "verb"), [("ExecStart", "run"), ("ExecReload", "reload")])
    def test_words(self, root: str, name: str, verb: str) -> None:
        """The commands are this interpreter's, for the daemon of that home, whatever its name."""
        command = words(setting(make_unit(Home(Path(root))), name))

        program = [f":{sys.executable}", "-m", "cortex_actors"]
        assert [*program, "daemon", verb, "--home", root] == command

    def test_checkout(self) -> None:
        """A checkout that is not installed is found by the service, too."""
        root = Path(units.__file__).parents[2]
        shown = f"PYTHONPATH={root}" in make_unit(Home(Path("/home/me")))

        assert (root / "pyproject.toml").exists() == shown

    def test_line_end(self) -> None:
        """A path that a unit cannot hold is refused, so none can add a setting."""
        with pytest.raises(BadInput, match="systemd unit"):
            make_unit(Home(Path("/home/me\nUser=root")))

    @pytest.mark.parametrize("name", ['a"b', "a'b", "a\\b"])
    def test_quoted_python(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """An interpreter that systemd would refuse to run is refused at once."""
        monkeypatch.setattr(sys, "executable", f"/opt/{name}/python")

        with pytest.raises(BadInput, match="without quotes"):
            make_unit(Home(Path("/home/me")))

    def test_strange_writable(self) -> None:
        """The home may be written, whatever it is called, and so may the user's own files."""
        text = make_unit(Home(Path(STRANGE)))

        assert ["%h", STRANGE] == words(setting(text, "ReadWritePaths"))


class TestPlaces:
    def test_long(self) -> None:
        """Where the socket lies in the runtime folder, that may be written as well."""
        home = Home(Path("/home/me") / ("x" * 100), Path("/run/user/1000"))

        assert "%t" == words(setting(make_unit(home), "ReadWritePaths"))[-1]

    def test_private_tmp(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Temporary files are private, unless that would hide the home, the socket or Python."""
        monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
        monkeypatch.setattr(units, "__file__", "/usr/lib/python3/cortex_actors/cli/unit.py")
        private = make_unit(Home(Path("/home/me")))
        long = make_unit(Home(Path("/home/me") / ("x" * 100), None))
        home = make_unit(Home(Path("/tmp/home")))
        monkeypatch.setattr(sys, "executable", "/tmp/venv/bin/python")
        python = make_unit(Home(Path("/home/me")))

        assert "yes" == setting(private, "PrivateTmp")
        assert [] == [text for text in (long, home, python) if "\nPrivateTmp" in text]

    def test_projects(self) -> None:
        """Nothing keeps the daemon from reading projects in the user's home."""
        text = make_unit(Home(Path("/home/me")))

        assert [] == re.findall(
            r"^(ProtectHome|InaccessiblePaths|TemporaryFileSystem)=", text, re.MULTILINE
        )


class TestTimes:
    def test_stop(self) -> None:
        """The daemon's own end comes before systemd's, and both before the watchdog's interval."""
        text = make_unit(Home(Path("/home/me")))

        whole = daemon.WHOLE_STOP + daemon.LINGER
        assert whole < seconds(text, "TimeoutStopSec") < seconds(text, "WatchdogSec")

    def test_useless_restarts(self) -> None:
        """It is not started again where the exit code says that this cannot help."""
        codes = set(setting(make_unit(Home(Path("/home/me"))), "RestartPreventExitStatus").split())
        useless = (
            errors.UsageError,
            errors.BadInput,
            errors.NotFound,
            errors.HomeUnwritable,
            errors.AlreadyRunning,
            errors.Refused,
            errors.ConfigurationError,
        )

        assert {str(error.exit_code) for error in useless} == codes
        assert "on-failure" == setting(make_unit(Home(Path("/home/me"))), "Restart")

    def test_settings_that_do_not_start(self) -> None:
        """No setting is used that a user's manager has no right to."""
        text = make_unit(Home(Path("/home/me")))

        assert [] == [name for name in FORBIDDEN if f"\n{name}=" in text]


class TestLaunchd:
    #: launchd.plist(5): the keys that are used, and the kinds that it takes for them.
    KEYS: ClassVar = {
        "Label": str,
        "ProgramArguments": list,
        "RunAtLoad": bool,
        "KeepAlive": dict,
        "ThrottleInterval": int,
        "ExitTimeOut": int,
        "WorkingDirectory": str,
        "Umask": int,
        "StandardOutPath": str,
        "StandardErrorPath": str,
        "EnvironmentVariables": dict,
    }

    @pytest.mark.parametrize("root", ["/home/me/cortex", STRANGE + "<&>"])
    def test_keys(self, root: str) -> None:
        """The agent is a property list of the keys and kinds that launchd takes."""
        found = plistlib.loads(units.make_agent(Home(Path(root))))

        assert {} == {k: v for k, v in found.items() if type(v) is not self.KEYS.get(k)}
        assert {str} == {type(each) for each in found["ProgramArguments"]}
        assert {"SuccessfulExit": False} == found["KeepAlive"]
        assert {str} <= {type(each) for each in found["EnvironmentVariables"].values()}

    @pytest.mark.parametrize("root", ["/home/me/cortex", STRANGE + "<&>"])
    def test_command(self, root: str) -> None:
        """It runs this interpreter, by its whole path, for that home, whatever its name."""
        found = plistlib.loads(units.make_agent(Home(Path(root))))["ProgramArguments"]

        assert [sys.executable, "-P", "-m", "cortex_actors"] == found[:4]
        assert ["daemon", "run", "--home", root] == found[4:]

    def test_control_code(self) -> None:
        """A path that a property list cannot hold is refused."""
        with pytest.raises(BadInput, match="control codes"):
            units.make_agent(Home(Path("/home/me\x01")))

    def test_stop(self) -> None:
        """The daemon's own end comes before launchd's."""
        found = plistlib.loads(units.make_agent(Home(Path("/home/me"))))

        assert daemon.WHOLE_STOP + daemon.LINGER < found["ExitTimeOut"]


@pytest.mark.slow
class TestSystemd:
    @pytest.mark.parametrize("root", ["/home/me/cortex", STRANGE])
    def test_verify(self, tmp_home: Path, root: str) -> None:
        """Systemd has nothing to say against the unit."""
        done = analyze(tmp_home, Home(Path(root)), "verify", "--man=no")

        assert (0, "") == (done.returncode, done.stdout + done.stderr)

    def test_verify_strange_python(self, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An interpreter with a strange name is found as well."""
        python = tmp_home / "100% $HOME ; é"
        python.symlink_to(sys.executable)
        monkeypatch.setattr(sys, "executable", str(python))
        done = analyze(tmp_home, Home(Path("/home/me")), "verify", "--man=no")

        assert (0, "") == (done.returncode, done.stdout + done.stderr)

    def test_verify_finds_faults(self, tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It would say so if the interpreter were not there."""
        monkeypatch.setattr(sys, "executable", "/nowhere/python")

        assert 0 != analyze(tmp_home, Home(Path("/home/me")), "verify", "--man=no").returncode

    def test_security(self, tmp_home: Path) -> None:
        """What it is exposed to stays below what systemd calls exposed, as far as users may say."""
        home = Home(Path("/home/me"))
        done = analyze(tmp_home, home, "security", "--offline=true", "--threshold=65")

        assert 0 == done.returncode, done.stdout + done.stderr
