"""`events`: what was said, who has still to handle it, and what becomes of dead letters.

`inspect` and `actor crash`: one actor, or one supervisor, closely.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from cortex_actors.cli.output import (
    HomeOption,
    JsonOption,
    examples,
    shortened,
    show_json,
    show_table,
)
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import iso
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible

Names = list[str]

#: What stands for every dead letter.
ALL = ["all"]

#: Said where a dead letter was looked for.
NO_DEAD = "there are no dead letters"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "events",
        epilog=examples(
            "cortex daemon events",
            "cortex daemon events --topic 'file:*' --limit 50",
            "cortex daemon events --dead",
            "cortex daemon events --id 21",
            "cortex daemon events --replay 21",
            "cortex daemon events --replay all",
            "cortex daemon events --discard evt_01M806R9PZAY78CBPJFYBR0AVQ",
        ),
    )(events)


def events(
    *,
    topic: Annotated[str | None, typer.Option(help="Only topics of this shell pattern.")] = None,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="Only what somebody has yet to handle.")
    ] = False,
    dead: Annotated[
        bool, typer.Option("--dead", help="Only dead letters: tried too often.")
    ] = False,
    since: Annotated[int, typer.Option(min=0, help="Only after this seq.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")] = 20,
    name: Annotated[
        str | None,
        typer.Option("--id", help="Show one, by id or seq, with its payload and tracebacks."),
    ] = None,
    replay: Annotated[
        Names | None, typer.Option(help="Try a dead letter anew, by id or seq; or all.")
    ] = None,
    discard: Annotated[
        Names | None, typer.Option(help="Drop a dead letter for good, by id or seq; or all.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do discard all of them.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List the newest stored events, or decide about those that could not be handled."""
    if sum(bool(given) for given in (name, replay, discard)) > 1:
        raise UsageError("say one of --id, --replay, --discard; see: cortex daemon events --help")
    replay, discard = _named(replay, "--replay"), _named(discard, "--discard")
    _refuse_stray(discard, yes=yes)
    client = Client(home)
    if replay or discard:
        _decide(client, replay, discard, as_json=as_json)
    elif name:
        _show(client.call("event", event=name), as_json=as_json)
    else:
        found = client.call(
            "events", topic=topic, waiting=waiting, dead=dead, since=since, limit=limit
        )
        empty = _nothing(waiting=waiting, dead=dead, narrowed=bool(topic or since))
        _list(found, empty, as_json=as_json)


def _list(found: Answer, empty: str, *, as_json: bool) -> None:
    """Print events, newest first."""
    if as_json:
        show_json(found)
        return
    show_table(
        f"{found['waiting']} deliveries wait, {found['dead']} are dead letters",
        ("seq", "at", "topic", "from", "state"),
        [
            (
                each["seq"],
                iso(each["at"]),
                each["topic"],
                shortened(each["source"], 40),
                _state(each),
            )
            for each in found["events"]
        ],
        empty=empty,
    )


def _nothing(*, waiting: bool, dead: bool, narrowed: bool) -> str:
    """Return what is said where no event is listed."""
    if narrowed:
        return "no such event is stored"
    if waiting and dead:
        return "nothing waits, and there are no dead letters"
    return "nothing waits" if waiting else NO_DEAD if dead else "no event is stored"


def _show(found: Answer, *, as_json: bool) -> None:
    """Print one event whole."""
    if as_json:
        show_json(found)
        return
    rows = [(key, str(found[key])) for key in ("seq", "id", "topic", "source")]
    rows.append(("at", iso(found["at"])))
    if found["idempotency_key"] is not None:
        rows.append(("key", found["idempotency_key"]))
    rows += [("state", _stage(each)) for each in found["consumers"]] or [("state", "handled")]
    payload = found["payload"]
    # As it is stored where it is no JSON: quoted, it would look like a text that somebody said.
    rows.append(("payload", payload if isinstance(payload, str) else json.dumps(payload)))
    for key, value in rows:
        print(visible(f"{key:<9}{value}"))
    for each in found["consumers"]:
        for line in (each["error"] or "").splitlines():
            print(visible(f"{each['consumer']}: {line}"))


def _decide(client: Client, replay: Names, discard: Names, *, as_json: bool) -> None:
    """Replay or discard dead letters, and say how many."""
    if replay:
        found, done = client.call("replay", events=replay)["replayed"], "put back"
    else:
        found, done = client.call("discard", events=discard)["discarded"], "discarded"
    if as_json:
        show_json(found)
        return
    for each in found:
        print(f"{done} {each['seq']} for {each['consumer']}")
    if not found:
        print(NO_DEAD)


def _named(names: Names | None, option: str) -> Names:
    """Return the events that an option names. Raises `UsageError` for `all` beside others."""
    named = list(dict.fromkeys(names or []))
    if len(named) > 1 and "all" in named:
        raise UsageError(f"{option} all means every dead letter: name no other beside it")
    return named


def _refuse_stray(discard: Names, *, yes: bool) -> None:
    """Raise `UsageError` for `--discard all` or `--yes` without the other."""
    if discard == ALL and not yes:
        raise UsageError("--discard all drops every dead letter for good: say --yes, too")
    if yes and discard != ALL:
        raise UsageError("--yes only says that --discard all is meant: leave it out")


def _state(event: dict[str, Any]) -> str:
    """Return who has still to handle an event, a line each; or that it is handled."""
    return "\n".join(_standing(each) for each in event["consumers"]) or "handled"


def _standing(each: dict[str, Any]) -> str:
    """Return how one consumer stands to an event, and how its last attempt failed."""
    return f"{_stage(each)}: {_last(each)}" if each["attempts"] else _stage(each)


def _stage(each: dict[str, Any]) -> str:
    """Return how far one consumer came with an event."""
    tried = f"{each['attempts']} attempt{'s' * (each['attempts'] != 1)}"
    if each["state"] == "dead":
        return f"dead for {each['consumer']} after {tried} at {iso(each['at'])}"
    if not each["attempts"]:
        return f"waiting for {each['consumer']}"
    return f"waiting for {each['consumer']}, {tried}, next not before {iso(each['at'])}"


def _last(each: dict[str, Any]) -> str:
    """Return the last line of a traceback."""
    lines = (each["error"] or "").strip().splitlines()
    return shortened(lines[-1], 200) if lines else "no traceback"


#: Columns of the names at the left.
_WIDTH = 13

NameArgument = Annotated[str, typer.Argument(help="Its name, as the tree shows it.")]


def register_actor(app: typer.Typer) -> None:
    """Add the commands."""
    epilog = examples("cortex debug inspect accumulator", "cortex debug inspect pipeline --json")
    app.command("inspect", epilog=epilog)(inspect)
    crashing = examples("CORTEX_DEBUG=1 cortex start", "cortex debug crash accumulator")
    app.command("crash", epilog=crashing)(crash)


def inspect(name: NameArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Show what an actor has in hand, for how long and where; or how a supervisor is."""
    found = Client(home).call("inspect", name=name)
    if as_json:
        show_json(found)
        return
    rows = _supervisor(found) if found["kind"] == "supervisor" else _actor(found)
    for title, text in rows:
        print(visible(f"{title:<{_WIDTH}}{text}").rstrip())


def crash(name: NameArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Make an actor fail, to see its supervisor start it again; needs CORTEX_DEBUG=1 there."""
    found = Client(home).call("crash", name=name)
    if as_json:
        show_json(found)
        return
    print(f"{name} was told to crash; watch it come back: cortex debug tree")


def _actor(found: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the lines of an actor."""
    kind = f"{found['class']}, " if "class" in found else ""
    yield "actor", f"{found['name']}: {kind}{found['state']}, below {found['supervisor']}"
    if "started_at" in found:
        yield "lives", f"since {iso(found['started_at'])}, {found['lived_s']:.1f} s"
    yield "restarts", found["restarts"]
    if "mailbox" in found:
        yield "mailbox", _mailbox(found["mailbox"], found["handled"])
        yield from _hands("in hand", found["in_hand"], "nothing")
        yield from _hands("tasks", found["tasks"], "none")
    yield from _last_crash(found)


def _supervisor(found: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the lines of a supervisor."""
    above = f", below {found['supervisor']}" if found["supervisor"] else ""
    yield "supervisor", f"{found['name']}: {found['strategy']}, {found['state']}{above}"
    yield "restarts", found["restarts"]
    title = "children"
    for child in found["children"]:
        restarts = f", restarts {child['restarts']}" if child["restarts"] else ""
        yield title, f"{child['name']}: {child['kind']}, {child['state']}{restarts}"
        title = ""
    title = "restarted"
    for each in reversed(found["recent_restarts"]):
        yield title, f"{iso(each['at'])} {each['child']}"
        title = ""
    yield from _last_crash(found)


def _mailbox(stats: dict[str, Any], handled: int) -> str:
    """Return a mailbox's numbers."""
    return (
        f"{stats['depth']} waiting, {stats['high']} at most, of {stats['limit'] or 'any number'} "
        f"({stats['overflow']}); {handled} handled, {stats['dropped']} dropped; "
        f"waits {stats['waited_ms']:.1f} ms, {stats['longest_ms']:.1f} ms at most"
    )


def _hands(title: str, hands: list[dict[str, Any]], nothing: str) -> Iterator[tuple[str, object]]:
    """Yield what is in hand, each with its stack below it, innermost last."""
    if not hands:
        yield title, nothing
    for hand in hands:
        limit = f" of {hand['limit']:g} s" if hand["limit"] else ""
        yield title, f"{hand['title']}, for {hand['seconds']:.1f} s{limit}"
        yield from (("", f"  {line}") for line in hand["stack"])
        title = ""


def _last_crash(found: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the last crash, if there was one."""
    if last := found["last_crash"]:
        yield "last crash", f"{iso(last['at'])} {last['reason']}"
