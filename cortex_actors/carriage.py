"""A file of memories that is read in: looked at as a whole first, then taken in group by group.

Two forms are understood: MemoryCore's JSON (`formatters.memorycore`) and our own JSON Lines, whose
first line says what it is and whose last one how many records there were. Everything here blocks
and holds a group of records at a time, however large the file is.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.domain.agent import shown
from cortex_actors.domain.memory import PROBE
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.render import memorycore
from cortex_actors.rules import interchange
from cortex_actors.text import jsonstream

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import IO

    from cortex_actors.text.jsonstream import Placed

#: What our own form is called, and its version.
FORMAT, VERSION = "cortex-actors", 1

#: What its last line is called.
END: Final = "end"

#: Records that are taken in at once: one transaction, some ten milliseconds.
GROUP: Final = 200

#: Characters that are read at once.
_PIECE: Final = 65_536


@dataclass(slots=True)
class Checked:
    """What a file holds, once all of it was found to be good.

    Attributes:
        stamp: tells whether it is still the same file.
        counts: records, by realm or kind.
        redacted: secrets that are left out.

    """

    form: str
    stamp: str
    counts: Counter[str] = field(default_factory=Counter)
    redacted: int = 0

    @property
    def records(self) -> int:
        """How many in all."""
        return self.counts.total()


def check(path: str) -> Checked:
    """Look at every record of a file. Raises `BadInput` with the place of the first wrong one."""
    with _opened(path) as file:
        found = Checked(_form(file, path), _stamp(file))
        for _, each in _records(file, found.form, path):
            found.counts[each.get("realm") or each["kind"]] += 1
            found.redacted += each.get("redacted", 0)
    return found


def glance(path: str) -> Checked:
    """Return which file it is, without looking at its records."""
    with _opened(path) as file:
        return Checked(_form(file, path), _stamp(file))


def groups(
    path: str, form: str, *, skip: int = 0, answering: bool = False
) -> Generator[tuple[int, list[dict[str, Any]]]]:
    """Yield the records of a file that was looked at, behind the first so many, in groups.

    With each group comes how many records of the file lie behind it; `answering` leaves out those
    that answer nothing. What is left out is not looked at again, which takes most of the time.
    """
    with _opened(path) as file:
        records = _records(file, form, path, skip=skip, answering=answering)
        while group := list(islice(records, GROUP)):
            yield group[-1][0], [each for _, each in group]


def _opened(path: str) -> IO[str]:
    """Return a file that was opened. Raises `NotFound`, and `BadInput` for what is none."""
    if not Path(path).is_absolute():
        raise BadInput(f"cannot import {path}: give an absolute path")
    try:
        # A pipe must not keep us waiting for somebody to write into it.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"cannot import {path}: there is no such file") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot import {path}: {why}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise BadInput(f"cannot import {path}: it is no regular file")
    return os.fdopen(fd, encoding="utf-8-sig", newline="\n")


def _stamp(file: IO[str]) -> str:
    """Return which file it is, and in which state."""
    found = os.fstat(file.fileno())
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"


def _form(file: IO[str], path: str) -> str:
    """Return which of the two forms a file has: by its first line."""
    try:
        first = file.readline(_PIECE)
        file.seek(0)
    except ValueError as error:
        raise BadInput(f"cannot import {path}: it is no text in UTF-8: {error}") from error
    try:
        head = json.loads(first)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or "format" not in head:
        return "memorycore"
    if (head.get("format"), head.get("version")) != (FORMAT, VERSION):
        raise BadInput(
            f"cannot import {path}: its first line says {shown(head.get('format'))} "
            f"{shown(head.get('version'))}, and {FORMAT!r} {VERSION} is understood"
        )
    return FORMAT


def _records(
    file: IO[str], form: str, path: str, *, skip: int = 0, answering: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the records of a file in their one form, numbered. Raises `BadInput` with the place."""
    pieces = iter(lambda: file.read(_PIECE), "")
    place = "the beginning"
    try:
        found = _own(pieces) if form == FORMAT else _theirs(pieces)
        for number, placed in enumerate(found, start=1):
            place = placed.place
            if number <= skip:
                continue
            raw = placed.found
            if form != FORMAT:
                raw = memorycore.taken(placed.collection, raw)
            if answering and not (isinstance(raw, dict) and raw.get("responding_to")):
                continue
            made = interchange.record(raw)
            if made.get("agent") != PROBE:
                yield number, made
    except UnicodeDecodeError as error:
        message = f"cannot import {path}: behind {place} it is no text in UTF-8: {error}"
        raise BadInput(message) from error
    except BadInput as error:
        said = str(error)
        where = "" if said.startswith((place, "line ", "collections.")) else f"{place}: "
        raise BadInput(f"cannot import {path}: {where}{said}; nothing was written") from error


def _own(pieces: Iterator[str]) -> Iterator[Placed]:
    """Yield the records of our own form, all of which must be there."""
    count, ended = 0, False
    for number, placed in enumerate(jsonstream.lines(pieces)):
        if ended:
            raise BadInput(f"{placed.place}: there is more behind the last record")
        found = placed.found
        if number == 0:
            continue
        if isinstance(found, dict) and found.get("kind") == END:
            ended = True
            if found.get("records") != count:
                raise BadInput(f"{placed.place}: {found.get('records')} records were to come")
            continue
        count += 1
        yield placed
    if not ended:
        raise BadInput("the last line is missing: the file is not complete")


def _theirs(pieces: Iterator[str]) -> Iterator[Placed]:
    """Yield the records of MemoryCore's form."""
    version: object = None
    met = False
    for placed in jsonstream.collections(pieces):
        if placed.collection:
            met = True
            yield placed
        elif placed.place == "format_version":
            version = placed.found
            if version != memorycore.VERSION:
                raise BadInput(
                    f"format_version {shown(version)} is not understood; it is "
                    f"{memorycore.VERSION!r}"
                )
    if version is None:
        raise BadInput(
            "there is no format_version: it is neither MemoryCore's JSON nor our own form"
            if not met
            else "there is no format_version"
        )
