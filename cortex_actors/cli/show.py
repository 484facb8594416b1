"""`tree`, `topics` and `actor`: the inside, for people."""

from __future__ import annotations

from typing import Annotated

import typer

from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json, show_table
from cortex_actors.client import Client
from cortex_actors.logrecord import visible


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("tree", epilog=examples("cortex tree", "cortex tree --json"))(tree)
    app.command("topics", epilog=examples("cortex topics", "cortex topics --json"))(topics)
    actor = typer.Typer(
        help="Do something to one actor.",
        rich_markup_mode=None,
        epilog=examples("CORTEX_DEBUG=1 cortex start", "cortex actor crash accumulator"),
    )
    actor.command("crash", epilog=examples("cortex actor crash accumulator"))(crash)
    app.add_typer(actor, name="actor")


def tree(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Draw the supervision tree as it is now."""
    found = Client(home).call("tree")
    if as_json:
        show_json(found["root"])
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


def crash(
    name: Annotated[str, typer.Argument(help="The actor's name, as the tree shows it.")],
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Make an actor fail, to see its supervisor start it again; needs CORTEX_DEBUG=1 there."""
    found = Client(home).call("crash", name=name)
    if as_json:
        show_json(found)
        return
    print(f"{name} was told to crash; watch it come back: cortex tree")
