"""`promotion`: what holds insights up on the way to principles, and what if one were promoted.

`eligible`: what an insight still lacks to become a principle, and which are nearest to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.filters import LimitOption, ProjectOption, one_of
from cortex_actors.cli.output import (
    LONGEST,
    Block,
    HomeOption,
    JsonOption,
    brief,
    console,
    counted,
    cut,
    examples,
    joined,
    shortened,
    show_blocks,
    show_facts,
    show_json,
)
from cortex_actors.cli.principles import check_line, gap, is_trouble, linked, need, ranked
from cortex_actors.cli.projects import meant
from cortex_actors.client.connection import Client
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible
from cortex_actors.rules.promotion import Need

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.client.connection import Answer


def register_eligible(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "eligible",
        epilog=examples(
            "cortex principles eligible",
            "cortex principles eligible ins_4f0c9b21",
            "cortex principles eligible --project atlas-api",
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


def register_promotion(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "promotion",
        epilog=examples(
            "cortex principles promotion",
            "cortex principles promotion --reason age",
            "cortex principles promotion --project atlas-api --limit 5",
            "cortex principles promotion ins_4f0c9b21",
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
        show_json(found) if as_json else _promotion_overview(found, reason)
        return
    if project is not None or reason is not None:
        raise UsageError("an insight's id says all: leave out --project and --reason, or the id")
    found = client.call("what_if", insight=name)
    show_json(found) if as_json else _what_if(found)


def _promotion_overview(found: Answer, reason: str | None) -> None:
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
_PROMOTE, _EXACT, _ALREADY, _WOULD_DO_NOTHING = (
    "would_promote",
    "would_dedup_exact",
    "already_promoted",
    "would_do_nothing",
)


def _would(found: Answer) -> str:
    """Return what a promotion would do, a sentence."""
    other = found["same_as"]
    if found["would"] == _WOULD_DO_NOTHING:
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
