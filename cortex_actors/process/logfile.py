"""Lines on their way to a file or a terminal, on a thread of their own.

A slow disk or a blocked pipe must never stop the loop, so `put` only queues. The loss window: a
`kill -9` loses what is queued, normally some milliseconds; a power cut also loses what the kernel
had not written yet, because nothing is fsynced. When the queue is full the newest lines are lost,
and the file says how many.

What the log's files hold after a number: how a reader goes on where it stopped.

Records lie in the files by ascending `seq`, so a page begins in the last file whose first record is
wanted or older. Files that are put aside meanwhile do no harm: each page opens them again, the
newest first, so that none is missed. Blocking: runs on a thread.

One record of the log, which records a reader wants, and how a person sees one.

A record is one line of ASCII JSON, so no newline, escape code or bidirectional mark in a text can
forge or hide a line.
"""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from collections import deque
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from io import FileIO
from itertools import pairwise
from json.encoder import encode_basestring_ascii as quoted
from typing import IO, TYPE_CHECKING, Protocol

from cortex_actors.clock import iso
from cortex_actors.errors import BadInput, visible
from cortex_actors.home import open_private

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
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
            # Number the older files up, which drops the oldest, and begin a new one.
            self._file.close()
            for newer, older in reversed(list(pairwise(list_names(self._path, self._files)))):
                with suppress(FileNotFoundError):
                    newer.replace(older)
            self._file = self._open()
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
        """Write all of it, or nothing and raise: a full disk takes a part without complaint."""
        written = self._file.write(data)
        if written is not None and written < len(data):
            # All of it is counted as lost, and must not be shown as well.
            self._file.truncate(self._file.tell() - written)
            raise OSError(errno.ENOSPC, "the disk took only a part of it", str(self._path))

    def _open(self) -> FileIO:
        """Open the file for appending, on a fresh line: the last one may have been cut short."""
        file = FileIO(self._path, "a+", opener=open_private)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        return file


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


def read_objects(path: Path, files: int = FILES) -> Iterator[dict[str, object]]:
    """Yield the objects in a log, its older files first.

    Lines that cannot be read are skipped, and so are those that say that a log was closed.
    """
    for name in reversed(list_names(path, files)):
        with suppress(FileNotFoundError), name.open("rb") as file:
            for line in file:
                found = decode(line)
                if found is not None and found.keys() != {CLOSED}:
                    yield found


def find_last_number(path: Path, name: str = "seq") -> int:
    """Return the greatest `seq`, or `at`, near the end of a log; 0 when there is none."""
    for candidate in list_names(path, 2):
        found = [(decode(line) or {}).get(name) for line in _end(candidate)]
        if numbers := [number for number in found if isinstance(number, int) and number]:
            return max(numbers)
    return 0


def ended_well(path: Path) -> bool:
    """Say whether a log was closed by its last writer, or is new."""
    lines = _end(path)
    return not lines or (decode(lines[-1]) or {}).keys() == {CLOSED}


def _end(path: Path) -> list[bytes]:
    """Return the last lines of a file, the first of which may be cut; none of what is not there."""
    with suppress(OSError), path.open("rb") as file:
        # Bytes at a file's end in which its last number is looked for; longer than any line.
        file.seek(max(0, file.seek(0, os.SEEK_END) - 256 * 1024))
        return file.read().splitlines()
    return []


def list_names(path: Path, files: int = FILES) -> list[Path]:
    """Return the file and the names of its older ones, newest first."""
    return [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, files))]


def decode(line: bytes) -> dict[str, object] | None:
    """Return a line's JSON object, or None for anything else."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


#: Characters of one text; the rest is cut, because a record is a line and not a document.
TEXT_LIMIT = 16_384

#: Characters of all fields of a record as JSON; longer ones are only named.
FIELDS_LIMIT = 65_536

#: Times from here on are no records': the year 10,000, UTC microseconds.
LATEST = 253_402_300_800_000_000

#: In place of the time of a record that has none.
_NO_TIME = "-".ljust(len(iso(0)))

#: Level name -> rank; the ranks are the standard library's.
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}

#: The fields of most records are nothing else.
_TEXT = frozenset({str})

#: Keys of a record that its fields cannot take.
FIXED = ("seq", "at", "level", "actor", "topic", "text")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One thing that happened."""

    seq: int
    #: UTC microseconds.
    at: int
    level: str
    #: Who says it: an actor's name, or a part of the program.
    actor: str
    topic: str | None
    text: str
    fields: Mapping[str, object] = field(default_factory=dict)
    #: The record as one line of ASCII JSON.
    encoded: str = ""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which records a reader wants; the default is all of them."""

    level: str = "debug"
    #: Shell patterns; a topic's pattern leaves out records that are about no topic.
    actor: str = "*"
    topic: str | None = None
    #: Only records after this `seq`.
    since: int = 0
    #: Only records from this time on, UTC microseconds.
    since_at: int = 0

    def __post_init__(self) -> None:
        """Raise `BadInput` for a level that does not exist."""
        if self.level not in LEVELS:
            known = ", ".join(LEVELS)
            raise BadInput(f"no log level is called {self.level!r}; the levels are: {known}")

    def passes(self, record: LogEntry) -> bool:
        """Say whether the reader wants this record."""
        return (
            record.seq > self.since
            and record.at >= self.since_at
            and LEVELS.get(record.level, 0) >= LEVELS[self.level]
            and (self.actor == "*" or fnmatchcase(record.actor, self.actor))
            and (self.topic is None or fnmatchcase(record.topic or "", self.topic))
        )


def make_entry(
    fixed: tuple[int, int, str, str, str | None, str], fields: Mapping[str, object]
) -> LogEntry:
    """Return a record with its line of JSON, its text cut to the limit; never raises."""
    seq, at, level, actor, topic, text = fixed
    shown = text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}..."
    # By hand, because every event costs a line and `json.dumps` takes twice as long.
    head = (
        f'{{"seq": {seq}, "at": {at}, "level": {quoted(level)}, "actor": {quoted(str(actor))}, '
        f'"topic": {"null" if topic is None else quoted(str(topic))}, "text": {quoted(shown)}'
    )
    if _TEXT.issuperset(map(type, fields.values())):
        rest = "".join([f", {quoted(name)}: {quoted(str(fields[name]))}" for name in fields])
        if len(rest) <= FIELDS_LIMIT:
            return LogEntry(seq, at, level, actor, topic, shown, dict(fields), f"{head}{rest}}}")
    rest = _plain(fields)
    # Only text is kept: the ring must not keep a caller's objects alive.
    return LogEntry(seq, at, level, actor, topic, shown, json.loads(rest), f"{head}, {rest[1:]}")


def make_record(found: Mapping[str, object]) -> LogEntry:
    """Return the record that a JSON object describes; what it lacks is empty."""
    seq, at, topic = found.get("seq"), found.get("at"), found.get("topic")
    text = found.get("text", "")
    if "dropped" in found and not text:
        text = f"{found['dropped']} records were dropped here"
    return LogEntry(
        seq if isinstance(seq, int) else 0,
        at if isinstance(at, int) and 0 <= at < LATEST else 0,
        str(found.get("level", "info")),
        str(found.get("actor", "log")),
        topic if isinstance(topic, str) else None,
        str(text),
        {key: value for key, value in found.items() if key not in {*FIXED, "dropped"}},
        json.dumps(found),
    )


def format_line(record: LogEntry) -> str:
    """Return the record for a person, with every control character made visible.

    One line, and below it the traceback if there is one, behind a bar that no text can forge.
    """
    about = f" {record.topic}" if record.topic else ""
    shown = {key: value for key, value in record.fields.items() if key != "traceback"}
    fields = "".join(f" {key}={value}" for key, value in shown.items())
    text = f"{record.level:<8} {record.actor}{about}: {record.text}{fields}"
    trace = str(record.fields.get("traceback", "")).splitlines()
    when = iso(record.at) if record.at else _NO_TIME
    return "\n".join([f"{when} {visible(text)}", *(f"    | {visible(part)}" for part in trace)])


def _plain(fields: Mapping[str, object]) -> str:
    """Return the fields as a JSON object; what JSON cannot hold is shown as text, or only named."""
    try:
        text = json.dumps(dict(fields), default=str)
    except Exception:  # noqa: BLE001 - a caller's `__str__` may raise anything, a log never
        text = ""
    if 0 < len(text) <= FIELDS_LIMIT:
        return text
    return json.dumps({"left_out": ", ".join(sorted(fields))[:TEXT_LIMIT]})


#: Records and bytes of one page: little enough that a hundred readers hold little.
PAGE_RECORDS, PAGE_BYTES = 1_000, 512 * 1024

#: How a record's line begins: its number and its time are known before it is decoded.
_HEAD = re.compile(rb'\{"seq": (\d+), "at": (-?\d+)')


@dataclass(frozen=True, slots=True)
class LogPage:
    """Some records in a row."""

    records: tuple[LogEntry, ...]
    #: The greatest number that was looked at; the one asked for when there is nothing after it.
    last: int
    #: Records before these that the files have no longer, or never had.
    dropped: int = 0


@dataclass(slots=True)
class _PageReader:
    """Takes lines until a page is full."""

    wanted: Filter
    after: int
    before: int
    last: int
    dropped: int = 0
    records: list[LogEntry] = field(default_factory=list)
    size: int = 0
    #: Records lost just before the next line, as the file says.
    lost: int = 0

    def take(self, line: bytes) -> bool:
        """Take a line; False when it belongs to the next page."""
        head = _HEAD.match(line)
        if head is None:
            # Take a line that is no record: how many are missing here, or nothing that matters.
            lost = (decode(line) or {}).get("dropped")
            if isinstance(lost, int):
                self.lost += lost
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
        if int(head[2]) >= self.wanted.since_at and (found := decode(line)):
            record = make_record(found)
            self.records += [record] * self.wanted.passes(record)
        return True


def read_page(path: Path, wanted: Filter, *, after: int, before: int) -> LogPage:
    """Return the next records with `after` < `seq` < `before` that pass, as many as a page holds.

    Records that are gone with the oldest file are counted as dropped, unless `after` is 0.
    """
    reader = _PageReader(wanted, after, before, after)
    with ExitStack() as stack:
        files = _opened(path, stack)
        if after and files and files[0][0] > after + 1:
            reader.dropped = min(files[0][0], before) - after - 1
            # Told by the file's first line, too.
            reader.lost = -_lost_first(files[0][1])
        begin = max((n for n, (first, _) in enumerate(files) if first <= after + 1), default=0)
        for _, file in files[begin:]:
            file.seek(0)
            if not all(map(reader.take, file)):
                break
    return LogPage(tuple(reader.records), reader.last, max(0, reader.dropped))


def _opened(path: Path, stack: ExitStack) -> list[tuple[int, IO[bytes]]]:
    """Return the files that hold records, each with its first number, the oldest first."""
    found: dict[tuple[int, int], tuple[int, IO[bytes]]] = {}
    for name in list_names(path):
        with suppress(OSError):
            file = stack.enter_context(name.open("rb"))
            about = os.fstat(file.fileno())
            # A file that was put aside between two of these is met twice.
            if first := _next_number(file):
                found.setdefault((about.st_dev, about.st_ino), (first, file))
    return list(reversed(found.values()))


def _next_number(file: IO[bytes]) -> int:
    """Return the number of the next record from a file's position; 0 when there is none."""
    head = next((head for line in file if (head := _HEAD.match(line))), None)
    return int(head[1]) if head else 0


def _lost_first(file: IO[bytes]) -> int:
    """Return how many records the lines before a file's first record say are missing."""
    file.seek(0)
    lost = 0
    for line in file:
        if _HEAD.match(line):
            break
        found = (decode(line) or {}).get("dropped")
        lost += found if isinstance(found, int) else 0
    return lost
