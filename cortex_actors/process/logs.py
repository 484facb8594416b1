"""The log stream: what happens, as records that people and programs can follow.

Every record goes to a ring in memory and to `logs/cortex.ndjson` (see `logfile` for what a crash
loses). Writing never blocks or raises. Records carry a `seq` that goes on across restarts and is
given once, so a reader can say where it stopped.

What sends the stream on, such as Server-Sent Events, needs no more than this, where the id of an
event is the `seq` of its batch's last record and `Last-Event-ID` is `since`:

```
async for batch in stream.follow(Filter(since=last_event_id), last=None):
    send(batch.id, batch.records, batch.dropped)
```

One reader of the log stream: its position, and what it has missed.

A follower is a position, and takes what comes after it as fast as it is read: from the ring, and
where the ring begins later, in pages from the files. So a slow one holds no memory, and misses only
what the files hold no longer, which it reads as a number.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
from collections import deque
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from itertools import islice
from typing import IO, TYPE_CHECKING

from cortex_actors.process import logfile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cortex_actors.clock import Clock


#: Records that a follower is given at once.
BATCH = 200


@dataclass(frozen=True, slots=True)
class LogBatch:
    """What a follower is given at once; it is false at the end of the stream."""

    records: tuple[logfile.LogEntry, ...] = ()
    #: Records lost just before these: neither memory nor the files have them.
    dropped: int = 0

    def __bool__(self) -> bool:
        """Say whether there is anything in it."""
        return bool(self.records or self.dropped)

    @property
    def id(self) -> int | None:
        """The `seq` after which to go on later: what Server-Sent Events call the last event's id.

        None for a batch without records.
        """
        return self.records[-1].seq if self.records else None


@dataclass(eq=False)
class Follower:
    """An asynchronous iterator of batches; made by `LogStream.follow`, read on that loop."""

    source: LogStream
    #: What passes.
    wanted: logfile.Filter
    _: KW_ONLY
    #: The number after which it goes on.
    after: int
    #: Records that are given first.
    first: Iterable[logfile.LogEntry] = ()
    #: Of what is old, up to the number `until`, only so many of the last; None for all of it.
    keep: int | None = None
    until: int = 0
    #: Whether it follows when it has caught up, instead of ending.
    go_on: bool = True

    def __post_init__(self) -> None:
        """Begin after `after`."""
        self._waiting = deque(self.first)
        self._dropped = 0
        self._ended = self._is_woken = False
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def __aiter__(self) -> Follower:
        """Return itself: it can be read once."""
        return self

    async def __anext__(self) -> LogBatch:
        """Return the next batch; the iteration ends with the stream."""
        if batch := await self.take():
            return batch
        raise StopAsyncIteration

    async def take(self) -> LogBatch:
        """Return what comes next, at most 200 records; an empty batch is the stream's end."""
        while True:
            self._is_woken = False
            self._news.clear()
            # What is kept of the old is known when all of it was seen.
            while self.after < self.until and await self._step():
                self._trim()
            while not (self._waiting or self._dropped) and await self._step():
                pass
            if self._waiting or self._dropped:
                count = min(len(self._waiting), BATCH)
                some = tuple(self._waiting.popleft() for _ in range(count))
                dropped, self._dropped = self._dropped, 0
                return LogBatch(some, dropped)
            if self._ended or not self.go_on:
                self.close()
                return LogBatch()
            await self._news.wait()

    def _trim(self) -> None:
        """Forget the oldest of what is old: what is new since it began is never left out."""
        old = sum(each.seq <= self.until for each in self._waiting)
        for _ in range(old - (self.keep or 0)):
            self._waiting.popleft()

    def close(self) -> None:
        """End the stream for this reader; what waits in memory can still be taken."""
        self.source.forget(self)

    def wake(self) -> None:
        """Let the reader look for more, on its own loop; called under the guard, by any thread."""
        if not self._is_woken:
            self._is_woken = True
            with suppress(RuntimeError):  # its loop has ended before it
                self._loop.call_soon_threadsafe(self._news.set)

    def end(self) -> None:
        """Let the reader find the end after what memory holds; called under the guard."""
        self._ended = True
        self.wake()

    async def _step(self) -> bool:
        """Take some of what comes next; False when there is nothing."""
        some = self.source.load(self.after)
        if isinstance(some, list):
            if not some:
                return False
            self._waiting.extend(filter(self.wanted.passes, some))
            self.after = some[-1].seq
            # Many that are behind must not hold the loop for more than a step each.
            await asyncio.sleep(0)
            return True
        if self._ended:
            return False
        async with self.source.reading:
            found = await asyncio.to_thread(
                self.source.read_page, self.wanted, after=self.after, before=some
            )
        self.after = found.last
        self._waiting.extend(found.records)
        self._dropped += found.dropped
        return True


#: Records kept in memory.
RING = 5_000

#: Records of the ring that a follower looks at in one turn of the loop: 0.5 ms.
STEP = 200

#: What the standard library puts on every `LogRecord`; anything else was given with `extra=`.
_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


class LogStream:
    """Takes records from every thread, keeps the last 5,000 and hands them on."""

    def __init__(self, path: Path, clock: Clock, *, echo: IO[str] | None = None) -> None:
        self.path = path
        #: Held for moments only. Reentrant, because a finaliser may log at any point.
        self.guard = threading.RLock()
        self._clock = clock
        self._ring: deque[logfile.LogEntry] = deque(maxlen=RING)
        self._followers: set[Follower] = set()
        #: The last number of earlier lives, the one before our first, and the last we gave.
        self._before = logfile.find_last_number(path)
        self._begin = self._seq = self._before + (0 if logfile.ended_well(path) else logfile.LEAP)
        #: When the last record of earlier lives was made (UTC microseconds); 0 for none.
        self.before_at = logfile.find_last_number(path, "at")
        self._file = logfile.LineWriter(logfile.RotatingFile(path))
        self._echo = logfile.LineWriter(logfile.Terminal(echo)) if echo else None
        #: Held by the follower that reads the files, so that many do not take all threads.
        self.reading = asyncio.Lock()

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
            record = logfile.make_entry(
                (self._seq, self._clock.now(), level, actor, topic, text), fields
            )
            self._ring.append(record)
            for follower in self._followers:
                follower.wake()
            self._file.put(record.encoded)
        if self._echo:
            self._echo.put(logfile.format_line(record))

    def follow(
        self, wanted: logfile.Filter, *, last: int | None = 10, go_on: bool = True
    ) -> Follower:
        """Return a follower that misses nothing from now on, and before that what is asked for.

        That is the `last` records in memory that pass; or, where `wanted` says since when, the
        `last` of those in memory and in the files, None for all of them; what is gone is counted.
        A `since` that was never given is another log's: everything of this life is shown. Without
        `go_on` the stream ends where it would begin to wait.
        """
        keep = None if last is None else min(last, RING)
        with self.guard:
            if wanted.since > self._seq and go_on:
                wanted = replace(wanted, since=self._begin)
            if wanted.since or wanted.since_at or keep is None:
                at, until = wanted.since, 0 if keep is None else self._seq
                follower = Follower(self, wanted, after=at, keep=keep, until=until, go_on=go_on)
            else:
                first = self.list_recent(wanted, last=keep)
                follower = Follower(self, wanted, after=self._seq, first=first, go_on=go_on)
            self._followers.add(follower)
        return follower

    def load(self, after: int) -> list[logfile.LogEntry] | int:
        """Return some of the records after a number, none where there are none yet.

        Where memory has them no longer, return before which number the files have to be read.
        """
        with self.guard:
            if self._before <= after < self._begin:
                # Between two lives lie numbers that no record has.
                after = self._begin
            oldest = self._ring[0].seq if self._ring else self._seq + 1
            at = after + 1 - oldest
            if at < 0:
                return oldest
            return [self._ring[n] for n in range(at, min(at + STEP, len(self._ring)))]

    def read_page(self, wanted: logfile.Filter, *, after: int, before: int) -> logfile.LogPage:
        """Return the next records in the files with `after` < `seq` < `before`; blocks.

        What is not there counts as dropped, so that a reader always gets on.
        """
        self._file.settle()
        found = logfile.read_page(self.path, wanted, after=after, before=before)
        if found.last > after:
            return found
        missing = before - after - 1
        if after < self._before:
            missing -= min(before - 1, self._begin) - self._before
        return logfile.LogPage((), before - 1, missing if after else 0)

    def list_recent(self, wanted: logfile.Filter, *, last: int = 10) -> list[logfile.LogEntry]:
        """Return the last records in memory that pass."""
        with self.guard:
            # From the newest on: mostly the first ones pass, and 5,000 take 2 to 8 ms.
            newest = filter(wanted.passes, reversed(self._ring))
            return list(islice(newest, min(max(0, last), RING)))[::-1]

    def forget(self, follower: Follower) -> None:
        """End one follower."""
        with self.guard:
            self._followers.discard(follower)
            follower.end()

    def close(self, timeout: float = 1.0) -> bool:
        """End all followers and write what is queued; say whether that was done in time."""
        with self.guard:
            for follower in tuple(self._followers):
                self.forget(follower)
            self._file.put(json.dumps({logfile.CLOSED: self._seq}))
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
        fields = {f"{key}_" if key in logfile.FIXED else key: value for key, value in given.items()}
        if record.exc_info and record.exc_info[0]:
            fields["traceback"] = logging.Formatter().formatException(record.exc_info)
        shown = topic if isinstance(topic, str) else None
        name = record.levelname.lower()
        self._stream.write(
            name if name in logfile.LEVELS else "info", text, actor=speaker, topic=shown, **fields
        )


def read_tail(path: Path, wanted: logfile.Filter, *, last: int) -> list[logfile.LogEntry]:
    """Return the last records in the files that pass: how a log is read without its daemon."""
    passing = filter(wanted.passes, map(logfile.make_record, logfile.read_objects(path)))
    return list(deque(passing, maxlen=min(max(0, last), sys.maxsize)))
