"""`insights`: what was learned."""

from __future__ import annotations

from typing import Annotated

import typer

from cortex_actors.cli.output import (
    HomeOption,
    JsonOption,
    examples,
    places,
    shortened,
    show_json,
    show_table,
)
from cortex_actors.cli.projects import meant
from cortex_actors.client import Answer, Client


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "insights",
        epilog=examples(
            "cortex insights",
            "cortex insights --project atlas-api --limit 5",
            "cortex insights --json",
        ),
    )(insights)


def insights(
    project: Annotated[str | None, typer.Option(help="A project's name, id or folder.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")] = 20,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what was learned from instruction files, surest first."""
    found = Client(home).call("insights", project=meant(project), limit=limit)
    if as_json:
        show_json(found)
        return
    shown = found["insights"]
    show_table(
        f"{len(shown)} of {found['total']} insights",
        ("insight", "category", "sure", "seen", "projects", "read in"),
        [row(insight) for insight in shown],
        empty="nothing was learned yet; follow a project with: cortex init PATH",
    )


def row(insight: Answer) -> tuple[object, ...]:
    """Return an insight's line in a table."""
    return (
        shortened(insight["content"]),
        insight["category"],
        f"{insight['confidence']:.2f}",
        insight["observations"],
        ", ".join(insight["projects"]),
        places(insight["sources"]),
    )
