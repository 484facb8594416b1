"""Options by which memories are narrowed, the same in every command that finds some."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from cortex_actors.domain.memory import Layer, MemoryType, Realm

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
