"""The daemon's home: one folder that holds everything one daemon owns.

Standard library only and quick to import, because `cortex status` pays for it. The names in it are
fixed: other programs may rely on them.

The files of a model in a folder: which hold its weights, and what tells it from another one.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.errors import HomeUnwritable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


#: Bytes a Unix socket path may have before we move it: sun_path is 108 on Linux, 104 on macOS.
SOCKET_PATH_LIMIT = 100

#: Bytes one request on the control socket may have, on one line.
LINE_LIMIT = 1024 * 1024

#: Modes of the home and of the folders in it, and of the files: only the owner may look inside.
HOME_MODE, FILE_MODE = 0o700, 0o600

#: What others may do with a folder that is too open; of that, what may have changed what is in it.
_OTHERS, _WRITTEN = 0o077, 0o022

#: What a home holds, beside names that begin with `cortex.`.
_FOLDERS = frozenset({"logs", "backups", "index", "models", "tokens"})
_FILES = frozenset({"rules.toml", "calibration.toml", "runtime-stores.json", "stderr.log"})

#: What may be a link all the same: these files are a person's, and the socket has its own check.
_NOT_OURS = frozenset({"cortex.toml", "rules.toml", "cortex.sock"})


class _Inside:
    """The path of what has a fixed name in a home."""

    def __init__(self, name: str) -> None:
        """Remember the name."""
        self._name = name

    def __get__(self, home: Home, _owner: type[Home]) -> Path:
        """Return the path in that home."""
        return home.root / self._name


@dataclass(frozen=True, slots=True)
class Home:
    """Where one daemon keeps its files; a value, it touches nothing by itself."""

    root: Path
    runtime_dir: Path | None = None

    #: The file whose flock says that a daemon is alive; never unlinked.
    lock = _Inside("cortex.lock")
    #: The store of record.
    ledger = _Inside("cortex.db")
    #: The file that has the next start check the whole ledger; it says why.
    suspect = _Inside("cortex.db.suspect")
    #: The settings file, if the user wrote one.
    settings = _Inside("cortex.toml")
    #: The user's own tables of what contradicts what, if there are any.
    rules = _Inside("rules.toml")
    #: The thresholds of `cortex contradictions calibrate`; the settings file wins over it.
    calibration = _Inside("calibration.toml")
    #: The folder of the log stream's files.
    logs = _Inside("logs")
    #: The folder of the ledger's copies, and of the reports of recoveries.
    backups = _Inside("backups")
    #: The folder of the vector index's generations; may be deleted at any time.
    index = _Inside("index")
    #: The folder of the compiled embedding models; they can be compiled again.
    models = _Inside("models")
    #: The folder of the agents' tokens, a file for each; made with the first one.
    tokens = _Inside("tokens")
    #: The stores that were added while the daemon ran; may hold tokens.
    overlay = _Inside("runtime-stores.json")

    @classmethod
    def find(cls, root: str | Path | None, environ: Mapping[str, str] | None = None) -> Home:
        """Return the home given, else `CORTEX_HOME`, else the XDG data folder's `cortex-actors`."""
        env = os.environ if environ is None else environ
        data = env.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
        chosen = root or env.get("CORTEX_HOME") or Path(data) / "cortex-actors"
        runtime = env.get("XDG_RUNTIME_DIR")
        return cls(Path(chosen).expanduser().absolute(), Path(runtime) if runtime else None)

    def create(self) -> None:
        """Make the folder and its parents, private to the user; they last through a power cut.

        Raises `HomeUnwritable` when that is not possible, the folder cannot be written, or another
        user has a hand in it (`secure`).
        """
        try:
            _make(self.root)
            self.secure()
            for folder in (self.logs, self.socket.parent):
                _make(folder)
            if self.socket.parent != self.root:
                _require_own(self.socket.parent, self.socket.parent.lstat())
                _closed(self.socket.parent)
            probe = self.root / f".write-{os.getpid()}"
            probe.unlink(missing_ok=True)
            os.close(open_private(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            probe.unlink()
        except OSError as error:
            raise self._unwritable(error) from error

    def secure(self) -> None:
        """Close a home that exists to everybody but its owner; log a warning where it was open.

        Raises `HomeUnwritable` where another user owns it or a part of it, where one of our files
        is a link, and for a folder that others may write and that is more than a home. One that
        others may only read, and that is more than a home, is left as it is.
        """
        if not os.path.lexists(self.root):
            return
        try:
            mode = _require_own(self.root, self.root.stat())
            names = os.listdir(self.root)  # noqa: PTH208 - names, and no paths of them
            is_shared = bool(mode & stat.S_ISVTX) or not all(map(_is_ours, names))
            if is_shared and mode & _WRITTEN:
                raise HomeUnwritable(
                    f"other users may write in {self.root}, and it holds more than a home does: "
                    f"look at what is in it, then: chmod 700 {self.root}; or give a folder of its "
                    "own with --home or CORTEX_HOME"
                )
            opened = [] if is_shared else _closed(self.root)
            # Listed again: what came in between is seen, and nothing can come from now on.
            ours = [name for name in os.listdir(self.root) if _is_ours(name)]  # noqa: PTH208 - as above
            _require_own_entries(self.root, ours)
            for folder in [self.root / name for name in _FOLDERS.intersection(ours)]:
                # A link to a folder is the owner's affair: it may lead to a larger disk.
                if folder.is_dir() and not folder.is_symlink():
                    opened += _closed(folder)
                    _require_own_entries(folder, os.listdir(folder))  # noqa: PTH208 - as above
        except OSError as error:
            raise self._unwritable(error) from error
        if opened:
            import logging  # noqa: PLC0415 - `cortex status` does not pay for it

            text = "other users could look into %s: now only you can (mode 0700)"
            logging.getLogger(__name__).warning(text, ", ".join(sorted(opened)))

    def require_entry(self) -> None:
        """Raise `HomeUnwritable` for a home that is there and that we may not enter."""
        try:
            os.stat(self.root / ".lock")  # noqa: PTH116 - any name: it is about the folder
        except PermissionError as error:
            raise self._unwritable(error) from error
        except OSError:
            return

    def _unwritable(self, error: OSError) -> HomeUnwritable:
        """Return what a system's refusal means."""
        mend = f"chmod 700 {self.root}, or " if isinstance(error, PermissionError) else ""
        return HomeUnwritable(
            f"cannot write the home {self.root}: {error.strerror or error}; {mend}"
            "give a folder you can write with --home or CORTEX_HOME"
        )

    @property
    def socket(self) -> Path:
        """The control socket, moved to the runtime folder where its path would be too long."""
        here = self.root / "cortex.sock"
        if len(os.fsencode(here)) <= SOCKET_PATH_LIMIT:
            return here
        return (self.runtime_dir or Path("/tmp")) / f"cortex-{_short(self.root)}" / "cortex.sock"  # noqa: S108 - the folder in it is private, made 0700


def open_private(path: str | Path, flags: int) -> int:
    """Return a descriptor of a file of ours: 0600 under any umask, and never through a link.

    An `opener`, for what is made or truncated in a home. Raises `OSError`.
    """
    # A pipe in its place must not keep us waiting for a reader.
    extra = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags | extra, FILE_MODE)
    try:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != FILE_MODE:
            os.fchmod(descriptor, FILE_MODE)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def write_private(path: Path, text: str) -> None:
    """Write a file of ours as `open_private` opens it; not at one stroke. Raises `OSError`."""
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)


def _make(folder: Path) -> None:
    """Make a folder that is not there, and what it lies in; each name is synced.

    Syncing the ledger keeps its name and its bytes, not the name of the folder it lies in: a power
    cut soon after the first start could take the whole home.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        # One by one: `parents=True` makes the others with whatever mode the umask leaves.
        each.mkdir(mode=HOME_MODE, exist_ok=True)
        each.chmod(HOME_MODE)
    folder.mkdir(mode=HOME_MODE, exist_ok=True)
    for each in missing:
        # Let the names in a folder last, where its file system and its mode allow that.
        with contextlib.suppress(OSError):
            sync(each.parent)


def read_regular(path: str | Path, *, most: int, flags: int = 0) -> bytes | None:
    """Return the bytes of a regular file, one more than so many at most; None for anything else.

    A pipe does not keep it waiting. Blocks; raises `OSError`, and `ValueError` for what is no path.
    """

    def opener(name: str, given: int) -> int:
        return os.open(name, given | os.O_NONBLOCK | flags)

    with open(path, "rb", opener=opener) as file:
        return file.read(most + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None


def replace_file(path: Path, data: bytes, *, mode: int = FILE_MODE) -> None:
    """Put bytes in the place of a file that its owner alone may read, and let them last.

    The file is whole at every moment, whatever is cut short, and no draft of it is left over.
    Raises `OSError`; then it is as it was.
    """
    # Drafts of processes that were killed while they wrote may hold secrets. No other process
    # writes one: a home has one daemon.
    for left in path.parent.glob(f".{path.name}.{'[0-9a-f]' * 16}"):
        left.unlink(missing_ok=True)
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with os.fdopen(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    sync(path.parent)


def sync(path: Path) -> None:
    """Let a file's bytes, or the names in a folder, last through a power cut; raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _closed(folder: Path) -> list[str]:
    """Close a folder to all but its owner; return its path if others could go there."""
    if not folder.stat().st_mode & _OTHERS:
        return []
    folder.chmod(HOME_MODE)
    if folder.stat().st_mode & _OTHERS:
        raise PermissionError(None, f"the mode of {folder} cannot be changed")
    return [str(folder)]


def _require_own(folder: Path, found: os.stat_result) -> int:
    """Return a folder's mode; raises `HomeUnwritable` unless it is a folder of this user."""
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
        what = "is no folder" if found.st_uid == os.getuid() else "belongs to another user"
        message = f"{folder} {what}; give a folder of your own with --home or CORTEX_HOME"
        raise HomeUnwritable(message)
    return found.st_mode


def _require_own_entries(folder: Path, names: list[str]) -> None:
    """Raise `HomeUnwritable` for what another user owns, and for a link where we write a file."""
    for name in names:
        try:
            found = (folder / name).lstat()
        except FileNotFoundError:
            continue  # a running daemon's, which was there for a moment
        is_file = _is_ours(name) and name not in _FOLDERS | _NOT_OURS
        if found.st_uid not in {0, os.getuid()}:
            what = "belongs to another user"
        elif is_file and not stat.S_ISREG(found.st_mode):
            what = "is a link, or no file"
        else:
            continue
        raise HomeUnwritable(
            f"{folder / name} {what}, so nothing is written there: look at it, then remove it, or "
            "put a file of yours in its place"
        )


def _is_ours(name: str) -> bool:
    """Say whether a name is one that we give in a home."""
    return name.startswith(("cortex.", ".write-")) or name in _FOLDERS | _FILES


def _short(root: Path) -> str:
    """Return a short stable name for a home, with the user in it: /tmp is shared."""
    from hashlib import sha256  # noqa: PLC0415 - only homes with long paths pay for it

    return f"{os.getuid()}-{sha256(os.fsencode(root)).hexdigest()[:12]}"


#: Bytes at each end of a weights file that make up its fingerprint: reading 90 MB and more at each
#: start would take longer than it is worth, and other training changes all of a file.
SAMPLE = 1_048_576


def list_weights(folder: Path) -> Iterator[Path]:
    """Yield the folder's files of weights, in an order of their own."""
    yield from sorted(folder.glob("*.safetensors"))
    yield from sorted(folder.glob("pytorch_model*.bin"))


def hash_weights(folder: Path) -> str:
    """Return the SHA-256 over a model's weights, in hex; reads all of them. Raises `OSError`."""
    from hashlib import file_digest, sha256  # noqa: PLC0415 - `cortex status` does without

    seen = sha256()
    for path in list_weights(folder):
        with path.open("rb") as file:
            seen.update(file_digest(file, "sha256").digest())
    return seen.hexdigest()


def compute_fingerprint(folder: Path) -> str:
    """Return eight hex digits that change when the model is another one. Raises `OSError`."""
    from hashlib import blake2b  # noqa: PLC0415 - as above

    seen = blake2b(digest_size=4)
    for config in sorted(folder.rglob("config.json")):
        seen.update(config.read_bytes())
    for path in list_weights(folder):
        size = path.stat().st_size
        seen.update(size.to_bytes(8, "big"))
        with path.open("rb") as file:
            seen.update(file.read(SAMPLE))
            file.seek(max(0, size - SAMPLE))
            seen.update(file.read(SAMPLE))
    return seen.hexdigest()
