"""The log stream: what happens, as records that people and programs can follow.

Every record goes to a ring in memory, to every follower whose filter lets it pass, and to
`logs/cortex.ndjson` (see `logfile` for what a crash loses). Nothing here blocks or raises: a
follower that reads slowly loses its oldest records and is told how many. Records carry a `seq` that
goes on across restarts, so a reader can say where it stopped.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from cortex_actors.logfile import LineWriter, RotatingFile, Terminal, last_number, objects
from cortex_actors.logrecord import FIXED, LEVELS, Filter, Record, line, made, record_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cortex_actors.clock import Clock

#: Records kept in memory.
RING = 5_000

#: Records that may wait for one follower, and how many it is given at once.
FOLLOWER_LIMIT, BATCH = 1_000, 200

#: What the standard library puts on every `LogRecord`; anything else was given with `extra=`.
_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


@dataclass(frozen=True, slots=True)
class Batch:
    """What a follower is given at once; both parts are empty at the end of the stream."""

    records: tuple[Record, ...] = ()
    #: Records lost just before these, because the reader was slow.
    dropped: int = 0


class Follower:
    """One reader's own bounded queue; made by `LogStream.follow`, read on that loop."""

    def __init__(self, stream: LogStream, wanted: Filter, *, limit: int = FOLLOWER_LIMIT) -> None:
        self._stream = stream
        self._wanted = wanted
        self._limit = limit
        self._queue: deque[Record] = deque()
        self._dropped = 0
        self._ended = False
        self._woken = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def take(self) -> Batch:
        """Return what waits, at most 200 records; an empty batch says that the stream ended."""
        while True:
            await self._woken.wait()
            with self._stream.guard:
                batch = self._cut()
                # A wake may be late, for records that an earlier batch took along.
                if batch.records or self._ended:
                    return batch

    def close(self) -> None:
        """End the stream for this reader; what waits can still be taken."""
        self._stream.forget(self)

    def offer(self, record: Record) -> None:
        """Queue a record that passes; called under the stream's guard, from any thread."""
        if not self._wanted.passes(record):
            return
        if len(self._queue) >= self._limit:
            self._queue.popleft()
            self._dropped += 1
        self._queue.append(record)
        if len(self._queue) == 1:
            self._wake()

    def end(self) -> None:
        """Let the reader find the end after what waits; called under the stream's guard."""
        self._ended = True
        self._wake()

    def _cut(self) -> Batch:
        """Take what waits from the queue, and sleep again once it is empty."""
        count = min(len(self._queue), BATCH)
        batch = Batch(tuple(self._queue.popleft() for _ in range(count)), self._dropped)
        self._dropped = 0
        if not self._queue and not self._ended:
            self._woken.clear()
        return batch

    def _wake(self) -> None:
        """Wake the reader on its own loop, which may have ended before it."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._woken.set)


class LogStream:
    """Takes records from every thread, keeps the last 5,000 and hands them on."""

    def __init__(self, path: Path, clock: Clock, *, echo: IO[str] | None = None) -> None:
        self.path = path
        #: Held for moments only. Reentrant, because a finaliser may log at any point.
        self.guard = threading.RLock()
        self._clock = clock
        self._ring: deque[Record] = deque(maxlen=RING)
        self._followers: set[Follower] = set()
        self._seq = last_number(path)
        self._file = LineWriter(RotatingFile(path))
        self._echo = LineWriter(Terminal(echo)) if echo else None

    @property
    def followers(self) -> int:
        """How many readers follow."""
        return len(self._followers)

    def write(
        self, level: str, text: str, *, actor: str, topic: str | None = None, **fields: object
    ) -> None:
        """Record that something happened; never blocks, never raises, from any thread."""
        with self.guard:
            self._seq += 1
            record = made((self._seq, self._clock.now(), level, actor, topic, text), fields)
            self._ring.append(record)
            for follower in self._followers:
                follower.offer(record)
            self._file.put(record.encoded)
        if self._echo:
            self._echo.put(line(record))

    def follow(self, wanted: Filter, *, last: int = 10) -> Follower:
        """Return a follower that begins with the `last` records that pass; misses none after."""
        follower = Follower(self, wanted)
        with self.guard:
            for record in select(self._ring, wanted, last=min(last, FOLLOWER_LIMIT)):
                follower.offer(record)
            self._followers.add(follower)
        return follower

    def recent(self, wanted: Filter, *, last: int = 10) -> list[Record]:
        """Return the last records in memory that pass."""
        with self.guard:
            return select(self._ring, wanted, last=last)

    def forget(self, follower: Follower) -> None:
        """End one follower."""
        with self.guard:
            self._followers.discard(follower)
            follower.end()

    def close(self, timeout: float = 1.0) -> bool:
        """End all followers and write what is queued; say whether that was done in time."""
        with self.guard:
            for follower in set(self._followers):
                self.forget(follower)
        done = self._file.close(timeout)
        return (self._echo is None or self._echo.close(timeout)) and done


class StreamHandler(logging.Handler):
    """Feeds the standard library's logging into the stream.

    `extra={"actor": ..., "topic": ...}` names who speaks, else the logger's name does; any other
    key of `extra` becomes a field.
    """

    def __init__(self, stream: LogStream, level: int = logging.INFO) -> None:
        super().__init__(level)
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; a text that cannot be formatted is shown as it was given."""
        try:
            text = record.getMessage()
        except (TypeError, ValueError, KeyError):
            text = f"{record.msg!r} {record.args!r}"
        given = {key: value for key, value in vars(record).items() if key not in _STANDARD}
        topic, actor = given.pop("topic", None), given.pop("actor", None)
        speaker = str(actor or record.name.removeprefix("cortex."))
        fields = {f"{key}_" if key in FIXED else key: value for key, value in given.items()}
        if record.exc_info and record.exc_info[0]:
            fields["traceback"] = logging.Formatter().formatException(record.exc_info)
        shown = topic if isinstance(topic, str) else None
        name = record.levelname.lower()
        self._stream.write(
            name if name in LEVELS else "info", text, actor=speaker, topic=shown, **fields
        )


def select(records: Iterable[Record], wanted: Filter, *, last: int) -> list[Record]:
    """Return the last records that pass, in order."""
    kept = min(max(0, last), sys.maxsize)
    return list(deque((record for record in records if wanted.passes(record)), maxlen=kept))


def tail(path: Path, wanted: Filter, *, last: int) -> list[Record]:
    """Return the last records in the files that pass: how a log is read without its daemon."""
    return select(map(record_of, objects(path)), wanted, last=last)
