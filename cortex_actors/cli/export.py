"""`export`: what is remembered, as a file that another home or another program can read."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from cortex_actors.cli.blocks import counted, joined
from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json
from cortex_actors.client.cortex import Cortex
from cortex_actors.client.results import Exported
from cortex_actors.errors import BadInput
from cortex_actors.process.logfile import visible

#: Collections of MemoryCore's, by what people may call them.
_REALMS = ("private", "village", "bridge")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "export",
        epilog=examples(
            "cortex export -o memories.json",
            "cortex export --agent AZOTH --realm private -o azoth.json",
            "cortex export --full -o everything.jsonl",
            "cortex export | jq '.metadata'",
        ),
    )(export)


def export(
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file (default: standard output).")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Only what this agent said.")] = None,
    realm: Annotated[str | None, typer.Option(help="Only private, village or bridge.")] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Our own form: with what was merged, replaced, archived, and what was done.",
        ),
    ] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Write what is remembered into a file, as MemoryCore's JSON, or in full.

    With an agent's token (CORTEX_TOKEN) it holds what that agent may read. The daemon's own copy of
    everything is `cortex backup`.
    """
    if realm not in {None, *_REALMS}:
        raise BadInput(f"no realm is called {realm!r}; there are {', '.join(_REALMS)}")
    chosen: dict[str, Any] = {"full": full, "agent": agent, "realm": realm}
    if output is not None:
        _show(Cortex(home).export_to(output, **chosen), as_json=as_json)
        return
    # Not written to a person's terminal or pipe before all of it could be had.
    with tempfile.TemporaryDirectory(prefix="cortex-export-") as folder:
        Cortex(home).export_to(whole := Path(folder, "memories"), **chosen)
        with whole.open(encoding="utf-8") as file:
            shutil.copyfileobj(file, sys.stdout)


def _show(done: Exported, *, as_json: bool) -> None:
    """Print what was written."""
    if as_json:
        show_json({"path": done.path, "format": done.format, "records": dict(done.records)})
        return
    total = counted(sum(done.records.values()), "record")
    print(visible(f"exported {total} to {done.path}"))
    print(joined(f"{kind} {count:,}" for kind, count in sorted(done.records.items())))
