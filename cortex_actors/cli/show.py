"""`tree` and `topics`: the inside, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json, show_table
from cortex_actors.client.connection import Client
from cortex_actors.process.logfile import visible

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

StatsOption = Annotated[bool, typer.Option("--stats", help="Show every actor's mailbox instead.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("tree", epilog=examples("cortex tree", "cortex tree --stats"))(tree)
    app.command("topics", epilog=examples("cortex topics", "cortex topics --json"))(topics)


def tree(stats: StatsOption = False, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Draw the supervision tree as it is now, or show what every mailbox has seen."""
    found = Client(home).call("tree")
    if as_json:
        show_json(found["root"])
        return
    if stats:
        rows = list(_mailboxes(found["root"]))
        show_table("Mailboxes", ("actor", *COLUMNS), rows, empty="no actor lives")
        return
    print("\n".join(visible(line) for line in found["text"].splitlines()))


def topics(as_json: JsonOption = False) -> None:
    """List the topics that can be published and followed."""
    from cortex_actors.topics import TOPICS  # noqa: PLC0415 - needed here only

    # From the catalogue itself: the daemon need not run for this.
    if as_json:
        show_json([{"name": t.name, "durable": t.durable, "about": t.about} for t in TOPICS])
        return
    rows = [(t.name, "yes" if t.durable else "no", ", ".join(t.heard_by), t.about) for t in TOPICS]
    show_table("Topics", ("topic", "stored", "heard by", "about"), rows, empty="none")


def _mailboxes(node: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each actor of a tree, from top to bottom."""
    detail = node.get("detail") or {}
    if "depth" in detail:
        yield (node["name"], *(_cell(detail.get(key, "")) for key in COLUMNS.values()))
    for child in node.get("children", ()):
        yield from _mailboxes(child)


def _cell(value: object) -> str:
    """Return a number as people read it: milliseconds with one decimal."""
    return f"{value:.1f}" if isinstance(value, float) else str(value)
