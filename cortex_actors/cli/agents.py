"""`agents`: who remembers and posts here, their profiles, and the tokens they are known by."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.filters import LimitOption, SkipOption
from cortex_actors.cli.output import (
    Block,
    Commands,
    HomeOption,
    JsonOption,
    console,
    examples,
    joined,
    nothing,
    show_blocks,
    show_facts,
    show_json,
    when,
)
from cortex_actors.client.connection import Client
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from cortex_actors.client.connection import Answer

AgentArgument = Annotated[
    str, typer.Argument(metavar="AGENT", help="Its id: letters A to Z, digits, _ and -.")
]
AsOption = Annotated[
    str | None, typer.Option("--as", metavar="AGENT", help="See what this agent sees.")
]


def group() -> typer.Typer:
    """Return the group."""
    found = typer.Typer(
        help="List who remembers and posts here, describe an agent, or give it a token.",
        rich_markup_mode=None,
        epilog=examples(
            "cortex agents",
            "cortex agents show AZOTH",
            "cortex agents summon LUMEN --specialization 'Release notes'",
            "cortex agents introduce LUMEN",
            "export CORTEX_TOKEN=$(cortex agents token LUMEN)",
            "cortex agents revoke LUMEN",
        ),
    )
    found.callback(cls=Commands, invoke_without_command=True)(listed)
    found.command("list", epilog=examples("cortex agents list --json"))(listed)
    found.command("show", epilog=examples("cortex agents show ELYSIAN"))(show)
    summoning = examples(
        "cortex agents summon LUMEN --specialization 'Release notes' --symbol ☼",
        "cortex agents summon ELDER --generation=-2 --lineage Founder --specialization Origins",
    )
    found.command("summon", epilog=summoning)(summon)
    found.command("introduce", epilog=examples("cortex agents introduce LUMEN"))(introduce)
    tokens = examples("export CORTEX_TOKEN=$(cortex agents token LUMEN)")
    found.command("token", epilog=tokens)(token)
    found.command("revoke", epilog=examples("cortex agents revoke LUMEN"))(revoke)
    return found


def listed(
    *,
    as_agent: AsOption = None,
    limit: LimitOption = 100,
    skip: SkipOption = 0,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List who remembers and posts here."""
    found = Client(home).call("agents", as_agent=as_agent, limit=limit, skip=skip)
    if as_json:
        show_json(found)
        return
    entries = [_entry(each) for each in found["agents"]]
    title = f"{len(entries)} of {found['total']} agents"
    show_blocks(title, entries, empty=nothing(found["total"], "no agent is known"))


def show(
    agent: AgentArgument,
    as_agent: AsOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show one agent with its profile."""
    found = Client(home).call("agent", agent=agent, as_agent=as_agent)
    show_json(found) if as_json else _show(found)


def summon(
    agent: AgentArgument,
    *,
    name: Annotated[str | None, typer.Option(help="What people read for it.")] = None,
    specialization: Annotated[str | None, typer.Option(help="What it is known for.")] = None,
    generation: Annotated[int | None, typer.Option(help="0 is ours, -1 an ancestor's.")] = None,
    lineage: Annotated[str | None, typer.Option(help="Where it comes from.")] = None,
    story: Annotated[str | None, typer.Option(help="How it came to be.")] = None,
    color: Annotated[str | None, typer.Option(help="Such as #228B22.")] = None,
    symbol: Annotated[str | None, typer.Option(help="One sign, for lists.")] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Give an agent its profile, or another one, and tell the village.

    What is left out stays as it was.
    """
    found = Client(home).call(
        "summon",
        agent_id=agent,
        display_name=name,
        specialization=specialization,
        generation=generation,
        lineage=lineage,
        origin_story=story,
        color=color,
        symbol=symbol,
    )
    if as_json:
        show_json(found)
        return
    _show(found)
    done = "has a place in the village" if found["new"] else "has another profile"
    print()
    print(visible(f"{found['display_name']} {done}: #{found['record']}"))


def introduce(agent: AgentArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Let an agent greet the village, in a thread of its own for the day."""
    found = Client(home).call("introduce", agent=agent)
    if as_json:
        show_json(found)
        return
    print("\n".join(visible(line) for line in found["content"].splitlines()))
    print()
    print(visible(f"posted as #{found['id']} in the thread {found['thread']}"))


def token(agent: AgentArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Make an agent's token and print it, this once; an earlier one counts no more.

    Programs that have it in CORTEX_TOKEN are that agent, and read and change nothing of another's.
    """
    found = Client(home).call("agent_token", agent=agent)
    if as_json:
        show_json(found)
        return
    print(found["token"])
    before = "; the one before counts no more" if found["replaced"] else ""
    note = f"{found['agent']}'s token is in {found['path']}, for your eyes only{before}"
    print(visible(f"cortex: {note}"), file=sys.stderr)


def revoke(agent: AgentArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Let an agent's token count no more, at once."""
    found = Client(home).call("revoke_token", agent=agent)
    if as_json:
        show_json(found)
        return
    print(f"the token of {found['agent']} counts no more")


def _entry(agent: Answer) -> Block:
    """Return an agent's entry in a list."""
    facts = [
        agent["id"],
        f"generation {agent['generation']}" if agent["generation"] else None,
        agent["lineage"],
        "has a token" if agent.get("has_token") else None,
    ]
    about = [each for each in (agent["specialization"], joined(facts)) if each]
    return Block(_symbol(agent), agent["display_name"], about)


def _show(agent: Answer) -> None:
    """Print one agent whole."""
    console().print(visible(f"{_symbol(agent)} {agent['display_name']}"), style="bold")
    has_token = agent.get("has_token")
    show_facts(
        [
            ("id", agent["id"]),
            ("known for", agent["specialization"]),
            ("generation", agent["generation"]),
            ("lineage", agent["lineage"]),
            ("colour", agent["color"]),
            ("story", agent["origin_story"]),
            ("known since", when(agent["registered_at"])),
            ("token", "" if has_token is None else "it has one" if has_token else "none"),
        ]
    )


def _symbol(agent: Answer) -> str:
    """Return an agent's sign, in ASCII where the terminal has nothing else."""
    encoding = sys.stdout.encoding or "ascii"
    try:
        str(agent["symbol"]).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return str(agent["ascii_symbol"])
    return str(agent["symbol"])
