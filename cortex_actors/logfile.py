"""Lines on their way to a file or a terminal, on a thread of their own.

A slow disk or a blocked pipe must never stop the loop, so `put` only queues. The loss window: a
`kill -9` loses what is queued, normally some milliseconds; a power cut also loses what the kernel
had not written yet, because nothing is fsynced. When the queue is full the newest lines are lost,
and the file says how many.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from collections import deque
from contextlib import suppress
from io import FileIO
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Protocol

from cortex_actors.home import private

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

#: Lines that may wait for the thread; more than a burst, less than 10 MB.
QUEUE_LIMIT = 10_000

#: Bytes after which a file is put aside.
FILE_BYTES = 10 * 1024 * 1024

#: Seconds the thread lets lines gather once there is one: a burst costs one write and one wake-up,
#: and waking a thread costs more than a line.
GATHER = 0.005

#: The one key of a log's last line, when it was closed.
CLOSED = "closed"

#: Files kept, the current one included.
FILES = 5

#: Numbers left out after an end without a word: so many records may have been shown to followers
#: and not have reached the file, and no number is ever given twice.
LEAP = 2 * QUEUE_LIMIT

#: Bytes at a file's end in which its last number is looked for; longer than any line.
_TAIL = 256 * 1024


class Sink(Protocol):
    """Where lines end."""

    def write(self, lines: Sequence[str], lost: int) -> None:
        """Write them; `lost` lines before them did not make it. Raises `OSError`."""

    def close(self) -> None:
        """Give back what is held."""


class LineWriter:
    """A bounded queue, and the thread that empties it into a sink."""

    def __init__(self, sink: Sink, *, limit: int = QUEUE_LIMIT) -> None:
        self._sink = sink
        self._limit = limit
        self._waiting: deque[str] = deque()
        self._lost = 0
        #: Lines queued, and lines of those that were written or refused by the disk.
        self._put = self._done = 0
        self._closed = False
        #: Whether the thread waits to be woken, rather than writing or letting lines gather.
        self._asleep = False
        self._ending = threading.Event()
        lock = threading.RLock()
        self._wake, self._written = threading.Condition(lock), threading.Condition(lock)
        # A daemon thread: a sink that blocks for ever must not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="cortex-log", daemon=True)
        self._thread.start()

    def put(self, line: str) -> None:
        """Queue one line; never blocks and never raises."""
        with self._wake:
            if self._closed:
                return
            if len(self._waiting) >= self._limit:
                self._lost += 1
                return
            self._waiting.append(line)
            self._put += 1
            if self._asleep:
                self._asleep = False
                self._wake.notify()

    def settle(self, timeout: float = 1.0) -> bool:
        """Wait until what was put so far is written; say whether that came in time."""
        with self._written:
            put = self._put
            return self._written.wait_for(lambda: self._done >= put, timeout)

    def close(self, timeout: float = 1.0) -> bool:
        """Write what is queued and end; say whether that was done within `timeout` seconds."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._ending.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        """Hand over everything that waits, until closed and empty."""
        while taken := self._take():
            lines, lost = taken
            missed = 0
            try:
                self._sink.write(lines, lost)
            except (OSError, ValueError):
                # A full disk or a closed pipe: counted, and told once it works again.
                missed = lost + len(lines)
            with self._written:
                self._lost += missed
                self._done += len(lines)
                self._written.notify_all()
        with suppress(OSError, ValueError):
            self._sink.close()

    def _take(self) -> tuple[list[str], int] | None:
        """Wait for lines and return them all; None at the end."""
        with self._wake:
            while not (self._waiting or self._closed):
                self._asleep = True
                self._wake.wait()
        self._ending.wait(GATHER)
        with self._wake:
            if not self._waiting:
                return None
            lines, lost = list(self._waiting), self._lost
            self._waiting.clear()
            self._lost = 0
            return lines, lost


class RotatingFile:
    """A file of lines that is put aside as `.1` ... `.4` when it has grown to its limit."""

    def __init__(self, path: Path, *, limit: int = FILE_BYTES, files: int = FILES) -> None:
        self._path = path
        self._limit = limit
        self._files = files
        self._file = self._open()

    def write(self, lines: Sequence[str], lost: int) -> None:
        """Append the lines, and before them how many were lost."""
        head = [json.dumps({"dropped": lost})] if lost else []
        data = "".join(f"{line}\n" for line in [*head, *lines]).encode()
        if self._file.closed:
            self._file = self._open()
        if 0 < self._file.tell() > self._limit - len(data):
            self._rotate()
        try:
            self._append(data)
        except OSError:
            # Opened again at the next write, which then begins on a fresh line.
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _append(self, data: bytes) -> None:
        """Write all of it, or raise: a full disk takes a part without complaint."""
        written = self._file.write(data)
        if written is not None and written < len(data):
            raise OSError(errno.ENOSPC, "the disk took only a part of it", str(self._path))

    def _open(self) -> FileIO:
        """Open the file for appending, on a fresh line: the last one may have been cut short."""
        file = FileIO(self._path, "a+", opener=private)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        return file

    def _rotate(self) -> None:
        """Number the older files up, which drops the oldest, and begin a new one."""
        self._file.close()
        for newer, older in reversed(list(pairwise(names(self._path, self._files)))):
            with suppress(FileNotFoundError):
                newer.replace(older)
        self._file = self._open()


class Terminal:
    """Lines for a person, on a stream that is already open."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, lines: Sequence[str], lost: int) -> None:
        """Print the lines, and before them how many were lost."""
        head = [f"... {lost} lines were not shown"] if lost else []
        self._stream.write("".join(f"{line}\n" for line in [*head, *lines]))
        self._stream.flush()

    def close(self) -> None:
        """Leave the stream open: it is not ours."""


def objects(path: Path, files: int = FILES) -> Iterator[dict[str, object]]:
    """Yield the objects in a log, its older files first.

    Lines that cannot be read are skipped, and so are those that say that a log was closed.
    """
    for name in reversed(names(path, files)):
        with suppress(FileNotFoundError), name.open("rb") as file:
            for line in file:
                found = decoded(line)
                if found is not None and found.keys() != {CLOSED}:
                    yield found


def last_number(path: Path) -> int:
    """Return the greatest `seq` near the end of a log; 0 when there is none."""
    for candidate in names(path, 2):
        with suppress(OSError), candidate.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL))
            numbers = [_number(line) for line in file.read().splitlines()]
            if any(numbers):
                return max(numbers)
    return 0


def ended_well(path: Path) -> bool:
    """Say whether a log was closed by whoever wrote it last, or is new."""
    with suppress(OSError), path.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - _TAIL))
        lines = file.read().splitlines()
        return not lines or (decoded(lines[-1]) or {}).keys() == {CLOSED}
    return True


def names(path: Path, files: int = FILES) -> list[Path]:
    """Return the file and the names of its older ones, newest first."""
    return [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, files))]


def decoded(line: bytes) -> dict[str, object] | None:
    """Return a line's JSON object, or None for anything else."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _number(line: bytes) -> int:
    """Return a line's `seq`; 0 when it has none."""
    found = decoded(line)
    number = found.get("seq") if found else None
    return number if isinstance(number, int) else 0
