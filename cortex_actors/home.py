"""The daemon's home: one folder that holds everything one daemon owns.

Standard library only and quick to import, because `cortex status` pays for it. The names in it are
fixed: other programs may rely on them.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.errors import HomeUnwritable

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Bytes a Unix socket path may have before we move it: sun_path is 108 on Linux, 104 on macOS.
SOCKET_PATH_LIMIT = 100

#: Only the owner may look inside.
HOME_MODE = 0o700


@dataclass(frozen=True, slots=True)
class Home:
    """Where one daemon keeps its files; a value, it touches nothing by itself."""

    root: Path
    runtime_dir: Path | None = None

    @classmethod
    def of(cls, root: str | Path | None, environ: Mapping[str, str] | None = None) -> Home:
        """Return the home given, else `CORTEX_HOME`, else the XDG data folder's `cortex-actors`."""
        env = os.environ if environ is None else environ
        data = env.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
        chosen = root or env.get("CORTEX_HOME") or Path(data) / "cortex-actors"
        runtime = env.get("XDG_RUNTIME_DIR")
        return cls(Path(chosen).expanduser().absolute(), Path(runtime) if runtime else None)

    def create(self) -> None:
        """Make the folder and its parents, private to the user; they last through a power cut.

        Raises `HomeUnwritable` when that is not possible, or the folder cannot be written.
        """
        try:
            for folder in (self.root, self.logs, self.socket.parent):
                _make(folder)
            probe = self.root / f".write-{os.getpid()}"
            probe.touch(mode=0o600)
            probe.unlink()
        except OSError as error:
            message = (
                f"cannot write the home {self.root}: {error.strerror}; "
                "give a folder you can write with --home or CORTEX_HOME"
            )
            raise HomeUnwritable(message) from error

    @property
    def lock(self) -> Path:
        """The file whose flock says that a daemon is alive; never unlinked."""
        return self.root / "cortex.lock"

    @property
    def ledger(self) -> Path:
        """The store of record."""
        return self.root / "cortex.db"

    @property
    def settings(self) -> Path:
        """The settings file, if the user wrote one."""
        return self.root / "cortex.toml"

    @property
    def rules(self) -> Path:
        """The user's own tables of what contradicts what, if there are any."""
        return self.root / "rules.toml"

    @property
    def calibration(self) -> Path:
        """The thresholds that `cortex calibrate` wrote; the settings file wins over it."""
        return self.root / "calibration.toml"

    @property
    def logs(self) -> Path:
        """The folder of the log stream's files."""
        return self.root / "logs"

    @property
    def backups(self) -> Path:
        """The folder of the ledger's copies, and of the reports of recoveries."""
        return self.root / "backups"

    @property
    def index(self) -> Path:
        """The folder of the vector index's generations; may be deleted at any time."""
        return self.root / "index"

    @property
    def models(self) -> Path:
        """The folder of the compiled embedding models; they can be compiled again."""
        return self.root / "models"

    @property
    def tokens(self) -> Path:
        """The folder of the agents' tokens, a file for each; made with the first one."""
        return self.root / "tokens"

    @property
    def overlay(self) -> Path:
        """The stores that were added while the daemon ran; may hold tokens."""
        return self.root / "runtime-stores.json"

    @property
    def socket(self) -> Path:
        """The control socket, moved to the runtime folder where its path would be too long."""
        here = self.root / "cortex.sock"
        if len(os.fsencode(here)) <= SOCKET_PATH_LIMIT:
            return here
        return (self.runtime_dir or Path("/tmp")) / f"cortex-{_short(self.root)}" / "cortex.sock"  # noqa: S108 - the folder in it is private, made 0700


def _make(folder: Path) -> None:
    """Make a folder that is not there, and what it lies in; each name is synced.

    Syncing the ledger keeps its name and its bytes, not the name of the folder it lies in: a power
    cut soon after the first start could take the whole home.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(mode=HOME_MODE, parents=True, exist_ok=True)
    for each in missing:
        _sync(each.parent)


def _sync(folder: Path) -> None:
    """Let the names in a folder last, where its file system and its mode allow that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _short(root: Path) -> str:
    """Return a short stable name for a home, with the user in it: /tmp is shared."""
    import hashlib  # noqa: PLC0415 - only homes with long paths pay for it

    return f"{os.getuid()}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"
