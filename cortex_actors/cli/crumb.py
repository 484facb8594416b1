"""`crumb`: what a session leaves for the next one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.filters import AsOption
from cortex_actors.cli.output import (
    Block,
    Commands,
    HomeOption,
    JsonOption,
    console,
    counted,
    examples,
    joined,
    show_blocks,
    show_json,
    when,
)
from cortex_actors.cli.village import AgentOption, RedactOption
from cortex_actors.client.connection import Client
from cortex_actors.domain.memory import CrumbType, Priority
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.client.connection import Answer

#: Bytes of a file with a crumb: more than one may have.
_LARGEST = 1_000_000

WhoseOption = Annotated[
    str | None, typer.Option("--agent", metavar="AGENT", help="Whose (default: all you may read).")
]
OneOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="AGENT", help="Whose (default: memory.agent, as in leave)."),
]
HoursOption = Annotated[
    float, typer.Option(min=0.001, max=876_000, help="How many hours to look back.")
]
PriorityOption = Annotated[
    Priority | None, typer.Option(case_sensitive=False, help="How urgent it is.")
]
TypeOption = Annotated[CrumbType | None, typer.Option("--type", help="What it is for.")]
DiscoveryOption = Annotated[
    list[str] | None,
    typer.Option("--discovery", "--discoveries", help="Found out; may be repeated."),
]
UnfinishedOption = Annotated[list[str] | None, typer.Option(help="Left to do; may be repeated.")]
FeelingOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME=HOW", help="May be repeated.")
]
ReferenceOption = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND=WHAT", help="To look up, as message_ids=ID; may be repeated."),
]
StepOption = Annotated[
    list[str] | None, typer.Option(help="What to do first; repeated, in this order.")
]
UrgencyOption = Annotated[Priority, typer.Option(case_sensitive=False, help="How urgent it is.")]


def group() -> typer.Typer:
    """Return the group."""
    leaving = examples(
        'cortex agents crumb leave "Moved the tests to pytest." --unfinished "port the last three"',
        'cortex agents crumb leave "Found it." --discovery "sockets stay open" --priority HIGH',
    )
    getting = examples(
        "cortex agents crumb get", "cortex agents crumb get --agent AZOTH --priority HIGH"
    )
    found = typer.Typer(
        help="Leave a crumb for the next session, and read what was left for this one.",
        rich_markup_mode=None,
        epilog=leaving,
    )
    found.callback(cls=Commands, invoke_without_command=True)(get)
    found.command("leave", epilog=leaving)(leave)
    found.command("get", epilog=getting)(get)
    found.command("latest", epilog=examples("cortex agents crumb latest --agent AZOTH"))(latest)
    found.command(
        "tasks", epilog=examples("cortex agents crumb tasks", "cortex agents crumb tasks --json")
    )(tasks)
    found.command("import", epilog=examples("cortex agents crumb import crumb.txt"))(import_)
    return found


def leave(
    words: Annotated[list[str], typer.Argument(metavar="SUMMARY...", help="What was done.")],
    *,
    discovery: DiscoveryOption = None,
    unfinished: UnfinishedOption = None,
    feeling: FeelingOption = None,
    reference: ReferenceOption = None,
    if_disoriented: StepOption = None,
    priority: UrgencyOption = Priority.MEDIUM,
    kind: TypeOption = None,
    session: Annotated[str | None, typer.Option(help="What the session is called.")] = None,
    agent: AgentOption = None,
    redact: RedactOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Leave a crumb for an agent's next session."""
    found = Client(home).call(
        "leave_crumb",
        session_summary=" ".join(words),
        key_discoveries=discovery or [],
        emotional_state={name: how[-1] for name, how in _pairs(feeling, "--feeling").items()},
        unfinished_business=unfinished or [],
        references=_pairs(reference, "--reference"),
        if_disoriented=if_disoriented or [],
        priority=str(priority),
        crumb_type=None if kind is None else str(kind),
        session_id=session,
        agent=agent,
        redact=redact,
    )
    if as_json:
        show_json(found)
        return
    print(found["message"])


def get(
    *,
    agent: WhoseOption = None,
    hours: HoursOption = 168,
    priority: PriorityOption = None,
    kind: TypeOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")] = 10,
    as_agent: AsOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Read what was left, newest first, and what of it is still to do."""
    found = Client(home).call(
        "crumbs",
        agent=agent,
        lookback_hours=hours,
        priority=None if priority is None else str(priority),
        type=None if kind is None else str(kind),
        limit=limit,
        as_agent=as_agent,
    )
    if as_json:
        show_json(found)
        return
    crumbs, total = found["crumbs"], found["summary"]["total_found"]
    if not crumbs:
        print("no crumb was left in that time; leave one with: cortex agents crumb leave SUMMARY")
        return
    for each in crumbs:
        console().print(visible(f"{each['agent']}  {each['id']}"), style="bold")
        _print(each)
    print(f"{len(crumbs)} of {counted(total, 'crumb')}; {_tally(found['summary'])}")


def latest(
    *,
    agent: OneOption = None,
    as_agent: AsOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Read the crumb that an agent left last, however long ago."""
    found = Client(home).call("latest_crumb", agent=agent, as_agent=as_agent)
    if as_json:
        show_json(found)
        return
    if found["crumb"] is None:
        raise NotFound("no crumb of that agent was left yet; everybody's: cortex agents crumb get")
    _print(found["crumb"])


def tasks(
    *,
    agent: WhoseOption = None,
    hours: HoursOption = 168,
    as_agent: AsOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List what sessions left to do, the newest first."""
    found = Client(home).call("unfinished", agent=agent, lookback_hours=hours, as_agent=as_agent)
    if as_json:
        show_json(found)
        return
    entries = [
        Block(
            f"{number}.",
            each["task"],
            [joined([each["agent"], each["priority"], when(each["left_at"]), each["crumb"]])],
        )
        for number, each in enumerate(found["tasks"], 1)
    ]
    title = counted(len(entries), "unfinished task")
    show_blocks(title, entries, empty="nothing was left unfinished in that time")


def import_(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Each a crumb as text; - for stdin.")
    ],
    *,
    agent: Annotated[
        str | None, typer.Option(metavar="AGENT", help="Whose (default: as the text says).")
    ] = None,
    redact: RedactOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Take in crumbs that another system left as text; one that is known is not taken twice."""
    client = Client(home)
    found = [
        client.call("import_crumb", text=_read(each), agent=agent, redact=redact) for each in files
    ]
    if as_json:
        show_json({"crumbs": found})
        return
    for each in found:
        print(each["message"])


def _print(crumb: Answer) -> None:
    """Print a crumb as agents are shown it."""
    out = console()
    for line in crumb["text"].split("\n"):
        out.print(visible(line), soft_wrap=True)
    out.print()


def _tally(summary: Answer) -> str:
    """Return how many there are of each priority and type."""
    counts = {**summary["by_priority"], **summary["by_type"]}
    return ", ".join(f"{word} {count:,}" for word, count in counts.items())


def _pairs(given: Sequence[str] | None, option: str) -> dict[str, list[str]]:
    """Return what stands before each equals sign with what stands behind; raises `BadInput`."""
    found: dict[str, list[str]] = {}
    for each in given or ():
        name, sign, value = each.partition("=")
        if not (sign and name.strip() and value.strip()):
            raise BadInput(f"{option} {each!r} is no NAME=VALUE")
        found.setdefault(name.strip(), []).append(value.strip())
    return found


def _read(name: str) -> str:
    """Return the text of a file, or of standard input; raises `BadInput`, `NotFound`."""
    try:
        if name == "-":
            return sys.stdin.buffer.read(_LARGEST).decode()
        with Path(name).open("rb") as file:
            return file.read(_LARGEST).decode()
    except UnicodeDecodeError:
        raise BadInput(f"cannot read a crumb from {name}: it is no text in UTF-8") from None
    except OSError as error:
        raise NotFound(f"cannot read a crumb from {name}: {error.strerror or error}") from None
