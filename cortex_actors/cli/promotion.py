"""`promotion`: what holds insights up on the way to principles, and what if one were promoted.

`eligible`: what an insight still lacks to become a principle, and which are nearest to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from cortex_actors.cli import show
from cortex_actors.cli.declare import One, Option, shows
from cortex_actors.cli.principles import check_line, gap, is_trouble, linked, need, ranked
from cortex_actors.cli.show import brief, counted, cut, joined, shortened
from cortex_actors.client.connection import Answer


@shows(
    "principles eligible",
    "",
    "ins_4f0c9b21",
    "--project atlas-api",
    asks="principles.promotions",
    about="Show what an insight lacks to become a principle. Without ID, list what lacks least.",
    one=One(
        operation="principles.eligible",
        alone="an insight's id says all: leave out --project, or the id",
    ),
    leave_out=("reason",),
)
def show_nearest(found: Answer) -> None:
    """Print which insights are nearest to becoming principles, or what one has and lacks."""
    if "checks" in found:
        _show_checks(found)
        return
    ready = found["eligible"]
    verb = "has" if ready == 1 else "have"
    show.blocks(
        f"{ready:,} of {counted(found['looked_at'], 'insight')} {verb} earned it, nearest first",
        map(_entry, found["insights"]),
        empty="nothing was learned yet; follow a project with: cortex init PATH",
    )


def _entry(each: Answer) -> show.Block:
    """Return an insight's entry in the overview."""
    lines = [
        *_lacks(each),
        joined(f"seen {each['observations']}", ", ".join(each["projects"]), brief(each["id"])),
    ]
    return show.Block(f"{each['confidence']:.2f}", shortened(each["content"], 160), lines)


def _verdict(found: Answer) -> str:
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


def _open(found: Answer) -> None:
    """Print an insight with every check."""
    show.title(cut(found["content"]))
    print()
    show.facts(*((need(each["need"]), check_line(each)) for each in found["checks"]))
    print()


def _show_checks(found: Answer) -> None:
    """Print every check of one insight, and what its promotion would do."""
    _open(found)
    out = show.console()
    out.print(_verdict(found))
    becomes = found["becomes"]
    if becomes["does"] == "principle":
        out.print(f"it would become a principle: {becomes['category']}, rank {becomes['rank']:.2f}")
    elif becomes["does"] == "derivation":
        out.print(f"it would only add to {becomes['id']}, which says the same")
    elif becomes["does"] == "nothing":
        out.print(f"it is part of {becomes['id']}")


#: What is said of insights that nothing holds up.
READY = "ready"

#: What each reason means, where it is said of many.
_MEANS = {
    READY: "nothing is missing: the next run promotes them",
    "not_promoted": "they are principles already",
    "no_contradiction": "something speaks against them: cortex contradictions",
    "no_difference": "another project chooses differently: cortex review",
    "active": "they do not hold now",
    "not_rejected": "a person has turned them down: cortex review list --status rejected",
    "not_private": "only one person's own files say them, and they stay there",
    "a_claim": "facts, commands and examples: they say what one project is or does",
    "confidence": "they are not believed enough",
    "observations": "projects were seen to say them on too few days",
    "age": "they are too young",
    "projects": "too few projects say them: cortex review",
    "not_wary": "a person has to look at them: cortex review",
}


@shows(
    "principles promotion",
    "",
    "--reason age",
    "--project atlas-api --limit 5",
    "ins_4f0c9b21",
    asks="principles.promotions",
    about="Show what keeps insights from becoming principles. With ID, show what its promotion "
    "would do.",
    one=One(
        operation="principles.what-if",
        alone="an insight's id says all: leave out --project and --reason, or the id",
    ),
    # A text may have to be embedded for a what-if, and the first one loads the rules.
    timeout=60.0,
    reason=Option(words=(*_MEANS,), help=f"Only those that this holds up: {', '.join(_MEANS)}."),
)
def show_promotion(found: Answer, given: Answer) -> None:
    """Print how many are held up by what, and the nearest of them; or what if one were not."""
    if "checks" in found:
        _show_what_if(found)
        return
    reason, known = given["reason"], {name: n for name, n in found["reasons"].items() if n}
    if reason is None:
        show.title(f"{counted(found['looked_at'], 'insight')} on the way to a principle")
        show.facts(
            *(
                (_label(name), f"{number:,}  {_MEANS.get(name, '')}".rstrip())
                for name, number in known.items()
            )
        )
        print()
        what, empty = "nearest first", "all of them are principles: cortex principles"
    else:
        label = _label(reason)
        what = f"held up by: {label}"
        empty = f"no insight is held up by {label}; leave out --reason to see what is"
    if not found["looked_at"]:
        empty = "nothing was learned yet; follow a project with: cortex init PATH"
    show.blocks(
        f"{counted(len(found['insights']), 'insight')}, {what}",
        map(_entry, found["insights"]),
        empty=empty,
    )


def _label(name: str) -> str:
    """Return what a reason is called."""
    return name if name == READY else need(name)


def _show_what_if(found: Answer) -> None:
    """Print what an insight has and lacks, and what its promotion would do now."""
    _open(found)
    out = show.console()
    if found["would"] != _ALREADY:
        out.print(_verdict(found))
    if found["together"] and not found["eligible"]:
        others = counted(len(found["together"]), "other")
        out.print(f"but it has earned it together with {others} of its cluster")
    show.lines(_would(found))
    if found["would"] != _PROMOTE and not found["replaces"]:
        return
    preview = found["preview"]
    facts = [
        ("says", cut(preview["content"])),
        ("because", preview["elaboration"] or ""),
        ("is a", joined(preview["category"], ", ".join(preview["domains"]))),
        ("tags", ", ".join(preview["tags"])),
        ("sure", f"{preview['confidence']:.2f}"),
        *ranked(preview),
    ]
    links = [linked(each) for each in found["links"]]
    show.sections(("What it would be", facts), ("What it would be linked with", links))


#: What would come of a promotion.
_PROMOTE, _EXACT = "would_promote", "would_dedup_exact"
_ALREADY, _USELESS = "already_promoted", "would_do_nothing"


def _would(found: Answer) -> str:
    """Return what a promotion would do, a sentence."""
    other = found["same_as"]
    if found["would"] == _USELESS:
        return f"nothing would come of it: {found['reason']}"
    if found["would"] == _PROMOTE:
        preview = found["preview"]
        text = f"it would become {preview['id']}: {preview['category']}, rank {preview['rank']:.2f}"
        return text if found["compared"] else f"{text}; it has no vector yet: ask again later"
    name = f"{brief(other['id'])} ({cut(other['content'])})"
    if found["would"] == _ALREADY:
        return f"it is part of {name} already"
    if found["replaces"]:
        return f"it would take the place of {name}, which says the same: {found['reason']}"
    if found["would"] == _EXACT:
        return f"it would only add to {name}, which says it word for word"
    return f"it would only add to {name}, which says the same: {found['reason']}"
