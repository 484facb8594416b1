"""`convergence`: what several agents say alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cortex_actors.cli.blocks import Block, counted, joined, show_blocks
from cortex_actors.cli.narrowed import AsOption
from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json
from cortex_actors.client.connection import Client

if TYPE_CHECKING:
    from cortex_actors.client.connection import Answer

#: Seconds an answer may take: the first one may wait for the model to load.
TIMEOUT = 60.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "convergence",
        epilog=examples(
            "cortex convergence which package manager",
            "cortex convergence tabs or spaces --min-agents 3 --threshold 0.8",
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
