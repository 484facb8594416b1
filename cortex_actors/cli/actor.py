"""`inspect` and `actor crash`: one actor, or one supervisor, closely."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json
from cortex_actors.client.connection import Client
from cortex_actors.clock import iso
from cortex_actors.process.logfile import visible

#: Columns of the names at the left.
_WIDTH = 13

NameArgument = Annotated[str, typer.Argument(help="Its name, as the tree shows it.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    epilog = examples("cortex inspect accumulator", "cortex inspect pipeline --json")
    app.command("inspect", epilog=epilog)(inspect)
    actor = typer.Typer(
        help="Do something to one actor.",
        rich_markup_mode=None,
        epilog=examples("CORTEX_DEBUG=1 cortex start", "cortex actor crash accumulator"),
    )
    actor.command("crash", epilog=examples("cortex actor crash accumulator"))(crash)
    app.add_typer(actor, name="actor")


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
    print(f"{name} was told to crash; watch it come back: cortex tree")


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
