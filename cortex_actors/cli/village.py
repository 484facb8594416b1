"""`post`: what an agent says to the others.

`thread`, `threads` and `village`: what agents say to one another, and how much it is.

`convergence`: what several agents say alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cortex_actors.cli.filters import AsOption, LimitOption, SkipOption
from cortex_actors.cli.output import (
    Block,
    HomeOption,
    JsonOption,
    counted,
    examples,
    joined,
    nothing,
    show_blocks,
    show_facts,
    show_json,
    when,
)
from cortex_actors.client.connection import Client
from cortex_actors.domain.memory import MemoryType, Realm

if TYPE_CHECKING:
    from cortex_actors.client.connection import Answer


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
            'cortex agents post "The test database listens on port 5433." --thread databases',
            "cortex agents post Agreed. --agent VAJRA --reply-to mem_01HZ...",
            'cortex agents post "Read my notes first." --realm bridge --to KETHER',
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


def register_threads(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "thread",
        epilog=examples(
            "cortex agents thread databases", "cortex agents thread databases --as KETHER"
        ),
    )(thread)
    app.command(
        "threads", epilog=examples("cortex agents threads", "cortex agents threads --json")
    )(threads)
    app.command("village", epilog=examples("cortex agents village"))(village)


def thread(
    name: Annotated[str, typer.Argument(metavar="THREAD", help="What the thread is called.")],
    *,
    limit: LimitOption = 200,
    as_agent: AsOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Read a conversation: what was said in the village and on bridges, in its order."""
    found = Client(home).call("thread", thread=name, limit=limit, as_agent=as_agent)
    if as_json:
        show_json(found)
        return
    shown = len(found["messages"])
    title = f"{shown} of {counted(found['total'], 'post')} in {found['thread']}"
    places = {each["id"]: number for number, each in enumerate(found["messages"], 1)}
    show_blocks(title, [_message(each, places) for each in found["messages"]], empty="")


def threads(
    *,
    limit: LimitOption = 50,
    skip: SkipOption = 0,
    as_agent: AsOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List the conversations, the one that was spoken in last first."""
    found = Client(home).call("threads", limit=limit, skip=skip, as_agent=as_agent)
    if as_json:
        show_json(found)
        return
    entries = [
        Block(
            f"{each['posts']:,}",
            each["thread"],
            [joined([", ".join(each["agents"]), f"last {when(each['last_at'])}"])],
        )
        for each in found["threads"]
    ]
    title = f"{len(entries)} of {counted(found['total'], 'thread')}, with their posts"
    empty = nothing(
        found["total"], "nobody has posted in a thread yet; see: cortex agents post --help"
    )
    show_blocks(title, entries, empty=empty)


def village(
    *, as_agent: AsOption = None, as_json: JsonOption = False, home: HomeOption = None
) -> None:
    """Say how much agents have told one another, and what they agree on."""
    found = Client(home).call("village_stats", as_agent=as_agent)
    if as_json:
        show_json(found)
        return
    agreed = found["convergences"]
    show_facts(
        [
            ("posts", f"{found['total']:,}"),
            ("by realm", _counts(found["by_realm"])),
            ("by agent", _counts(found["by_agent"])),
            ("by type", _counts(found["by_type"])),
            ("threads", f"{found['threads']:,}"),
            ("harmonies", f"{agreed['HARMONY']:,}"),
            ("consensuses", f"{agreed['CONSENSUS']:,}"),
            ("to compare", f"{found['waiting']:,}" if found.get("waiting") else ""),
        ]
    )


def _message(found: Answer, places: dict[str, int]) -> Block:
    """Return a post: its number, what it says, who said it when, and what it answers."""
    about = joined(
        [
            found["agent_display"],
            when(found["created_at"]),
            "" if found["realm"] == "village" else found["realm"],
            "" if found["type"] == "dialogue" else found["type"],
        ]
    )
    answered = [str(places.get(each, each)) for each in found["responding_to"]]
    lines = [about, f"answers {', '.join(answered)}" if answered else "", found["id"]]
    return Block(f"{places[found['id']]}.", found["content"], lines)


def _counts(found: dict[str, int]) -> str:
    """Return words with how many there are of each, the most first."""
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{word} {count:,}" for word, count in ordered)


#: Seconds an answer may take: the first one may wait for the model to load.
TIMEOUT = 60.0


def register_convergence(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "convergence",
        epilog=examples(
            "cortex agents convergence which package manager",
            "cortex agents convergence tabs or spaces --min-agents 3 --threshold 0.8",
        ),
    )(convergence)


def convergence(
    words: Annotated[list[str], typer.Argument(metavar="TOPIC...", help="In plain words.")],
    *,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.5, max=1, help="Cosine at least (default: memory.convergence, 0.7)."),
    ] = None,
    min_agents: Annotated[int, typer.Option(min=2, max=10, help="Agents at least.")] = 2,
    as_agent: AsOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Look whether different agents say alike about something; opposites never count."""
    asked: dict[str, Any] = {"query": " ".join(words), "min_agents": min_agents}
    asked |= {"threshold": threshold, "as_agent": as_agent}
    found = Client(home, timeout=TIMEOUT).call("convergence", **asked)
    if as_json:
        show_json(found)
        return
    if not found["has_convergence"]:
        print(f"NONE: no {min_agents} agents say alike among {_compared(found)}")
    else:
        names = ", ".join(found["converging_agents"])
        print(f"{found['type']}: {names} say alike ({_compared(found)})")
        for group in found["groups"]:
            print()
            _show(group)
    for pair in found["apart"]:
        first, second = pair["agents"]
        print(f"\n{first} and {second} are near each other and apart: {pair['reason']}")
        print("  " + ", ".join(pair["memory_ids"]))


def _show(group: Answer) -> None:
    """Print one group: each agent's messages."""
    entries = [
        Block(agent, message["preview"], [joined([message["id"], message["thread"]])])
        for agent, messages in group["by_agent"].items()
        for message in messages
    ]
    title = f"{counted(len(entries), 'message')} alike by {group['likeness']:.2f} at least"
    show_blocks(title, entries, empty="")


def _compared(found: Answer) -> str:
    """Return how many posts were near the question."""
    return f"{counted(found['compared'], 'post')} near this"
