"""`recall`: one question to every store."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cortex_actors.cli.found import TIMEOUT, question_of, show_hits, show_lists, show_plain
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
from cortex_actors.cli.projects import meant
from cortex_actors.client.connection import Client

PlainOption = Annotated[bool, typer.Option("--plain", help="Print it as an agent reads it.")]
ExplainOption = Annotated[bool, typer.Option(help="Show how each was found.")]
LimitOption = Annotated[
    int | None, typer.Option(min=1, max=200, help="How many at most; 10 unless told otherwise.")
]
StoresOption = Annotated[
    list[str] | None,
    typer.Option(
        "--store",
        metavar="STORE",
        help="Ask this store and no other: local, a collection (cortex_principles ...), or one of "
        "cortex stores; may be repeated.",
    ),
]
BudgetOption = Annotated[
    int | None, typer.Option(min=1, metavar="TOKENS", help="What the answer may cost a reader.")
]
HopsOption = Annotated[
    int | None,
    typer.Option(min=1, max=4, help="Times to ask; from the second on with what was found."),
]
QuestionArgument = Annotated[
    list[str], typer.Argument(metavar="QUESTION...", help="In plain words.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "recall",
        epilog=examples(
            "cortex recall which port does the test database use",
            'cortex recall "how do we write commit messages" --limit 3',
            "cortex recall 'use \"integration tests\" for what' --explain",
            "cortex recall deploy --agent VAJRA --since 7d --tag release",
            "cortex recall who looks after the queue --store team --hops 2",
            "cortex recall tabs or spaces --json",
        ),
    )(recall)


def recall(
    words: QuestionArgument,
    *,
    limit: LimitOption = None,
    store: StoresOption = None,
    budget_tokens: BudgetOption = None,
    hops: HopsOption = None,
    project: Annotated[str | None, typer.Option(help="A project's name, id or folder.")] = None,
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
    as_agent: AsOption = None,
    track: TrackOption = True,
    explain: ExplainOption = False,
    plain: PlainOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Ask everything that is known, here and in other stores; each answer says whose it is.

    A condition that a kind of thing cannot meet leaves it out: only memories have an agent, a
    realm, a layer or a thread, only insights belong to a project.
    """
    asked: dict[str, Any] = {"query": question_of(words), "project": meant(project)}
    far = {"limit": limit, "stores": store, "budget_tokens": budget_tokens, "hops": hops}
    asked |= {name: value for name, value in far.items() if value is not None}
    what = {"layer": layer, "realm": realm, "agent": agent, "kind": kind, "tag": tag}
    when = {"since": since, "until": until, "attention": attention, "as_of": as_of}
    asked |= conditions({**what, **when, "thread": thread, "as_agent": as_agent, "track": track})
    asked |= {"explain": True} if explain else {}
    _show(Client(home, timeout=TIMEOUT).call("recall", **asked), as_json, plain, explain)


def _show(found: dict[str, Any], as_json: bool, plain: bool, explain: bool) -> None:
    """Print an answer for a program, an agent or a person."""
    if as_json or plain:
        (show_json if as_json else show_plain)(found)
        return
    show_hits(found)
    if explain:
        show_lists(found["hits"])
