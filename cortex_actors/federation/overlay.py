"""The overlay: stores that were added while the daemon ran, in the home's `runtime-stores.json`.

A JSON array that may be read and mended by hand. What is not understood of it is left as it is: an
entry that is none stays in the file, and a file that is no array is kept aside before another one
takes its place. Every write is a whole new file, 0600 because it may hold tokens, in one stroke: a
crash leaves the one before.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import stat
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NoReturn

from cortex_actors.errors import BadInput, HomeUnwritable, Refused
from cortex_actors.federation import describing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cortex_actors.federation.spec import StoreSpec

#: Bytes the file may have: some hundred stores, described at length.
LARGEST = 1_048_576

#: Mode of the file; what others may do with one.
_FILE, _OTHERS = 0o600, 0o077

#: Characters that are shown of an entry's name.
_SHOWN = 64


@dataclass(frozen=True, slots=True)
class Overlaid:
    """What the file holds.

    Attributes:
        entries: what stands in the array, understood or not.
        specs: the stores among it, in order; of several with one name the first.
        trouble: what a person has to mend, a sentence each.
        is_sound: it is missing or a file of ours, and so may be replaced; another one has to be
            kept aside first.

    """

    entries: tuple[object, ...] = ()
    specs: tuple[StoreSpec, ...] = ()
    trouble: tuple[str, ...] = ()
    is_sound: bool = True


class Overlay:
    """The file of one home. Every method blocks for a read or a write of one small file."""

    def __init__(self, path: Path) -> None:
        """Remember the path; it is made with the first store."""
        self.path = path

    def read(self) -> Overlaid:
        """Return what it holds; a file that cannot be used holds nothing, and that is told."""
        try:
            text, is_private = self._text()
        except FileNotFoundError:
            return Overlaid()
        except (OSError, ValueError) as error:
            return self._unsound(getattr(error, "strerror", None) or str(error))
        try:
            entries = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            return self._unsound(f"it is no JSON ({why[:200]})")
        if not isinstance(entries, list):
            return self._unsound("it holds no array")
        loose = f"others may read {self.path}, and it may hold tokens: chmod 600 it"
        specs, trouble = _understood(entries)
        more = () if is_private else (loose,)
        return Overlaid(tuple(entries), specs, (*trouble, *more))

    def write(self, entries: Sequence[object]) -> Path | None:
        """Let the file hold these; return where what was there is kept, if that was none of ours.

        Raises `HomeUnwritable`, and `Refused` for more than is read again; then it is as it was.
        """
        body = f"{json.dumps(entries, indent=2)}\n".encode("ascii")
        if len(body) > LARGEST:
            message = f"{self.path} would have more than {LARGEST:,} bytes"
            raise Refused(f"{message}; nothing was changed: describe the stores in fewer words")
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            try:
                self._sweep()
                _write(draft, body)
                aside = None if self.read().is_sound else self._keep_aside()
                draft.replace(self.path)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    draft.unlink()
            _sync(self.path.parent)
            return aside
        except OSError as error:
            message = (
                f"cannot write {self.path}: {error.strerror or error}; nothing was changed: see "
                "that its folder can be written and has room"
            )
            raise HomeUnwritable(message) from error

    def _text(self) -> tuple[str, bool]:
        """Return what the file says, and whether nobody else may read it.

        Raises `OSError`, and `ValueError` for what is no file of ours.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        if self.path.is_symlink():
            raise ValueError("it is a link")
        file = os.open(self.path, flags)
        with os.fdopen(file, "rb") as opened:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise ValueError("it is no file")
            if found.st_uid != os.geteuid():
                raise ValueError("it is another user's")
            body = opened.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise ValueError(f"it has more than {LARGEST:,} bytes")
        return body.decode(), not found.st_mode & _OTHERS

    def _unsound(self, why: str) -> Overlaid:
        """Return that it cannot be used."""
        said = (
            f"{self.path} is not used: {why}; mend it and run cortex stores list (the next store "
            "that is added keeps it aside)"
        )
        return Overlaid(trouble=(said,), is_sound=False)

    def _sweep(self) -> None:
        """Delete the drafts of daemons that were killed while they wrote: they may hold tokens.

        Nobody else is writing one: a home has one daemon.
        """
        for left in self.path.parent.glob(f".{self.path.name}.*"):
            with contextlib.suppress(FileNotFoundError):
                left.unlink()

    def _keep_aside(self) -> Path:
        """Give what is there another name as well, one that nothing has; return that."""
        for number in count(1):
            aside = self.path.with_name(f"{self.path.name}.aside-{number}")
            with contextlib.suppress(FileExistsError):
                os.link(self.path, aside, follow_symlinks=False)
                break
        return aside


def put(entries: Sequence[object], spec: StoreSpec) -> tuple[object, ...]:
    """Return entries in which a store is described so, where it stood or as the last."""
    entry = describing.written(spec)
    if not any(_name(each) == spec.name for each in entries):
        return (*entries, entry)
    first = [_name(each) for each in entries].index(spec.name)
    return (*entries[:first], entry, *dropped(entries[first + 1 :], spec.name))


def dropped(entries: Sequence[object], name: str) -> tuple[object, ...]:
    """Return entries without those of a name."""
    return tuple(each for each in entries if _name(each) != name)


def _understood(
    entries: Sequence[object],
) -> tuple[tuple[StoreSpec, ...], list[str]]:
    """Return the stores among some entries, and what is wrong with the others."""
    found: dict[str, StoreSpec] = {}
    trouble = []
    for number, entry in enumerate(entries, start=1):
        what = f"the store {_name(entry)[:_SHOWN]!r}" if _name(entry) else f"entry {number}"
        try:
            spec = describing.read(entry)
        except BadInput as error:
            trouble.append(f"{what} of runtime-stores.json is left out: {error}")
            continue
        if spec.name in found:
            trouble.append(f"{what} stands in runtime-stores.json twice: the first one counts")
        found.setdefault(spec.name, spec)
    return tuple(found.values()), trouble


def _name(entry: object) -> str:
    """Return the name of an entry; empty for what has none."""
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""


def _write(path: Path, body: bytes) -> None:
    """Write a file that was not there; its bytes last."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, _FILE), "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Let the names in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _finite(digits: str) -> float:
    """Return a number that can be written again; raises `ValueError` for one beyond measure."""
    number = float(digits)
    if not math.isfinite(number):
        _refuse(digits)
    return number


def _refuse(name: str) -> NoReturn:
    """Refuse NaN and the infinities, which are no JSON."""
    raise ValueError(f"{name[:32]} is no number of JSON")
