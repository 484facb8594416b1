"""`daemon install | uninstall | unit`: the daemon as a service of systemd, or of launchd on macOS.

The systemd user unit of a home's daemon, as text; pure but for who and where we are. The launchd
agent is checked by its keys and types alone (launchd.plist(5)): no test runs it on macOS.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

from cortex_actors.cli import fast
from cortex_actors.cli.declare import HomeOption, JsonOption, Option, command
from cortex_actors.cli.lifecycle import find_checkout
from cortex_actors.errors import BadInput, ConfigurationError, CortexError, HomeUnwritable, Refused
from cortex_actors.home import Home, replace_file

#: What the unit is called.
NAME = "cortex-actors.service"

#: How a unit begins that we wrote, and may therefore replace and remove.
MARKER = "# Written by: cortex service install"

#: How the line begins that names the home.
_HOME = "# Home: "

#: Folders that PrivateTmp= replaces by empty ones, unseen from outside.
_SHARED = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - compared with, never written

#: A unit, with what a home puts into it.
_TEMPLATE = Path(__file__).with_name("cortex-actors.service")


def make_unit(home: Home) -> str:
    """Return the text of the unit of a home, run by this interpreter.

    Raises `BadInput` for a path that a unit cannot hold.
    """
    if set(sys.executable) & set("\"'\\"):
        message = f"systemd runs no program called {sys.executable}; install cortex in a folder "
        raise BadInput(message + "without quotes and backslashes in its name")
    source = find_checkout()
    writable = ["%h", _quoted(str(home.root))]
    if not home.socket.is_relative_to(home.root):
        writable.append("%t")
    return _TEMPLATE.read_text("utf-8").format(
        marker=MARKER,
        home_line=f"{_HOME}{home.root}",
        name=NAME,
        command=_command("daemon run", home),
        reload=_command("daemon reload", home),
        environment=f"Environment={_quoted(f'PYTHONPATH={source}')}\n" if source else "",
        writable=" ".join(writable),
        private_tmp=_private_tmp(home),
    )


def _command(verb: str, home: Home) -> str:
    """Return the words that run one of our commands for a home."""
    # ":" keeps systemd from taking "$" for a variable.
    words = [f":{sys.executable}", "-m", "cortex_actors", *verb.split(), "--home", str(home.root)]
    return " ".join(_quoted(word) for word in words)


def _private_tmp(home: Home) -> str:
    """Return a folder for temporary files of its own, unless it would hide what is needed."""
    needed = (home.root, home.socket, Path(sys.executable), Path(__file__))
    if any(path.is_relative_to(folder) for path in needed for folder in _SHARED):
        return "# PrivateTmp= would hide the home or the program, so it is not set."
    return "# Projects below /tmp are not seen because of it.\nPrivateTmp=yes"


def _quoted(word: str) -> str:
    """Return a word as a unit file wants it: quoted, its own quotes, backslashes and % escaped.

    (Source: systemd.syntax(7) and systemd.unit(5), "Specifiers".)
    """
    if not word.isprintable():
        message = f"{word!r} cannot be part of a systemd unit; choose a path without control codes"
        raise BadInput(message)
    inside = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{inside}"' if set(inside) & set(" \"'\\;") or not inside else inside


#: Seconds that one call of systemctl may take: `enable --now` waits until the daemon is ready.
_TIMEOUT = 150.0

#: What is typed to have systemd run the unit, and to have it no longer do so.
_ENABLE = ("enable", "--now", NAME)
_DISABLE = ("disable", "--now", NAME)


@command("daemon install", "", "--now")
def install(
    *,
    now: Annotated[bool, Option(help="Have systemd start it as well.")] = False,
    force: Annotated[bool, Option(help="Replace a unit of that name.")] = False,
    home: HomeOption = None,
) -> None:
    """Write a systemd user unit (on macOS a launchd agent) that runs the daemon from login on."""
    wanted = Home.find(home)
    if sys.platform == "darwin":
        _install_agent(wanted, force=force)
        return
    _require_systemd()
    path = _path()
    found = None if force else _unit_home()
    if found == "":
        raise Refused(f"{path} was not written by cortex; look at it, and replace it with --force")
    if found not in {None, str(wanted.root)}:
        raise Refused(f"{path} runs the daemon of {found}; replace it with --force")
    # The unit may write there alone, so the folder cannot be made from inside.
    wanted.create()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, make_unit(wanted).encode())
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}; check who owns the folder"
        raise HomeUnwritable(message) from error
    print(f"wrote {path}")
    if not now:
        print(f"next: systemctl --user daemon-reload && systemctl --user {' '.join(_ENABLE)}")
        return
    _systemctl("daemon-reload")
    _systemctl(*_ENABLE)
    print("systemd runs it now, and from every login on; without one, too: loginctl enable-linger")


@command("daemon uninstall", "")
def uninstall(
    *, force: Annotated[bool, Option(help="Remove any unit of that name.")] = False
) -> None:
    """Stop the service and remove its unit; what was learned stays."""
    if sys.platform == "darwin":
        _uninstall_agent()
        return
    path, found = _path(), _unit_home()
    if found is None:
        _require_systemd()
        print(f"not installed: there is no {path}")
        return
    if not (found or force):
        raise Refused(f"{path} was not written by cortex; remove it with --force")
    try:
        _systemctl(*_DISABLE)
    except CortexError as error:
        # Without a user manager nothing of it runs; the link that starts it is removed by hand.
        print(f"systemd was not told: {error}")
        (path.parent / "default.target.wants" / NAME).unlink(missing_ok=True)
    path.unlink()
    print(f"removed {path}")
    print("next: systemctl --user daemon-reload")


def find_installed(home: Home) -> Path | None:
    """Return the unit or the agent of ours that runs a home's daemon; None without one."""
    path, found = _path(), _unit_home()
    if sys.platform == "darwin":
        path, found = name_agent(), _agent_home()
    return path if found == str(home.root) else None


@command("daemon unit", "--home ~/memory", "--launchd")
def show(
    *,
    launchd: Annotated[bool, Option(help="Print the agent for macOS's launchd.")] = False,
    home: HomeOption = None,
) -> None:
    """Print the unit that `install` would write; works everywhere."""
    wanted = Home.find(home)
    print(make_agent(wanted).decode() if launchd else make_unit(wanted), end="")


#: What launchd calls the daemon, and its file.
LABEL = "actors.cortex.daemon"

#: Seconds between two starts of a daemon that keeps failing: launchd knows no limit of their number
#: and no exit code that would end them.
_THROTTLE = 60


def make_agent(home: Home) -> bytes:
    """Return the launchd agent of a home, run by this interpreter: a property list in XML.

    Raises `BadInput` for a path that it cannot hold.
    """
    words = [sys.executable, "-P", "-m", "cortex_actors", "daemon", "run", "--home", str(home.root)]
    found: dict[str, object] = {
        "Label": LABEL,
        "ProgramArguments": words,
        "RunAtLoad": True,
        # A clean stop stays one.
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": _THROTTLE,
        # As the unit's TimeoutStopSec=: the daemon itself takes at most 9.5 s.
        "ExitTimeOut": 15,
        "WorkingDirectory": "/",
        "Umask": 0o077,
        # The log has files of its own, which are rotated.
        "StandardOutPath": os.devnull,
        "StandardErrorPath": str(home.logs / "stderr.log"),
    }
    if source := find_checkout():
        found["EnvironmentVariables"] = {"PYTHONPATH": source}
    try:
        return plistlib.dumps(found)
    except ValueError as error:
        message = f"no agent can hold {home.root}; choose a path without control codes"
        raise BadInput(message) from error


def name_agent() -> Path:
    """Return where the user's agent is."""
    return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def _agent_home() -> str | None:
    """Return the home that the installed agent is for; "" where it does not say, None without."""
    try:
        words = plistlib.loads(name_agent().read_bytes()).get("ProgramArguments", [])
    except FileNotFoundError:
        return None
    except (plistlib.InvalidFileException, ValueError, AttributeError):
        return ""
    return str(words[-1]) if words[-2:-1] == ["--home"] else ""


def _install_agent(home: Home, *, force: bool) -> None:
    """Write the launchd agent; raises `Refused` for one of another home."""
    path, found = name_agent(), _agent_home()
    if found not in {None, str(home.root)} and not force:
        raise Refused(f"{path} runs the daemon of {found or 'another program'}; replace: --force")
    home.create()
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, make_agent(home))
    print(f"wrote {path}")
    print(f"next: launchctl bootstrap gui/{os.getuid()} {path}")


def _uninstall_agent() -> None:
    """Remove the launchd agent."""
    path = name_agent()
    if not path.exists():
        print(f"not installed: there is no {path}")
        return
    path.unlink()
    print(f"removed {path}")
    print(f"next: launchctl bootout gui/{os.getuid()}/{LABEL}")


def _require_systemd() -> None:
    """Raise `ConfigurationError` where there is no systemd."""
    if shutil.which("systemctl") is None:
        raise ConfigurationError(
            "this machine has no systemd (systemctl is not there): have your own service manager "
            'run "cortex daemon run", which ends on SIGTERM, or call "cortex start" at login'
        )


def _path() -> Path:
    """Return where the user's units are."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    # A relative one is to be ignored, says the XDG specification.
    root = Path(config) if config.startswith("/") else Path.home() / ".config"
    return root / "systemd" / "user" / NAME


def _unit_home() -> str | None:
    """Return the home whose daemon our unit runs; "" for a unit of others, None without one."""
    try:
        lines = _path().read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    named = [line.removeprefix(_HOME) for line in lines if line.startswith(_HOME)]
    return named[0] if named and lines[0].startswith(MARKER) else ""


def _systemctl(*words: str) -> None:
    """Run `systemctl --user`. Raises `CortexError` with its last words."""
    command = ["systemctl", "--user", *words]
    asked = " ".join(command)
    try:
        done = subprocess.run(  # noqa: S603 - words of ours alone
            command, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except FileNotFoundError as error:
        raise CortexError(f"cannot run {asked}: there is no systemctl") from error
    except subprocess.TimeoutExpired as error:
        message = f"{asked} took more than {_TIMEOUT:g} s; see: systemctl --user status {NAME}"
        raise CortexError(message) from error
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        advice = f"see: journalctl --user -u {NAME}"
        if "connect to bus" in said:
            login = "log in as this user (su and sudo make no session)"
            advice = f"{login}, or: loginctl enable-linger"
        raise CortexError(f"{asked} failed: {said}; {advice}")


@command("daemon run", "", "--home /tmp/try")
def run(home: HomeOption = None) -> int:
    """Run the daemon in this terminal and show its log; Ctrl-C ends it."""
    from cortex_actors import daemon  # noqa: PLC0415 - what `start` gives to a child

    return daemon.main(["--foreground"] + (["--home", str(home)] if home else []))


@command(
    "daemon",
    "restart",
    "logs -f",
    "backup --list",
    "install --now",
    is_group=True,
    about="Run, configure, watch and back up the daemon.",
)
def status(as_json: JsonOption = False, home: HomeOption = None) -> int:
    """Show whether the daemon runs, and its state."""
    return fast.status(Home.find(home), as_json=as_json)
