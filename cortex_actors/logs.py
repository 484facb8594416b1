"""The log stream: what happens, as records that people and programs can follow.

Every record goes to a ring in memory, to every follower whose filter lets it pass, and to
`logs/cortex.ndjson` (see `logfile` for what a crash loses). Writing never blocks or raises: a
follower that reads slowly loses its oldest records and is told how many. Records carry a `seq` that
goes on across restarts and is given once, so a reader can say where it stopped.

Whoever sends the stream on, such as Server-Sent Events, needs no more than this, where the id of an
event is the `seq` of its batch's last record and `Last-Event-ID` is `since`:

```
async for batch in stream.follow(Filter(since=last_event_id), last=None):
    send(batch.id, batch.records, batch.dropped)
```
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
from collections import deque
from dataclasses import replace
from itertools import islice
from typing import IO, TYPE_CHECKING

from cortex_actors import loghistory
from cortex_actors.follower import FOLLOWER_LIMIT, Follower
from cortex_actors.logfile import (
    CLOSED,
    LEAP,
    LineWriter,
    RotatingFile,
    Terminal,
    ended_well,
    last_number,
    objects,
)
from cortex_actors.logrecord import FIXED, LEVELS, Filter, Record, line, made, record_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cortex_actors.clock import Clock

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
        self._ring: deque[Record] = deque(maxlen=RING)
        self._followers: set[Follower] = set()
        self._behind: set[Follower] = set()
        #: The last number of earlier lives, the one before our first, and the last we gave.
        self._before = last_number(path)
        self._begin = self._seq = self._before + (0 if ended_well(path) else LEAP)
        self._file = LineWriter(RotatingFile(path))
        self._echo = LineWriter(Terminal(echo)) if echo else None
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
            record = made((self._seq, self._clock.now(), level, actor, topic, text), fields)
            self._ring.append(record)
            for follower in self._followers:
                follower.offer(record)
            self._file.put(record.encoded)
        if self._echo:
            self._echo.put(line(record))

    def follow(self, wanted: Filter, *, last: int | None = 10, go_on: bool = True) -> Follower:
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
                # Between two lives lie numbers that nobody was given.
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

    def page(self, wanted: Filter, *, after: int, before: int) -> loghistory.Page:
        """Return the next records in the files with `after` < `seq` < `before`; blocks.

        What is not there is told as dropped, so that a reader always gets on.
        """
        self._file.settle()
        found = loghistory.page(self.path, wanted, after=after, before=before)
        if found.last > after:
            return found
        missing = before - after - 1
        if after < self._before:
            missing -= min(before - 1, self._begin) - self._before
        return loghistory.Page((), before - 1, missing if after else 0)

    def recent(self, wanted: Filter, *, last: int = 10) -> list[Record]:
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
            self._file.put(json.dumps({CLOSED: self._seq}))
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
