"""`logs`: what happened, and what happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import typer

from cortex_actors.cli.output import HomeOption, JsonOption, examples
from cortex_actors.client import Client
from cortex_actors.clock import SECOND, SystemClock
from cortex_actors.errors import DaemonDown, UsageError
from cortex_actors.home import Home
from cortex_actors.logrecord import Filter, Record, line, record_of
from cortex_actors.logs import RING, tail

#: Seconds in the units of `--since 10m`.
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "logs",
        epilog=examples(
            "cortex logs",
            "cortex logs -f",
            "cortex logs -n 50 --level warning",
            "cortex logs -f --topic 'file:*'",
            "cortex logs --actor 'watcher*' --since 10m",
            "cortex logs --since 2030-01-31T12:00 --json",
        ),
    )(logs)


def logs(
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    last: Annotated[
        int | None, typer.Option("--last", "-n", min=0, help="How many (default 10).")
    ] = None,
    actor: Annotated[str, typer.Option(help="Only actors of this shell pattern.")] = "*",
    topic: Annotated[str | None, typer.Option(help="Only topics of this shell pattern.")] = None,
    level: Annotated[
        str, typer.Option(help="This or worse: debug, info, warning, error, critical.")
    ] = "debug",
    since: Annotated[
        str | None, typer.Option(help="After 10s, 10m, 2h, 1d, an ISO time, or a seq.")
    ] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show the log: from the daemon, or from its file while it is down."""
    seq, at = moment(since, now=SystemClock().now())
    wanted = Filter(level.lower(), actor, topic, seq, at)
    count = last if last is not None else RING if since else 10
    place = Home.of(home)
    for record in _records(place, wanted, count=count, follow=follow):
        print(record.encoded if as_json else line(record), flush=follow)


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


def _records(home: Home, wanted: Filter, *, count: int, follow: bool) -> Iterator[Record]:
    """Yield records from the daemon, or from the files when it is down or forgot them."""
    if not follow and count > RING:
        yield from tail(home.logs / "cortex.ndjson", wanted, last=count)
        return
    client = Client(home)
    try:
        found = client.stream(
            "logs",
            level=wanted.level,
            actor=wanted.actor,
            since=wanted.since,
            since_at=wanted.since_at,
            last=count,
            follow=follow,
            topic=wanted.topic,
        )
        yield from map(record_of, found)
    except DaemonDown:
        if follow:
            raise
        yield from tail(home.logs / "cortex.ndjson", wanted, last=count)
