"""What the log's files hold after a number: how a reader goes on where it stopped.

Records lie in the files by ascending `seq`, so where to begin is found by halving, and a page costs
the same in a small log and in a full one. Files that are put aside meanwhile harm nobody: each page
opens them anew, the newest first, so that none can slip by. Blocking: runs on a thread.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from cortex_actors.logfile import decoded, names
from cortex_actors.logrecord import Filter, Record, record_of

if TYPE_CHECKING:
    from pathlib import Path

#: Records and bytes of one page: little enough that a hundred readers hold little.
PAGE_RECORDS, PAGE_BYTES = 1_000, 512 * 1024

#: Bytes in which it is no longer halved but read.
BLOCK = 64 * 1024

#: How a record's line begins: its number and its time are known before it is decoded.
_HEAD = re.compile(rb'\{"seq": (\d+), "at": (-?\d+)')


@dataclass(frozen=True, slots=True)
class Page:
    """Some records in a row."""

    records: tuple[Record, ...]
    #: The greatest number that was looked at; the one asked for when there is nothing after it.
    last: int
    #: Records before these that the files have no longer, or never had.
    dropped: int = 0


@dataclass(slots=True)
class _Reader:
    """Takes lines until a page is full."""

    wanted: Filter
    after: int
    before: int
    last: int
    dropped: int = 0
    records: list[Record] = field(default_factory=list)
    size: int = 0
    #: Records lost just before the next line, as the file says.
    lost: int = 0

    def take(self, line: bytes) -> bool:
        """Take a line; False when it belongs to the next page."""
        head = _HEAD.match(line)
        if head is None:
            self._take_other(line)
            return True
        seq = int(head[1])
        if seq <= self.after:
            self.lost = 0
            return True
        full = len(self.records) >= PAGE_RECORDS or self.size >= PAGE_BYTES
        if seq >= self.before or full or (self.lost and self.records):
            return False
        self.last, self.size = max(self.last, seq), self.size + len(line)
        self.dropped, self.lost = self.dropped + self.lost, 0
        if int(head[2]) >= self.wanted.since_at:
            self._keep(line)
        return True

    def _keep(self, line: bytes) -> None:
        """Keep a record that passes."""
        if found := decoded(line):
            record = record_of(found)
            if self.wanted.passes(record):
                self.records.append(record)

    def _take_other(self, line: bytes) -> None:
        """Take a line that is no record: how many are missing here, or nothing that matters."""
        lost = (decoded(line) or {}).get("dropped")
        if isinstance(lost, int):
            self.lost += lost


def page(path: Path, wanted: Filter, *, after: int, before: int) -> Page:
    """Return the next records with `after` < `seq` < `before` that pass, as many as a page holds.

    Records that are gone with the oldest file are counted as dropped, unless `after` is 0.
    """
    reader = _Reader(wanted, after, before, after)
    with ExitStack() as stack:
        files = _opened(path, stack)
        if after and files and files[0][0] > after + 1:
            reader.dropped = min(files[0][0], before) - after - 1
            # Told by the file's first line, too.
            reader.lost = -_lost_first(files[0][1])
        begin = max((n for n, (first, _) in enumerate(files) if first <= after + 1), default=0)
        for number, (_, file) in enumerate(files[begin:]):
            file.seek(0 if number else _offset(file, after))
            if not all(map(reader.take, file)):
                break
    return Page(tuple(reader.records), reader.last, max(0, reader.dropped))


def _opened(path: Path, stack: ExitStack) -> list[tuple[int, IO[bytes]]]:
    """Return the files that hold records, each with its first number, the oldest first."""
    found: dict[tuple[int, int], tuple[int, IO[bytes]]] = {}
    for name in names(path):
        with suppress(OSError):
            file = stack.enter_context(name.open("rb"))
            about = os.fstat(file.fileno())
            # A file that was put aside between two of these is met twice.
            if first := _number(file):
                found.setdefault((about.st_dev, about.st_ino), (first, file))
    return list(reversed(found.values()))


def _number(file: IO[bytes]) -> int:
    """Return the number of the next record from where a file stands; 0 when there is none."""
    head = next((head for line in file if (head := _HEAD.match(line))), None)
    return int(head[1]) if head else 0


def _lost_first(file: IO[bytes]) -> int:
    """Return how many records the lines before a file's first record say are missing."""
    file.seek(0)
    lost = 0
    for line in file:
        if _HEAD.match(line):
            break
        found = (decoded(line) or {}).get("dropped")
        lost += found if isinstance(found, int) else 0
    return lost


def _offset(file: IO[bytes], after: int) -> int:
    """Return where a line begins before which no record has a number greater than `after`."""
    low, high = 0, file.seek(0, os.SEEK_END)
    while high - low > BLOCK:
        middle = (low + high) // 2
        file.seek(middle)
        file.readline()
        begin = file.tell()
        number = _number(file)
        if begin < high and number and number <= after:
            low = begin
        else:
            high = middle
    return low
