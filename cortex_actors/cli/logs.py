"""`logs`: what happened, and what happens.

Following the log from a process of its own, across the ends of the daemon if that is wanted.

What was shown last is a number; after an end the reader goes on behind it, so that each record is
shown once, and what nobody has any more is counted.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Annotated

from cortex_actors import topics
from cortex_actors.cli.declare import HomeOption, JsonOption, Option, command
from cortex_actors.cli.lifecycle import pause
from cortex_actors.client.connection import Client
from cortex_actors.clock import SECOND, SystemClock
from cortex_actors.errors import DaemonDown, DeadlineExceeded, UnknownTopic, UsageError
from cortex_actors.home import Home
from cortex_actors.process.logfile import Filter, Record, last_number, line, record_of
from cortex_actors.process.logs import RING, tail

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
            raise DaemonDown(
                f"the daemon for {self._home.root} ended without a word while its log was "
                f"followed; go on with: cortex logs -f --since {self._position()}"
            ) from error
        except DeadlineExceeded as error:
            message = f"{error}; go on with: cortex logs -f --since {self._position()}"
            raise DeadlineExceeded(message) from error

    def for_ever(self) -> Iterator[Record]:
        """Yield records, waiting for the daemon whenever it is gone."""
        if not self._answers():
            last = sys.maxsize if self._last is None else self._last
            for record in tail(self._path, self._wanted, last=last):
                self._seen = record.seq or self._seen
                yield record
            self._seen = max(self._position(), self._begin)
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


#: Records that are shown, unless asked otherwise.
LAST = 10

#: Characters that make a name a pattern.
_WILD = frozenset("*?[")

#: Seconds in the units of `--since 10m`.
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@command(
    "daemon logs",
    "",
    "-f",
    "-F",
    "-n 50 --level warning",
    "-f --topic 'file:*'",
    "--actor 'watcher*' --since 10m",
    "--since 2030-01-31T12:00 --json",
)
def logs(
    *,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    reconnect: Annotated[
        bool, Option("--reconnect", "-F", help="As -f, and wait for a daemon that is gone.")
    ] = False,
    last: Annotated[
        int | None, Option("--last", "-n", min=0, help="How many (default 10).")
    ] = None,
    actor: Annotated[str, Option(help="Only actors of this shell pattern.")] = "*",
    topic: Annotated[str | None, Option(help="Only topics of this shell pattern.")] = None,
    level: Annotated[
        str, Option(help="This or worse: debug, info, warning, error, critical.")
    ] = "debug",
    since: Annotated[
        str | None, Option(help="After 10s, 10m, 2h, 1d, an ISO time, or a seq.")
    ] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show the log: from the daemon, or from its file while it is down."""
    _refuse_unknown(topic)
    seq, at = moment(since, now=SystemClock().now())
    wanted = Filter(level.lower(), actor, topic, seq, at)
    count = last if last is not None or since else LAST
    place = Home.of(home)
    if follow or reconnect:
        following = Following(place, wanted, last=count)
        records = following.for_ever() if reconnect else following.once()
    else:
        records = iter(_records(place, wanted, count=count))
    for record in records:
        print(record.encoded if as_json else line(record), flush=follow or reconnect)


def moment(text: str | None, *, now: int) -> tuple[int, int]:
    """Return the `seq` and the time (UTC microseconds) after which records are wanted.

    Raises `UsageError` for a text that is neither a duration, nor a number, nor an ISO time.
    """
    if text is None:
        return 0, 0
    if text.isdecimal():
        return int(text), 0
    if match := re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text):
        return 0, now - int(float(match[1]) * _UNITS[match[2]] * SECOND)
    try:
        return 0, int(datetime.fromisoformat(text).astimezone().timestamp() * SECOND)
    except (ValueError, OverflowError, OSError):
        message = f"cannot read --since {text!r}: write 10m, 2h, an ISO time or a seq"
        raise UsageError(message) from None


def _records(home: Home, wanted: Filter, *, count: int | None) -> list[Record]:
    """Return records from the daemon, and from the files what it does not remember.

    Without a daemon all of them come from the files.
    """
    path = home.logs / "cortex.ndjson"
    most = sys.maxsize if count is None else count
    asked, found = {name: getattr(wanted, name) for name in ASKED}, []
    with suppress(DaemonDown):
        if not RING < most < sys.maxsize:
            found = [record_of(each) for each in Client(home).stream("logs", last=count, **asked)]
    if found and (count is None or len(found) >= most):
        return found
    first = found[0].seq if found else sys.maxsize
    older = [record for record in tail(path, wanted, last=most) if record.seq < first]
    return [*older, *found][-most:] if most else []


def _refuse_unknown(topic: str | None) -> None:
    """Raise `UnknownTopic` with the ones near it for a name that no record can be about."""
    if topic is None or set(topic) & _WILD:
        return
    try:
        topics.find(topic)
    except UnknownTopic as error:
        near = difflib.get_close_matches(topic, [each.name for each in topics.TOPICS])
        shown = f"; near it: {', '.join(near)}" if near else ""
        raise UnknownTopic(f"{error}{shown}") from None
