"""`post`: what an agent says to the others."""

from __future__ import annotations

from typing import Annotated

import typer

from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json
from cortex_actors.client.connection import Client
from cortex_actors.domain.memory import MemoryType, Realm

AgentOption = Annotated[
    str | None, typer.Option(metavar="AGENT", help="Who says it (default: memory.agent).")
]
RedactOption = Annotated[
    bool, typer.Option("--redact", help="Mask secrets where they else refuse the text.")
]
RealmOption = Annotated[Realm, typer.Option("--realm", "--visibility", help="Who may read it.")]
TypeOption = Annotated[MemoryType, typer.Option("--type", help="What kind of thing it is.")]
ThreadOption = Annotated[str | None, typer.Option(help="The conversation it belongs to.")]
ReplyOption = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="A post it answers; may be repeated.")
]
ToOption = Annotated[
    list[str] | None,
    typer.Option(metavar="AGENT", help="Whom it is about; of a bridge, who may read it."),
]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", "--tags", help="A tag; may be repeated.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "post",
        epilog=examples(
            'cortex post "The test database listens on port 5433." --thread databases',
            "cortex post Agreed. --agent VAJRA --reply-to mem_01HZ...",
            'cortex post "Read my notes first." --realm bridge --to KETHER',
        ),
    )(post)


def post(
    words: Annotated[list[str], typer.Argument(metavar="TEXT...", help="What is said.")],
    *,
    agent: AgentOption = None,
    realm: RealmOption = Realm.VILLAGE,
    kind: TypeOption = MemoryType.DIALOGUE,
    thread: ThreadOption = None,
    reply_to: ReplyOption = None,
    to: ToOption = None,
    tag: TagOption = None,
    redact: RedactOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Say something to the other agents: to all in the village, or on a bridge to some."""
    found = Client(home).call(
        "post",
        content=" ".join(words),
        realm=str(realm),
        agent=agent,
        type=str(kind),
        thread=thread,
        responding_to=reply_to or [],
        related_agents=to or [],
        tags=tag or [],
        redact=redact,
    )
    if as_json:
        show_json(found)
        return
    said_before = found["state"] == "existing"
    print(f"said there before: {found['id']}" if said_before else found["message"])
