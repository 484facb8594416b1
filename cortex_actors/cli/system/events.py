"""`events`: what was said, who has still to handle it, and what becomes of dead letters.

`inspect` and `actor crash`: one actor, or one supervisor, closely.

`logs`: what happened, and what happens.

Following the log: what was shown last is a number, from which a reader goes on after the daemon's
end, so that each record is shown once.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

from cortex_actors.cli import show
from cortex_actors.cli.declare import HomeOption, JsonOption, Option, Preset, command, shows
from cortex_actors.cli.lifecycle import suggest_topics
from cortex_actors.cli.show import shorten
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import SECOND, SystemClock, iso
from cortex_actors.errors import DaemonDown, DeadlineExceeded, UnknownTopic, UsageError
from cortex_actors.home import Home
from cortex_actors.process.logfile import (
    Filter,
    LogEntry,
    find_last_number,
    format_line,
    make_record,
)
from cortex_actors.process.logs import RING, read_tail
from cortex_actors.topics import TOPICS, find

#: What of a filter the daemon is asked for.
ASKED = ("level", "actor", "topic", "since", "since_at")


def follow_log(home: Home, wanted: Filter, *, last: int | None) -> Iterator[LogEntry]:
    """Yield the `last` records that pass, and new ones until the daemon stops.

    `last` None begins with all since when they are wanted. Raises `DaemonDown` when no daemon
    answers and when one is killed, and `DeadlineExceeded`; both name the record to go on after.
    """
    seen = find_last_number(home.logs / "cortex.ndjson")
    Client(home).find_pid()
    try:
        for record in _stream(home, wanted, last=last, follow=True):
            # One that says how many are missing has no number.
            seen = record.seq or seen
            yield record
    except (DaemonDown, DeadlineExceeded) as error:
        what = str(error)
        if isinstance(error, DaemonDown):
            what = f"the daemon for {home.root} ended without a word while its log was followed"
        message = f"{what}; go on with: cortex logs -f --since {seen}"
        raise type(error)(message) from error


def _stream(home: Home, wanted: Filter, *, last: int | None, follow: bool) -> Iterator[LogEntry]:
    """Return records as the daemon gives them."""
    asked = {name: getattr(wanted, name) for name in ASKED}
    return map(make_record, Client(home).stream("logs", last=last, follow=follow, **asked))


#: Records that are shown, unless asked otherwise.
LAST = 10

#: Seconds in the units of `--since 10m`.
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@command(
    "daemon logs",
    "",
    "-f",
    "-n 50 --level warning",
    "-f --topic 'file:*'",
    "--actor 'watcher*' --since 10m",
    "--since 2030-01-31T12:00 --json",
)
def logs(
    *,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
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
    try:
        # A name that no record can be about; a pattern may be about any.
        if topic is not None and not set(topic) & set("*?["):
            find(topic)
    except UnknownTopic as error:
        raise UnknownTopic(f"{error}{suggest_topics(topic or '', to_say=False)}") from None
    seq, at = parse_moment(since, now=SystemClock().now())
    wanted = Filter(level.lower(), actor, topic, seq, at)
    count = last if last is not None or since else LAST
    place = Home.find(home)
    read = follow_log(place, wanted, last=count) if follow else _records(place, wanted, count=count)
    for record in read:
        print(record.encoded if as_json else format_line(record), flush=follow)


def parse_moment(text: str | None, *, now: int) -> tuple[int, int]:
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


def _records(home: Home, wanted: Filter, *, count: int | None) -> list[LogEntry]:
    """Return records from the daemon, and from the files what it does not remember.

    Without a daemon all of them come from the files.
    """
    path = home.logs / "cortex.ndjson"
    most = sys.maxsize if count is None else count
    found: list[LogEntry] = []
    with suppress(DaemonDown):
        if not RING < most < sys.maxsize:
            found = [*_stream(home, wanted, last=count, follow=False)]
    if found and (count is None or len(found) >= most):
        return found
    first = found[0].seq if found else sys.maxsize
    older = [record for record in read_tail(path, wanted, last=most) if record.seq < first]
    return [*older, *found][-most:] if most else []


#: Means every dead letter.
ALL = ["all"]

#: Said where a dead letter was looked for.
NO_DEAD = "there are no dead letters"


def show_events(found: Any, given: Answer) -> None:  # noqa: ANN401 - an answer, or a list
    """Print events, newest first; one of them whole, or what was done with dead letters."""
    if isinstance(found, list):
        done = "put back" if given["replay"] else "discarded"
        show.lines(*(f"{done} {each['seq']} for {each['consumer']}" for each in found))
        show.lines(None if found else NO_DEAD)
    elif given["name"]:
        _show(found)
    else:
        rows = []
        for each in found["events"]:
            state = "\n".join(map(_standing, each["consumers"])) or "handled"
            source = shorten(each["source"], 40)
            rows.append((each["seq"], iso(each["at"]), each["topic"], source, state))
        title = f"{found['waiting']} deliveries wait, {found['dead']} are dead letters"
        show.table(title, ("seq", "at", "topic", "from", "state"), rows, empty=_nothing(given))


def _nothing(given: Answer) -> str:
    """Return what is said where no event is listed."""
    waiting, dead = given["waiting"], given["dead"]
    if given["topic"] or given["since"]:
        return "no such event is stored"
    if waiting and dead:
        return "nothing waits, and there are no dead letters"
    return "nothing waits" if waiting else NO_DEAD if dead else "no event is stored"


@command(
    "daemon events",
    "",
    "--topic 'file:*' --limit 50",
    "--dead",
    "--id 21",
    "--replay 21",
    "--replay all",
    "--discard evt_01M806R9PZAY78CBPJFYBR0AVQ",
    show=show_events,
    asks="daemon.events",
    name=Option("--id", help="Show one, by id or seq, with its payload and tracebacks."),
    replay=Option(many=True, help="Try a dead letter again, by id or seq; or all."),
    discard=Option(many=True, help="Drop a dead letter for good, by id or seq; or all."),
    yes=Preset(help="Do discard all of them."),
)
def events(
    client: Client,
    *,
    name: str | None,
    replay: list[str] | None,
    discard: list[str] | None,
    yes: bool,
    **wanted: object,
) -> Any:  # noqa: ANN401 - JSON: a list of what was done
    """List the newest stored events, or decide about those that could not be handled."""
    if sum(map(bool, (name, replay, discard))) > 1:
        raise UsageError("say one of --id, --replay, --discard; see: cortex daemon events --help")
    replay, discard = _named(replay, "--replay"), _named(discard, "--discard")
    if discard == ALL and not yes:
        raise UsageError("--discard all drops every dead letter for good: say --yes, too")
    if yes and discard != ALL:
        raise UsageError("--yes only says that --discard all is meant: leave it out")
    if replay or discard:
        verb = "replay" if replay else "discard"
        return client.call(verb, events=replay or discard)[f"{verb}ed"]
    if name:
        return client.call("event", event=name)
    return client.call("events", **wanted)


def _show(found: Answer) -> None:
    """Print one event whole."""
    rows = [(key, str(found[key])) for key in ("seq", "id", "topic", "source")]
    rows.append(("at", iso(found["at"])))
    if found["idempotency_key"] is not None:
        rows.append(("key", found["idempotency_key"]))
    rows += [("state", _stage(each)) for each in found["consumers"]] or [("state", "handled")]
    payload = found["payload"]
    # As it is stored where it is no JSON: quoted, it would look like a text that was said.
    rows.append(("payload", payload if isinstance(payload, str) else json.dumps(payload)))
    show.lines(*(f"{key:<9}{value}" for key, value in rows))
    for each in found["consumers"]:
        lines = (each["error"] or "").splitlines()
        show.lines(*(f"{each['consumer']}: {line}" for line in lines))


def _named(names: list[str] | None, option: str) -> list[str]:
    """Return the events that an option names. Raises `UsageError` for `all` beside others."""
    named = list(dict.fromkeys(names or []))
    if len(named) > 1 and "all" in named:
        raise UsageError(f"{option} all means every dead letter: name no other beside it")
    return named


def _standing(each: dict[str, Any]) -> str:
    """Return how far one consumer is with an event, and how its last attempt failed."""
    if not each["attempts"]:
        return _stage(each)
    lines = (each["error"] or "").strip().splitlines()
    return f"{_stage(each)}: {shorten(lines[-1], 200) if lines else 'no traceback'}"


def _stage(each: dict[str, Any]) -> str:
    """Return how far one consumer came with an event."""
    tried = f"{each['attempts']} attempt{'s' * (each['attempts'] != 1)}"
    if each["state"] == "dead":
        return f"dead for {each['consumer']} after {tried} at {iso(each['at'])}"
    if not each["attempts"]:
        return f"waiting for {each['consumer']}"
    return f"waiting for {each['consumer']}, {tried}, next not before {iso(each['at'])}"


#: Columns of the names at the left.
_WIDTH = 13


@shows("debug inspect", "accumulator", "pipeline --json", asks="debug.actor")
def show_inside(found: Answer) -> None:
    """Print what an actor works on, or how a supervisor is."""
    rows = [*(_supervisor(found) if found["kind"] == "supervisor" else _actor(found))]
    if last := found["last_crash"]:
        rows.append(("last crash", f"{iso(last['at'])} {last['reason']}"))
    show.lines(*(f"{title:<{_WIDTH}}{text}".rstrip() for title, text in rows))


@shows("debug crash", "CORTEX_DEBUG=1 cortex start", "accumulator")
def show_crashed(found: Answer) -> None:
    """Print which actor is made to crash."""
    print(f"{found['crashed']} crashes now; watch it come back: cortex debug tree")


def _actor(found: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the lines of an actor."""
    kind = f"{found['class']}, " if "class" in found else ""
    yield "actor", f"{found['name']}: {kind}{found['state']}, below {found['supervisor']}"
    if "started_at" in found:
        yield "lives", f"since {iso(found['started_at'])}, {found['lived_s']:.1f} s"
    yield "restarts", found["restarts"]
    if stats := found.get("mailbox"):
        full = f"of {stats['limit'] or 'any number'} ({stats['overflow']})"
        done = f"{found['handled']} handled, {stats['dropped']} dropped"
        waits = f"waits {stats['waited_ms']:.1f} ms, {stats['longest_ms']:.1f} ms at most"
        counts = f"{stats['depth']} waiting, {stats['high']} at most, {full}"
        yield "mailbox", f"{counts}; {done}; {waits}"
        yield from _hands("working on", found["in_hand"], "nothing")
        yield from _hands("tasks", found["tasks"], "none")


def _supervisor(found: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the lines of a supervisor."""
    above = f", below {found['supervisor']}" if found["supervisor"] else ""
    yield "supervisor", f"{found['name']}: {found['strategy']}, {found['state']}{above}"
    yield "restarts", found["restarts"]
    for number, child in enumerate(found["children"]):
        restarts = f", restarts {child['restarts']}" if child["restarts"] else ""
        text = f"{child['name']}: {child['kind']}, {child['state']}{restarts}"
        yield "" if number else "children", text
    for number, each in enumerate(reversed(found["recent_restarts"])):
        yield "" if number else "restarted", f"{iso(each['at'])} {each['child']}"


def _hands(title: str, hands: list[dict[str, Any]], nothing: str) -> Iterator[tuple[str, object]]:
    """Yield what an actor works on, each with its stack below it, innermost last."""
    if not hands:
        yield title, nothing
    for each in hands:
        limit = f" of {each['limit']:g} s" if each["limit"] else ""
        yield title, f"{each['title']}, for {each['seconds']:.1f} s{limit}"
        yield from (("", f"  {line}") for line in each["stack"])
        title = ""


#: Columns of `tree --stats`, and what they are called in the daemon's answer.
COLUMNS = {
    "waiting": "depth",
    "most": "high",
    "limit": "limit",
    "when full": "overflow",
    "dropped": "dropped",
    "handled": "handled",
    "waited ms": "waited_ms",
    "longest ms": "longest_ms",
}


@command(
    "debug",
    "tree",
    "runs --failed",
    is_group=True,
    about="Look inside: actors, topics, runs, parsing.",
)
@command("debug tree", "", "--stats")
def tree(
    stats: Annotated[bool, Option(help="Show every actor's mailbox instead.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Draw the supervision tree as it is now, or show what every mailbox has seen.

    Below the mailboxes is how the vectors of questions were compared.
    """
    found = Client(home).call("tree")
    if as_json:
        show.json(found["root"])
        return
    if stats:
        rows, ways = [], []
        for name, seen in _details(found["root"]):
            if "depth" in seen:
                rows.append((name, *(_cell(seen.get(key, "")) for key in COLUMNS.values())))
                ways += seen.get("searches", {}).items()
        show.table("Mailboxes", ("actor", *COLUMNS), rows, empty="no actor lives")
        counts = ", ".join(f"{count:,} {way}" for way, count in sorted(ways))
        show.lines(f"Searches by meaning: {counts}" if ways else None)
        return
    show.lines(*found["text"].splitlines())


@command("debug topics", "", "--json")
def topics(as_json: JsonOption = False) -> None:
    """List the topics that can be published and followed."""
    # From the catalogue itself: the daemon need not run for this.
    if as_json:
        show.json([{"name": t.name, "durable": t.durable, "about": t.about} for t in TOPICS])
        return
    rows = [(t.name, "yes" if t.durable else "no", ", ".join(t.heard_by), t.about) for t in TOPICS]
    show.table("Topics", ("topic", "stored", "heard by", "about"), rows, empty="none")


def _details(node: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names of a tree with what is known of each, from top to bottom."""
    yield node["name"], node.get("detail") or {}
    for child in node.get("children", ()):
        yield from _details(child)


def _cell(value: object) -> str:
    """Return a number as people read it: milliseconds with one decimal."""
    return f"{value:.1f}" if isinstance(value, float) else str(value)
