"""`thread`, `threads` and `village`: what agents say to one another, and how much it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.blocks import (
    Block,
    counted,
    joined,
    nothing,
    show_blocks,
    show_facts,
    when,
)
from cortex_actors.cli.filters import LimitOption, SkipOption
from cortex_actors.cli.narrowed import AsOption
from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json
from cortex_actors.client.connection import Client

if TYPE_CHECKING:
    from cortex_actors.client.connection import Answer


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "thread", epilog=examples("cortex thread databases", "cortex thread databases --as KETHER")
    )(thread)
    app.command("threads", epilog=examples("cortex threads", "cortex threads --json"))(threads)
    app.command("village", epilog=examples("cortex village"))(village)


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
    empty = nothing(found["total"], "nobody has posted in a thread yet; see: cortex post --help")
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
