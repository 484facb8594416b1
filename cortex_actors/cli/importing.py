"""`import`: memories from a file, as MemoryCore writes it or as `export --full` does."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cortex_actors.cli.blocks import counted, joined
from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json
from cortex_actors.client.cortex import Cortex
from cortex_actors.client.results import Imported
from cortex_actors.process.logfile import visible

#: Ids that are named of which something else is known.
_NAMED = 5


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "import",
        epilog=examples(
            "cortex import memories.json --dry-run",
            "cortex import memories.json",
            "cortex import everything.jsonl --json",
        ),
    )(import_)


def import_(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="What `cortex export` wrote.")],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Look at everything, and write nothing.")
    ] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Take in the memories of a file that are not there yet.

    All of it is looked at first: one wrong record, and nothing is written. What comes is marked as
    imported, replaces nothing and is merged with nothing; the same file adds nothing again.
    """
    done = Cortex(home).import_from(path, dry_run=dry_run)
    if as_json:
        show_json({name: value for name, value in asdict(done).items() if name != "raw"})
        return
    _show(done)


def _show(done: Imported) -> None:
    """Print what came of it."""
    new = sum(done.added.values())
    verb = "would add" if done.dry_run else "added"
    print(visible(f"{verb} {new:,} of {counted(done.records, 'record')} of {done.path}"))
    facts = [f"{kind} {count:,}" for kind, count in sorted(done.added.items())]
    if done.existing:
        facts.append(f"there already {done.existing:,}")
    if done.redacted:
        facts.append(f"{counted(done.redacted, 'secret')} left out")
    if facts:
        print(joined(facts))
    if done.differing:
        some = ", ".join(done.differing[:_NAMED])
        print(visible(f"left as they are here, though the file says something else: {some}"))
