"""`eligible`: what an insight still lacks to become a principle, and which are nearest to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.blocks import Block, brief, counted, cut, joined, show_blocks, show_facts
from cortex_actors.cli.checks import check_line, gap, is_trouble, need
from cortex_actors.cli.filters import LimitOption, ProjectOption
from cortex_actors.cli.output import HomeOption, JsonOption, console, examples, shortened, show_json
from cortex_actors.cli.projects import meant
from cortex_actors.client.connection import Client
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.client.connection import Answer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "eligible",
        epilog=examples(
            "cortex eligible", "cortex eligible ins_4f0c9b21", "cortex eligible --project atlas-api"
        ),
    )(eligible)


def eligible(
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="An insight's id, or its beginning.")
    ] = None,
    *,
    project: ProjectOption = None,
    limit: LimitOption = 20,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what an insight lacks to become a principle; without ID, which are nearest to it."""
    client = Client(home)
    if name is None:
        found = client.call("promotions", project=meant(project), limit=limit)
        show_json(found) if as_json else _overview(found)
        return
    if project is not None:
        raise UsageError("an insight's id says all: leave out --project, or the id")
    found = client.call("eligible", insight=name)
    show_json(found) if as_json else _show(found)


def entry(each: Answer) -> Block:
    """Return an insight's entry in the overview."""
    lines = [
        *_lacks(each),
        joined(
            [
                f"seen {each['observations']}",
                ", ".join(each["projects"]),
                brief(each["id"]),
            ]
        ),
    ]
    return Block(f"{each['confidence']:.2f}", shortened(each["content"], 160), lines)


def verdict(found: Answer) -> str:
    """Return what all checks together say."""
    if found["eligible"]:
        return "it has earned it: the next run promotes it"
    missing = found["missing"]
    if "not_promoted" in missing:
        return "it is a principle already"
    if missing == ["projects"]:
        return (
            "one project has kept it long enough: it waits for another project, or for a person"
            f" (cortex review approve {brief(found['id'])})"
        )
    if {*missing} <= {"projects", "not_wary"}:
        return f"a person has to look at it: cortex review show {brief(found['id'])}"
    nearest = f"; nearest is {need(found['nearest'])}" if found["nearest"] else ""
    return f"{len(missing)} of {len(found['checks'])} are missing{nearest}"


def _lacks(each: Answer) -> Iterator[str]:
    """Yield what an insight lacks, and what speaks against it, in words."""
    numbers = [check for check in each["missing"] if not is_trouble(check)]
    if numbers:
        yield f"lacks {', '.join(gap(check) for check in numbers)}"
    for check in each["missing"]:
        if is_trouble(check):
            yield f"but {gap(check)}"
    if not each["missing"]:
        yield "lacks nothing: the next run promotes it"


def _overview(found: Answer) -> None:
    """Print which insights are nearest to becoming principles."""
    ready = found["eligible"]
    verb = "has" if ready == 1 else "have"
    show_blocks(
        f"{ready:,} of {counted(found['looked_at'], 'insight')} {verb} earned it, nearest first",
        [entry(each) for each in found["insights"]],
        empty="nothing was learned yet; follow a project with: cortex init PATH",
    )


def _show(found: Answer) -> None:
    """Print every check of one insight, and what its promotion would do."""
    out = console()
    out.print(visible(cut(found["content"])), style="bold")
    out.print()
    show_facts((need(each["need"]), check_line(each)) for each in found["checks"])
    out.print()
    out.print(verdict(found))
    becomes = found["becomes"]
    if becomes["does"] == "principle":
        out.print(f"it would become a principle: {becomes['category']}, rank {becomes['rank']:.2f}")
    elif becomes["does"] == "derivation":
        out.print(f"it would only add to {becomes['id']}, which says the same")
    elif becomes["does"] == "nothing":
        out.print(f"it is part of {becomes['id']}")
