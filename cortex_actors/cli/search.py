"""`search`: one question to the memories alone, those of another time as well."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cortex_actors.cli.found import (
    NO_MEMORIES,
    TIMEOUT,
    question_of,
    show_hits,
    show_lists,
    show_plain,
)
from cortex_actors.cli.narrowed import (
    AgentOption,
    AsOfOption,
    AsOption,
    AttentionOption,
    LayerOption,
    RealmOption,
    SinceOption,
    TagsOption,
    ThreadOption,
    TrackOption,
    TypeOption,
    UntilOption,
    conditions,
)
from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json
from cortex_actors.cli.recall import ExplainOption, PlainOption, QuestionArgument
from cortex_actors.client.connection import Client

OriginalOption = Annotated[
    bool,
    typer.Option("--original", help="What was said, not what was made of it; active or not."),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "search",
        epilog=examples(
            "cortex search who owns the release",
            "cortex search deploy --agent VAJRA --realm village --since 7d",
            "cortex search 'test database' --layer long_term --layer cortex --min-attention 0.3",
            "cortex search port --as-of 2026-03-01",
            "cortex search port --original --plain",
        ),
    )(search)


def search(
    words: QuestionArgument,
    *,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 10,
    layer: LayerOption = None,
    realm: RealmOption = None,
    agent: AgentOption = None,
    kind: TypeOption = None,
    tag: TagsOption = None,
    thread: ThreadOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    attention: AttentionOption = None,
    as_of: AsOfOption = None,
    original: OriginalOption = False,
    as_agent: AsOption = None,
    track: TrackOption = True,
    explain: ExplainOption = False,
    plain: PlainOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Ask the memories, of now or of another time."""
    asked: dict[str, Any] = {"query": question_of(words), "limit": limit}
    what = {"layer": layer, "realm": realm, "agent": agent, "kind": kind, "tag": tag}
    when = {"since": since, "until": until, "attention": attention, "as_of": as_of}
    asked |= conditions({**what, **when, "thread": thread, "as_agent": as_agent, "track": track})
    asked |= {"explain": True} if explain else {}
    asked |= {"original_only": True} if original else {}
    found = Client(home, timeout=TIMEOUT).call("search", **asked)
    if as_json:
        show_json(found)
        return
    if plain:
        show_plain(found)
        return
    show_hits(found, NO_MEMORIES)
    if explain:
        show_lists(found["hits"])
