"""Options by which lists of what was learned are narrowed and paged, the same in every command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from cortex_actors.domain.insight import (
    ALL,
    NO_DOMAIN,
    SHOWN,
    Category,
    ConflictChoice,
    InsightStatus,
)
from cortex_actors.domain.project import StatementKind

_STATUSES = f"{SHOWN} (active and contradicted), {ALL}, {', '.join(InsightStatus)}"


def one_of(*known: str) -> Callable[[str], str]:
    """Return what lets a word pass that is among those known, and refuses any other one."""

    def check(value: str) -> str:
        if value not in known:
            message = f"{value!r} is not one of {', '.join(known)}"
            raise typer.BadParameter(message)
        return value

    return check


ProjectOption = Annotated[str | None, typer.Option(help="A project's name, id or folder.")]
DomainOption = Annotated[
    str | None, typer.Option(help=f"A field such as python; {NO_DOMAIN}: of no known one.")
]
StatusOption = Annotated[
    str, typer.Option(help=f"One of {_STATUSES}.", callback=one_of(SHOWN, ALL, *InsightStatus))
]
CategoryOption = Annotated[Category | None, typer.Option(help="What kind of thing it says.")]
KindOption = Annotated[StatementKind | None, typer.Option(help="What it does there.")]
TagOption = Annotated[str | None, typer.Option(help="A tag such as testing.")]
SureOption = Annotated[
    float | None, typer.Option("--min-confidence", min=0, max=1, help="Believed so far at least.")
]
BelowOption = Annotated[
    Path | None, typer.Option("--in", help="Only what this file, or folder, says.")
]
ConflictOption = Annotated[
    ConflictChoice | None,
    typer.Option("--type", help="How far the two conflict (direct and partial)."),
]
SizeOption = Annotated[int, typer.Option("--min-size", min=1, help="Members at least.")]
CoherenceOption = Annotated[
    float | None, typer.Option("--min-coherence", min=0, max=1, help="Mean cosine at least.")
]
LimitOption = Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")]
SkipOption = Annotated[int, typer.Option(min=0, help="How many to leave out first.")]
Words = Annotated[
    list[str] | None, typer.Argument(metavar="[WORD...]", help="Words that all occur in one.")
]
