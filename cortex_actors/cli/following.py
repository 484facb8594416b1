"""Following the log from a process of its own, across the ends of the daemon if that is wanted.

What was shown last is a number; after an end the reader goes on behind it, so that each record is
shown once, and what nobody has any more is counted.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from cortex_actors.cli.lifecycle import pause
from cortex_actors.client.connection import Client
from cortex_actors.errors import DaemonDown, DeadlineExceeded
from cortex_actors.process.logfile import Filter, Record, last_number, record_of
from cortex_actors.process.logs import tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.home import Home

#: Seconds between two looks whether the daemon is back.
POLL = 0.2

#: What of a filter the daemon is asked for.
ASKED = ("level", "actor", "topic", "since", "since_at")


class Following:
    """One reader's way through the log."""

    def __init__(self, home: Home, wanted: Filter, *, last: int | None) -> None:
        """Begin with the `last` records that pass; None: with all since when they are wanted."""
        self._home = home
        self._path = home.logs / "cortex.ndjson"
        self._wanted = wanted
        self._last = last
        #: The number of the record that was shown last; None before there was one.
        self._seen: int | None = wanted.since or None
        #: What was in the files when we began: shown by now, or not asked for.
        self._begin = last_number(self._path)

    def once(self) -> Iterator[Record]:
        """Yield records until the daemon stops.

        Raises `DaemonDown` when none answers, and when one ends without a word.
        """
        Client(self._home).pid()
        try:
            yield from self._records()
        except DaemonDown as error:
            message = (
                f"the daemon for {self._home.root} ended without a word while its log was "
                f"followed; go on with: cortex logs -f --since {self._position()}"
            )
            raise DaemonDown(message) from error
        except DeadlineExceeded as error:
            message = f"{error}; go on with: cortex logs -f --since {self._position()}"
            raise DeadlineExceeded(message) from error

    def for_ever(self) -> Iterator[Record]:
        """Yield records, waiting for the daemon whenever it is gone."""
        if not self._answers():
            yield from self._from_files()
            self._wait()
        while True:
            with suppress(DaemonDown, DeadlineExceeded):
                yield from self._records()
            if not self._wanted.since_at:
                self._seen = self._position()
            self._wait()

    def _records(self) -> Iterator[Record]:
        """Yield what the daemon sends, and note how far we are."""
        asked = {name: getattr(self._wanted, name) for name in ASKED}
        last = self._last
        if self._seen is not None:
            asked["since"], asked["since_at"] = self._seen, 0
            last = last if self._seen == self._wanted.since else None
        for params in Client(self._home).stream("logs", follow=True, last=last, **asked):
            record = record_of(params)
            # One that says how many are missing has no number.
            self._seen = record.seq or self._seen
            yield record

    def _from_files(self) -> Iterator[Record]:
        """Yield what there is while no daemon answers."""
        last = sys.maxsize if self._last is None else self._last
        for record in tail(self._path, self._wanted, last=last):
            self._seen = record.seq or self._seen
            yield record
        self._seen = max(self._position(), self._begin)

    def _position(self) -> int:
        """Return the number to go on after."""
        return self._begin if self._seen is None else self._seen

    def _wait(self) -> None:
        """Say that the daemon is gone, and return when one answers."""
        if self._answers():
            return
        print("cortex: the daemon is gone; waiting for it (Ctrl-C ends)", file=sys.stderr)
        while not self._answers():
            pause(POLL)

    def _answers(self) -> bool:
        """Say whether a daemon listens."""
        try:
            Client(self._home).pid()
        except (DaemonDown, DeadlineExceeded):
            return False
        return True
