"""`reconcile`, `organise` and `runs`: have the pipeline do something now, and see what it did."""

from __future__ import annotations

from typing import Annotated

import typer

from cortex_actors.cli.blocks import counted
from cortex_actors.cli.output import (
    HomeOption,
    JsonOption,
    examples,
    shortened,
    show_json,
    show_table,
)
from cortex_actors.cli.projects import meant
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import iso


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("reconcile", epilog=examples("cortex reconcile", "cortex reconcile --full"))(
        reconcile
    )
    app.command("organise", epilog=examples("cortex organise"))(organise)
    app.command(
        "runs",
        epilog=examples(
            "cortex runs",
            "cortex runs --failed",
            "cortex runs --kind accumulator --project atlas-api --limit 5",
            "cortex runs --kind digest --json",
        ),
    )(runs)


def reconcile(
    *,
    full: Annotated[
        bool, typer.Option("--full", help="Forget clusters and begin from nothing.")
    ] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Compare insights with one another and weigh all of them anew."""
    found = Client(home).call("reconcile", full=full)
    if as_json:
        show_json(found)
        return
    how = "from nothing" if full else "anew"
    print(f"comparing all insights {how}, seq {found['seq']}; see: cortex runs --kind reconciler")


def organise(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Distil principles now."""
    found = Client(home).call("organise")
    if as_json:
        show_json(found)
        return
    print(f"distilling principles, seq {found['seq']}; see: cortex runs --kind organiser")


def runs(
    *,
    kind: Annotated[
        str | None, typer.Option(help="An actor's name, such as accumulator, or digest.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="A project's name, id or folder.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")] = 20,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what the pipeline did, newest first: each run, what came of it, or why it failed."""
    found = Client(home).call("runs", kind=kind, project=meant(project), failed=failed, limit=limit)
    if as_json:
        show_json(found)
        return
    show_table(
        counted(len(found["runs"]), "run"),
        ("at", "kind", "of", "state", "ms", "what came of it"),
        [_row(run) for run in found["runs"]],
        empty="no run failed" if failed else "nothing was done yet",
    )


def _row(run: Answer) -> tuple[object, ...]:
    """Return a run's line in a table."""
    return (
        iso(run["finished_at"]),
        run["kind"],
        run["path"] or run["project"] or "",
        run["state"],
        round((run["finished_at"] - run["started_at"]) / 1_000, 1),
        shortened(run["error"], 200) if run["error"] else _counts(run["counts"]),
    )


def _counts(counts: dict[str, int]) -> str:
    """Return what was counted and is not nothing; a time says since when."""
    shown = [
        f"since {iso(number)}" if name == "since" else f"{number} {name.replace('_', ' ')}"
        for name, number in counts.items()
        if number
    ]
    return ", ".join(shown) or "nothing new"
