"""`stores health | ping`: how stores have been answering, and whether they are there now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.blocks import Block, joined, show_blocks
from cortex_actors.cli.output import (
    HomeOption,
    JsonOption,
    examples,
    shortened,
    show_json,
)
from cortex_actors.client.connection import Client

if TYPE_CHECKING:
    from cortex_actors.client.connection import Answer

#: Seconds that asking all of them may take: each has its own limit, of at most 30.
TIMEOUT = 60.0

#: Characters that a line has for what went wrong, and for one thing a store says of itself.
_LONGEST, _ROOM = 120, 60

#: What a shell gets where a store that was asked is not there.
_ABSENT = 1


def register(group: typer.Typer) -> None:
    """Add the commands to the group."""
    group.command("health", epilog=examples("cortex stores health --json"))(health)
    group.command("ping", epilog=examples("cortex stores ping", "cortex stores ping notes"))(ping)


def health(*, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Show how each store has been answering since the daemon started."""
    found = Client(home).call("store_health")
    if as_json:
        show_json(found)
        return
    blocks = [_entry(each) for each in found["stores"]]
    show_blocks("How stores have been answering", blocks, empty="no store is known")


def ping(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One store; all that are asked.")
    ] = None,
    *,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Ask stores whether they are there, and what they are. The exit code is 1 if one is not."""
    found = Client(home, timeout=TIMEOUT).call("ping_store", name=name)
    if as_json:
        show_json(found)
    else:
        blocks = [_pinged(each) for each in found["stores"]]
        show_blocks("Stores that were asked", blocks, empty="no store beside this one is asked")
    if not all(each["ok"] for each in found["stores"]):
        raise typer.Exit(_ABSENT)


def _entry(store: Answer) -> Block:
    """Return how one store has been answering."""
    if not store["total"]:
        return Block(store["status"], store["name"], ["not asked since the daemon started"])
    times = f"usually {store['latency_ms']:,.1f} ms, at most {store['max_latency_ms']:,.1f} ms"
    facts = [
        f"{store['total']:,} asked, {store['success_rate']:.0%} answered",
        times if store["succeeded"] else None,
    ]
    error = store["last_error"]
    last = f"last failure: {shortened(error, _LONGEST)}" if error else ""
    return Block(store["status"], store["name"], [joined(facts), last])


def _pinged(store: Answer) -> Block:
    """Return what one store said."""
    if not store["ok"]:
        return Block("-", f"{store['name']}: {store['reason']}")
    known = {key: _plain(value) for key, value in (store["says"] or {}).items()}
    says = joined([f"{key} {text}" for key, text in known.items() if text])
    return Block("*", f"{store['name']} answered in {store['ms']:,.0f} ms", [says])


def _plain(value: object) -> str:
    """Return what a store says of itself, cut to what a line has room for; nothing for nothing."""
    if value is None:
        return ""
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if isinstance(value, dict):
        value = ", ".join(f"{key} {each}" for key, each in value.items())
    return shortened(str(value), _ROOM)
