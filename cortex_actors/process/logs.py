"""The log stream: what happens, as records that people and programs can follow.

Every record goes to a ring in memory, to every follower whose filter lets it pass, and to
`logs/cortex.ndjson` (see `logfile` for what a crash loses). Writing never blocks or raises: a
follower that reads slowly loses its oldest records and reads how many. Records carry a `seq` that
goes on across restarts and is given once, so a reader can say where it stopped.

What sends the stream on, such as Server-Sent Events, needs no more than this, where the id of an
event is the `seq` of its batch's last record and `Last-Event-ID` is `since`:

```
async for batch in stream.follow(Filter(since=last_event_id), last=None):
    send(batch.id, batch.records, batch.dropped)
```

One reader of the log stream: its position, what waits for it, and what it has missed.

A follower that begins behind reads what it has not seen in pages, first from the files and then
from the ring in memory, as fast as its reader takes them; once it has caught up, records are pushed
into its own bounded queue. Which of the two it is changes under the stream's guard, and its
position is a number, so at that moment no record is lost and none is doubled.
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
    from pathlib import Path

    from cortex_actors.clock import Clock


#: Records that may wait for one follower, and how many it is given at once.
FOLLOWER_LIMIT, BATCH = 1_000, 200


@dataclass(frozen=True, slots=True)
class LogBatch:
    """What a follower is given at once; it is false at the end of the stream."""

    records: tuple[logfile.LogEntry, ...] = ()
    #: Records lost just before these: the reader was slow, or they are gone.
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
    #: What passes, and where it begins.
    wanted: logfile.Filter
    _: KW_ONLY
    #: Records that may wait.
    limit: int = FOLLOWER_LIMIT
    #: Of what is old, only so many of the last; None for all of it.
    keep: int | None = None
    #: Whether it follows when it has caught up, instead of ending.
    go_on: bool = True

    def __post_init__(self) -> None:
        """Begin after `wanted.since`."""
        #: The number of the last record it was offered while it was behind.
        self.after = self.wanted.since
        #: Whether it has yet to catch up, rather than being pushed every new record.
        self.behind = True
        self._queue: deque[logfile.LogEntry] = deque()
        self._dropped = 0
        self._ended = False
        self._woken = asyncio.Event()
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
        """Return what waits, at most 200 records; an empty batch says that the stream ended."""
        while True:
            if self.behind and (self.keep is not None or not (self._queue or self._dropped)):
                await self._catch_up()
            elif not (self._queue or self._dropped):
                await self._woken.wait()
            with self.source.guard:
                # What is kept of the old is known when all of it was seen.
                batch = LogBatch() if self.behind and self.keep is not None else self._cut()
                # A wake may be late, for records that an earlier batch took along.
                if batch or (self._ended and not self._queue):
                    return batch

    def close(self) -> None:
        """End the stream for this reader; what waits can still be taken."""
        self.source.forget(self)

    def offer(self, record: logfile.LogEntry) -> None:
        """Queue a record that passes; called under the stream's guard, from any thread."""
        if not self.wanted.passes(record):
            return
        if len(self._queue) >= self.limit:
            self._queue.popleft()
            self._dropped += 1
        self._queue.append(record)
        if len(self._queue) == 1:
            self._wake()

    def caught_up(self) -> None:
        """Be pushed every record from now on; called under the stream's guard."""
        self.behind = False
        self._trim()

    def end(self) -> None:
        """Let the reader find the end after what waits; called under the stream's guard."""
        self._ended = True
        self.behind = False
        self._wake()

    async def _catch_up(self) -> None:
        """Take one step towards the present."""
        before = self.source.load(self)
        if before is None:
            # Many that are behind must not hold the loop for more than a step each.
            await asyncio.sleep(0)
            return
        async with self.source.reading:
            found = await asyncio.to_thread(
                self.source.page, self.wanted, after=self.after, before=before
            )
        with self.source.guard:
            self.after = found.last
            self._queue.extend(found.records)
            self._trim()
            self._dropped += found.dropped

    def _trim(self) -> None:
        """Forget the oldest of what is kept of the past."""
        while self.keep is not None and len(self._queue) > self.keep:
            self._queue.popleft()

    def _cut(self) -> LogBatch:
        """Take what waits from the queue, and sleep again once it is empty."""
        count = min(len(self._queue), BATCH)
        batch = LogBatch(tuple(self._queue.popleft() for _ in range(count)), self._dropped)
        self._dropped = 0
        if not self._queue and not self._ended:
            self._woken.clear()
        return batch

    def _wake(self) -> None:
        """Wake the reader on its own loop, which may have ended before it."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._woken.set)


#: Records kept in memory.
RING = 5_000

#: Records of the ring that a follower which is behind is offered in one turn of the loop: 0.5 ms.
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
        self._behind: set[Follower] = set()
        #: The last number of earlier lives, the one before our first, and the last we gave.
        self._before = logfile.last_number(path)
        self._begin = self._seq = self._before + (0 if logfile.ended_well(path) else logfile.LEAP)
        #: When the last record of earlier lives was made (UTC microseconds); 0 for none.
        self.before_at = logfile.last_number(path, "at")
        self._file = logfile.LineWriter(logfile.RotatingFile(path))
        self._echo = logfile.LineWriter(logfile.Terminal(echo)) if echo else None
        #: Held by the follower that reads the files, so that many do not take all threads.
        self.reading = asyncio.Lock()

    @property
    def followers(self) -> int:
        """How many readers follow."""
        return len(self._followers) + len(self._behind)

    def write(
        self, level: str, text: str, *, actor: str, topic: str | None = None, **fields: object
    ) -> None:
        """Record that something happened; never blocks, never raises, from any thread."""
        with self.guard:
            self._seq += 1
            record = logfile.made((self._seq, self._clock.now(), level, actor, topic, text), fields)
            self._ring.append(record)
            for follower in self._followers:
                follower.offer(record)
            self._file.put(record.encoded)
        if self._echo:
            self._echo.put(logfile.line(record))

    def follow(
        self, wanted: logfile.Filter, *, last: int | None = 10, go_on: bool = True
    ) -> Follower:
        """Return a follower that misses nothing from now on, and before that what is asked for.

        That is the `last` records in memory that pass; or, where `wanted` says since when, the
        `last` of those in memory and in the files, None for all of them; what is gone is counted.
        A `since` that was never given is another log's: everything of this life is shown. Without
        `go_on` the stream ends where it would begin to wait.
        """
        asked = wanted.since or wanted.since_at
        with self.guard:
            if wanted.since > self._seq and go_on:
                wanted = replace(wanted, since=self._begin)
            keep = None if last is None else min(last, RING if asked else FOLLOWER_LIMIT)
            limit = max(FOLLOWER_LIMIT, keep or 0)
            follower = Follower(self, wanted, limit=limit, keep=keep, go_on=go_on)
            self._behind.add(follower)
            if keep is not None and not asked:
                for record in self.recent(wanted, last=keep):
                    follower.offer(record)
                self._catch_up(follower)
        return follower

    def load(self, follower: Follower) -> int | None:
        """Offer a follower that is behind what comes next from memory.

        Returns None, or before which number the files have to be read first.
        """
        with self.guard:
            if self._before <= follower.after < self._begin:
                # Between two lives lie numbers that no record has.
                follower.after = self._begin
            oldest = self._ring[0].seq if self._ring else self._seq + 1
            begin = follower.after + 1 - oldest
            if begin < 0:
                return oldest
            for record in islice(self._ring, begin, begin + STEP):
                follower.offer(record)
                follower.after = record.seq
            if begin + STEP >= len(self._ring):
                self._catch_up(follower)
            return None

    def page(self, wanted: logfile.Filter, *, after: int, before: int) -> logfile.LogPage:
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

    def recent(self, wanted: logfile.Filter, *, last: int = 10) -> list[logfile.LogEntry]:
        """Return the last records in memory that pass."""
        with self.guard:
            # From the newest on: mostly the first ones pass, and 5,000 take 2 to 8 ms.
            newest = filter(wanted.passes, reversed(self._ring))
            return list(islice(newest, min(max(0, last), RING)))[::-1]

    def forget(self, follower: Follower) -> None:
        """End one follower."""
        with self.guard:
            self._followers.discard(follower)
            self._behind.discard(follower)
            follower.end()

    def close(self, timeout: float = 1.0) -> bool:
        """End all followers and write what is queued; say whether that was done in time."""
        with self.guard:
            for follower in self._followers | self._behind:
                self.forget(follower)
            self._file.put(json.dumps({logfile.CLOSED: self._seq}))
        done = self._file.close(timeout)
        return (self._echo is None or self._echo.close(timeout)) and done

    def _catch_up(self, follower: Follower) -> None:
        """Push a follower every record from now on, or end it; called under the guard."""
        if follower.go_on:
            self._behind.discard(follower)
            self._followers.add(follower)
            follower.caught_up()
        else:
            follower.caught_up()
            self.forget(follower)


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


def tail(path: Path, wanted: logfile.Filter, *, last: int) -> list[logfile.LogEntry]:
    """Return the last records in the files that pass: how a log is read without its daemon."""
    passing = filter(wanted.passes, map(logfile.record_of, logfile.read_objects(path)))
    return list(deque(passing, maxlen=min(max(0, last), sys.maxsize)))
