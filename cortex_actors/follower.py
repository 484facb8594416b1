"""One reader of the log stream: where it stands, what waits for it, and what it has missed.

A follower that begins behind reads what it has not seen in pages, first from the files and then
from the ring in memory, as fast as its reader takes them; once it has caught up, records are pushed
into its own bounded queue. Which of the two it is changes under the stream's guard, and where it
stands is a number, so at that moment no record is lost and none is doubled.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import threading

    from cortex_actors.loghistory import Page
    from cortex_actors.logrecord import Filter, Record

#: Records that may wait for one follower, and how many it is given at once.
FOLLOWER_LIMIT, BATCH = 1_000, 200


@dataclass(frozen=True, slots=True)
class Batch:
    """What a follower is given at once; it is false at the end of the stream."""

    records: tuple[Record, ...] = ()
    #: Records lost just before these: the reader was slow, or nobody has them any more.
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


class Source(Protocol):
    """What a follower needs of its stream."""

    guard: threading.RLock
    reading: asyncio.Lock

    def load(self, follower: Follower) -> int | None:
        """Offer what comes next from memory; else return before which number to read the files."""

    def page(self, wanted: Filter, *, after: int, before: int) -> Page:
        """Return what comes next from the files; blocks."""

    def forget(self, follower: Follower) -> None:
        """End a follower."""


class Follower:
    """An asynchronous iterator of batches; made by `LogStream.follow`, read on that loop."""

    def __init__(
        self,
        source: Source,
        wanted: Filter,
        *,
        limit: int = FOLLOWER_LIMIT,
        keep: int | None = None,
        go_on: bool = True,
    ) -> None:
        """Begin after `wanted.since`.

        Args:
            source: the stream.
            wanted: what passes.
            limit: records that may wait.
            keep: of what is old, only so many of the last; None for all of it.
            go_on: follow when it has caught up, instead of ending.

        """
        self._source = source
        self.wanted = wanted
        self.go_on = go_on
        #: The number of the last record it was offered while it was behind.
        self.after = wanted.since
        #: Whether it has yet to catch up, rather than being pushed every new record.
        self.behind = True
        self._limit = limit
        self._keep = keep
        self._queue: deque[Record] = deque()
        self._dropped = 0
        self._ended = False
        self._woken = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def __aiter__(self) -> Follower:
        """Return itself: it can be read once."""
        return self

    async def __anext__(self) -> Batch:
        """Return the next batch; the iteration ends with the stream."""
        if batch := await self.take():
            return batch
        raise StopAsyncIteration

    async def take(self) -> Batch:
        """Return what waits, at most 200 records; an empty batch says that the stream ended."""
        while True:
            if self._must_catch_up():
                await self._catch_up()
            elif not (self._queue or self._dropped):
                await self._woken.wait()
            with self._source.guard:
                # What is kept of the old is known when all of it was seen.
                batch = Batch() if self.behind and self._keep is not None else self._cut()
                # A wake may be late, for records that an earlier batch took along.
                if batch or (self._ended and not self._queue):
                    return batch

    def close(self) -> None:
        """End the stream for this reader; what waits can still be taken."""
        self._source.forget(self)

    def offer(self, record: Record) -> None:
        """Queue a record that passes; called under the stream's guard, from any thread."""
        if not self.wanted.passes(record):
            return
        if len(self._queue) >= self._limit:
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

    def _must_catch_up(self) -> bool:
        """Say whether there is nothing to give before more of the past is read."""
        return self.behind and (self._keep is not None or not (self._queue or self._dropped))

    async def _catch_up(self) -> None:
        """Take one step towards the present."""
        before = self._source.load(self)
        if before is None:
            # Many that are behind must not hold the loop for more than a step each.
            await asyncio.sleep(0)
            return
        async with self._source.reading:
            found = await asyncio.to_thread(
                self._source.page, self.wanted, after=self.after, before=before
            )
        with self._source.guard:
            self.after = found.last
            self._queue.extend(found.records)
            self._trim()
            self._dropped += found.dropped

    def _trim(self) -> None:
        """Forget the oldest of what is kept of the past."""
        while self._keep is not None and len(self._queue) > self._keep:
            self._queue.popleft()

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
