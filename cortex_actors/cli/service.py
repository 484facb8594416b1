"""`service install | uninstall | show`: the daemon as a systemd user service."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from cortex_actors.cli.output import HomeOption, examples
from cortex_actors.cli.unit import NAME, Unit, unit
from cortex_actors.errors import ConfigurationError, CortexError, HomeUnwritable, Refused
from cortex_actors.home import Home

#: Seconds that one call of systemctl may take: `enable --now` waits until the daemon is ready.
_TIMEOUT = 150.0

#: What is typed to have systemd run the unit, and to have it no longer do so.
_ENABLE = ("enable", "--now", NAME)
_DISABLE = ("disable", "--now", NAME)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    service = typer.Typer(
        help="Run the daemon as a systemd user service.",
        rich_markup_mode=None,
        epilog=examples("cortex service show", "cortex service install --now"),
    )
    epilog = examples("cortex service install", "cortex service install --now")
    service.command("install", epilog=epilog)(install)
    service.command("uninstall", epilog=examples("cortex service uninstall"))(uninstall)
    service.command("show", epilog=examples("cortex service show --home ~/memory"))(show)
    app.add_typer(service, name="service")


def install(
    *,
    now: Annotated[bool, typer.Option("--now", help="Have systemd start it as well.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a unit of that name.")] = False,
    home: HomeOption = None,
) -> None:
    """Write a systemd user unit that runs the daemon from login on."""
    wanted = Home.of(home)
    _require_systemd()
    path = _path()
    _require_replaceable(path, wanted, force=force)
    # The unit may write there alone, so the folder cannot be made from inside.
    wanted.create()
    _write(path, unit(wanted).text)
    print(f"wrote {path}")
    if not now:
        print(f"next: systemctl --user daemon-reload && systemctl --user {' '.join(_ENABLE)}")
        return
    _systemctl("daemon-reload")
    _systemctl(*_ENABLE)
    print("systemd runs it now, and from every login on; without one, too: loginctl enable-linger")


def uninstall(
    *, force: Annotated[bool, typer.Option("--force", help="Remove any unit of that name.")] = False
) -> None:
    """Stop the service and remove its unit; what was learned stays."""
    _require_systemd()
    path = _path()
    found = _read(path)
    if found is None:
        print(f"not installed: there is no {path}")
        return
    if not found.ours and not force:
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


def show(home: HomeOption = None) -> None:
    """Print the unit that `install` would write; works everywhere."""
    print(unit(Home.of(home)).text, end="")


def _require_systemd() -> None:
    """Raise `ConfigurationError` where there is no systemd."""
    if shutil.which("systemctl") is None:
        message = (
            "this machine has no systemd (systemctl is not there): have your own service manager "
            'run "cortex run", which ends on SIGTERM, or call "cortex start" at login'
        )
        raise ConfigurationError(message)


def _path() -> Path:
    """Return where the user's units are."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    # A relative one is to be ignored, says the XDG specification.
    root = Path(config) if config.startswith("/") else Path.home() / ".config"
    return root / "systemd" / "user" / NAME


def _read(path: Path) -> Unit | None:
    """Return the unit that is installed."""
    try:
        return Unit(path.read_text(encoding="utf-8", errors="replace"))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _require_replaceable(path: Path, wanted: Home, *, force: bool) -> None:
    """Raise `Refused` for a unit that somebody else wrote, or that is for another home."""
    found = _read(path)
    if found is None or force:
        return
    if not found.ours:
        message = f"{path} was not written by cortex; look at it, and replace it with --force"
        raise Refused(message)
    if found.home != str(wanted.root):
        message = f"{path} runs the daemon of {found.home}; replace it with --force"
        raise Refused(message)


def _write(path: Path, text: str) -> None:
    """Write a unit as a whole or not at all: systemd may read it at any moment."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        message = f"cannot write {path}: {error.strerror}; check who owns the folder"
        raise HomeUnwritable(message) from error


def _systemctl(*words: str) -> None:
    """Run `systemctl --user`. Raises `CortexError` with its last words."""
    command = ["systemctl", "--user", *words]
    asked = " ".join(command)
    try:
        done = subprocess.run(  # noqa: S603 - words of ours alone
            command, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired as error:
        message = f"{asked} took more than {_TIMEOUT:g} s; see: systemctl --user status {NAME}"
        raise CortexError(message) from error
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise CortexError(f"{asked} failed: {said}; {_advice(said)}")


def _advice(said: str) -> str:
    """Return what to do about a failed call of systemctl."""
    if "connect to bus" in said:
        return "log in as this user (su and sudo make no session), or: loginctl enable-linger"
    return f"see: journalctl --user -u {NAME}"
