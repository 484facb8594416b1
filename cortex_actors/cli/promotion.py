"""`promotion`: what holds insights up on the way to principles, and what if one were promoted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.blocks import (
    LONGEST,
    brief,
    counted,
    cut,
    joined,
    show_blocks,
    show_facts,
)
from cortex_actors.cli.checks import check_line, need
from cortex_actors.cli.eligible import entry, verdict
from cortex_actors.cli.filters import LimitOption, ProjectOption, one_of
from cortex_actors.cli.output import HomeOption, JsonOption, console, examples, show_json
from cortex_actors.cli.principles import linked, ranked
from cortex_actors.cli.projects import meant
from cortex_actors.client.connection import Client
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible
from cortex_actors.rules.promotion import Need

if TYPE_CHECKING:
    from cortex_actors.client.connection import Answer

#: What is said of insights that nothing holds up.
READY = "ready"

#: Seconds a what-if may take: a text may have to be embedded, and the first one loads the rules.
PATIENCE = 60.0

#: What each reason means, where it is said of many.
_MEANS = {
    READY: "nothing is missing: the next run promotes them",
    Need.NOT_PROMOTED: "they are principles already",
    Need.NO_CONTRADICTION: "something speaks against them: cortex contradictions",
    Need.ACTIVE: "they do not hold now",
    Need.NOT_REJECTED: "a person has turned them down: cortex review list --status rejected",
    Need.NOT_PRIVATE: "only one person's own files say them, and they stay there",
    Need.A_CLAIM: "commands and examples: they say what one project does",
    Need.CONFIDENCE: "they are not believed enough",
    Need.OBSERVATIONS: "too few revisions of files have said them",
    Need.AGE: "they are too young",
    Need.PROJECTS: "too few projects say them: cortex review",
    Need.NOT_WARY: "a person has to look at them: cortex review",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "promotion",
        epilog=examples(
            "cortex promotion",
            "cortex promotion --reason age",
            "cortex promotion --project atlas-api --limit 5",
            "cortex promotion ins_4f0c9b21",
        ),
    )(promotion)


def promotion(
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="An insight's id, or its beginning.")
    ] = None,
    *,
    reason: Annotated[
        str | None,
        typer.Option(
            help=f"Only those that this holds up: {', '.join(_MEANS)}.",
            callback=lambda value: value and one_of(*_MEANS)(value),
        ),
    ] = None,
    project: ProjectOption = None,
    limit: LimitOption = 20,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what holds insights up on the way to principles; with ID, what if it were promoted."""
    client = Client(home, timeout=PATIENCE)
    if name is None:
        found = client.call("promotions", project=meant(project), limit=limit, reason=reason)
        show_json(found) if as_json else _overview(found, reason)
        return
    if project is not None or reason is not None:
        raise UsageError("an insight's id says all: leave out --project and --reason, or the id")
    found = client.call("what_if", insight=name)
    show_json(found) if as_json else _what_if(found)


def _overview(found: Answer, reason: str | None) -> None:
    """Print how many are held up by what, and the nearest of them."""
    known = {name: number for name, number in found["reasons"].items() if number}
    if reason is None:
        out = console()
        out.print(
            f"{counted(found['looked_at'], 'insight')} on the way to a principle", style="bold"
        )
        show_facts((_label(name), _counted(name, number)) for name, number in known.items())
        out.print()
    what = "nearest first" if reason is None else f"held up by: {_label(reason)}"
    number = len(found["insights"])
    show_blocks(
        f"{counted(number, 'insight')}, {what}",
        [entry(each) for each in found["insights"]],
        empty=_empty(found, reason),
    )


def _empty(found: Answer, reason: str | None) -> str:
    """Return why an overview lists nothing."""
    if not found["looked_at"]:
        return "nothing was learned yet; follow a project with: cortex init PATH"
    if reason is None:
        return "all of them are principles: cortex principles"
    return f"no insight is held up by {_label(reason)}; leave out --reason to see what is"


def _counted(name: str, number: int) -> str:
    """Return how many are held up by something, and what that means."""
    return f"{number:,}  {_MEANS.get(name, '')}".rstrip()


def _label(name: str) -> str:
    """Return what a reason is called."""
    return name if name == READY else need(name)


def _what_if(found: Answer) -> None:
    """Print what an insight has and lacks, and what its promotion would do now."""
    out = console()
    out.print(visible(cut(found["content"])), style="bold")
    out.print()
    show_facts((need(each["need"]), check_line(each)) for each in found["checks"])
    out.print()
    if found["would"] != _ALREADY:
        out.print(verdict(found))
    if found["together"] and not found["eligible"]:
        others = counted(len(found["together"]), "other")
        out.print(f"but it has earned it together with {others} of its cluster")
    print(visible(_would(found)))
    if found["would"] != _PROMOTE and not found["replaces"]:
        return
    preview = found["preview"]
    out.print()
    out.print("What it would be", style="bold")
    show_facts(
        [
            ("says", cut(preview["content"], LONGEST)),
            ("because", preview["elaboration"] or ""),
            ("is a", joined([preview["category"], ", ".join(preview["domains"])])),
            ("tags", ", ".join(preview["tags"])),
            ("sure", f"{preview['confidence']:.2f}"),
            *ranked(preview),
        ],
        indent=2,
    )
    if found["links"]:
        out.print()
        out.print("What it would be linked with", style="bold")
        show_facts([linked(each) for each in found["links"]], indent=2)


#: What would come of a promotion.
_PROMOTE, _EXACT, _ALREADY, _NOTHING = (
    "would_promote",
    "would_dedup_exact",
    "already_promoted",
    "would_do_nothing",
)


def _would(found: Answer) -> str:
    """Return what a promotion would do, a sentence."""
    other = found["same_as"]
    if found["would"] == _NOTHING:
        return f"nothing would come of it: {found['reason']}"
    if found["would"] == _PROMOTE:
        preview = found["preview"]
        text = f"it would become {preview['id']}: {preview['category']}, rank {preview['rank']:.2f}"
        return text if found["compared"] else f"{text}; it has no vector yet: ask again later"
    name = f"{brief(other['id'])} ({cut(other['content'], LONGEST)})"
    if found["would"] == _ALREADY:
        return f"it is part of {name} already"
    if found["replaces"]:
        return f"it would take the place of {name}, which says the same: {found['reason']}"
    if found["would"] == _EXACT:
        return f"it would only add to {name}, which says it word for word"
    return f"it would only add to {name}, which says the same: {found['reason']}"
