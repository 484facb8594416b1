"""Options by which lists of what was learned are narrowed and paged, the same in every command.

Options by which memories are narrowed, the same in every command that finds some.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cortex_actors.domain.insight import (
    ALL,
    NO_DOMAIN,
    SHOWN,
    Category,
    ConflictChoice,
    InsightStatus,
)
from cortex_actors.domain.memory import Layer, MemoryType, Realm
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


_MOMENT = "a date, a time (UTC), or how long ago: 2026-03-01, 7d, '2h ago'"

LayerOption = Annotated[
    list[Layer] | None, typer.Option("--layer", help="How deep it has sunk in; may be repeated.")
]
RealmOption = Annotated[Realm | None, typer.Option(help="Who may read it.")]
AgentOption = Annotated[str | None, typer.Option(metavar="AGENT", help="Who said it.")]
TypeOption = Annotated[MemoryType | None, typer.Option("--type", help="What kind of thing it is.")]
TagsOption = Annotated[
    list[str] | None, typer.Option("--tag", help="A tag it has; repeated: all of them.")
]
ThreadOption = Annotated[str | None, typer.Option(help="The conversation it belongs to.")]
SinceOption = Annotated[str | None, typer.Option(metavar="WHEN", help=f"Not before: {_MOMENT}.")]
UntilOption = Annotated[
    str | None, typer.Option(metavar="WHEN", help="Only from before that moment (as --since).")
]
AttentionOption = Annotated[
    float | None,
    typer.Option("--min-attention", min=0, max=1.5, help="How present it still is, at least."),
]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="WHEN", help="Memories as they were believed then."),
]
AsOption = Annotated[
    str | None, typer.Option("--as", metavar="AGENT", help="See what this agent sees.")
]
TrackOption = Annotated[
    bool, typer.Option(help="Count it as read: what is read often sinks in and fades more slowly.")
]


#: Options -> what the daemon calls them.
_NAMES = {
    "layer": "layers",
    "realm": "realm",
    "agent": "agent",
    "kind": "type",
    "tag": "tags",
    "thread": "thread",
    "since": "since",
    "until": "until",
    "attention": "min_attention",
    "as_of": "as_of",
    "as_agent": "as_agent",
}


def conditions(given: dict[str, Any]) -> dict[str, Any]:
    """Return what the daemon is asked for; what was not given is left out."""
    asked = {name: given.get(name) for name in _NAMES}
    found = {_NAMES[name]: _plain(value) for name, value in asked.items() if value is not None}
    return found if given.get("track", True) else {**found, "track": False}


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever an option holds
    """Return what JSON has for it: a member of a closed set is its word."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, StrEnum) else value
