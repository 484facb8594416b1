"""`principles`: what was distilled, in which order, and what the rank of one is made of.

How the checks of a promotion are shown: what there is, what is asked for, and the gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cortex_actors.cli.filters import (
    DomainOption,
    LimitOption,
    ProjectOption,
    SkipOption,
    TagOption,
    one_of,
)
from cortex_actors.cli.output import (
    LONGEST,
    Block,
    HomeOption,
    JsonOption,
    brief,
    console,
    counted,
    cut,
    joined,
    listing,
    nothing,
    shortened,
    show_blocks,
    show_facts,
    show_json,
    standing,
    when,
)
from cortex_actors.cli.projects import meant
from cortex_actors.client.connection import Client
from cortex_actors.domain.insight import ALL, SHOWN, PrincipleSort
from cortex_actors.domain.principle import Origin, PrincipleCategory, PrincipleStatus
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.client.connection import Answer


#: What each order is called in the title.
_ORDERS = {
    PrincipleSort.RANK: "highest rank first",
    PrincipleSort.SURE: "surest first",
    PrincipleSort.SEEN: "most often seen first",
    PrincipleSort.LINKED: "most linked first",
    PrincipleSort.NEWEST: "newest first",
    PrincipleSort.OLDEST: "oldest first",
}

#: What each part of a rank is called.
_PARTS = {
    "confidence": "how sure",
    "frequency": "how often",
    "recency": "how lately",
    "quality": "how good",
    "links": "how linked",
}

#: What is said where no principle is listed: of those that were asked for, and of any.
_NONE = "no such principle is known; leave out a filter, or see: cortex principles --status all"
_NOTHING = (
    "nothing was distilled yet; what is nearest to it is shown by: cortex principles promotion"
)

#: What a principle was made of, by its origin.
_ORIGINS = {
    Origin.SINGLE: "one insight",
    Origin.CLUSTER: "a cluster, in the words of the one in its middle",
    Origin.SYNTHESIS: "a cluster, in words of a language model",
}

#: A difference of two ranks that people see.
_SHOWN = 0.0005

#: Characters of another text that a principle is linked with or made of.
OTHER = 160

_STATUSES = f"{SHOWN} (active and decaying), {ALL}, {', '.join(PrincipleStatus)}"

GivenOption = Annotated[
    str, typer.Option(help=f"One of {_STATUSES}.", callback=one_of(SHOWN, ALL, *PrincipleStatus))
]
LessonOption = Annotated[PrincipleCategory | None, typer.Option(help="What kind of lesson it is.")]
RankOption = Annotated[
    float | None, typer.Option("--min-rank", min=0, max=1, help="Ranked so high at least.")
]


def group() -> typer.Typer:
    """Return the group."""
    return listing(
        principles,
        "cortex principles",
        "cortex principles commit --category anti_pattern --sort seen",
        "cortex principles --domain python --min-rank 0.5 --json",
        "cortex principles --status all --sort newest",
        "cortex principles pri_4f0c9b21",
    )


def principles(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID | WORD...]", help="One of them, or words that all occur."),
    ] = None,
    *,
    project: ProjectOption = None,
    status: GivenOption = SHOWN,
    category: LessonOption = None,
    domain: DomainOption = None,
    tag: TagOption = None,
    least: RankOption = None,
    sort: Annotated[PrincipleSort, typer.Option(help="What comes first.")] = PrincipleSort.RANK,
    limit: LimitOption = 20,
    skip: SkipOption = 0,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show the principles that were distilled, the highest ranked first, or one of them whole."""
    client = Client(home)
    wanted: dict[str, Any] = {"project": meant(project), "status": status, "category": category}
    wanted |= {"domain": domain, "tag": tag, "least": least}
    narrow = {name: each for name, each in wanted.items() if each not in {None, SHOWN}}
    if words and words[0].lower().startswith("pri_"):
        if narrow or words[1:]:
            raise UsageError("an id says all: leave out the filters and words, or the id")
        found = client.call("principle", principle=words[0])
        show_json(found) if as_json else show_principle(found)
        return
    narrow |= {"search": " ".join(words)} if words else {}
    found = client.call("principles", limit=limit, skip=skip, sort=sort, **narrow)
    if as_json:
        show_json(found)
        return
    empty = nothing(found["total"], _NONE if narrow or _others(found) else _NOTHING)
    blocks = [block(each) for each in found["principles"]]
    show_blocks(_title(found, skip=skip, sort=sort), blocks, empty=empty)


def block(principle: Answer) -> Block:
    """Return a principle's entry in a list."""
    usual = principle["status"] == PrincipleStatus.ACTIVE
    facts = joined(
        [
            principle["category"],
            ", ".join(principle["domains"]),
            None if usual else principle["status"],
            "taken back" if principle["revoked"] else None,
            f"sure {principle['confidence']:.2f}",
            f"seen {principle['observations']}",
            counted(principle["linked"], "link") if principle["linked"] else None,
            f"in {counted(principle['resolved'], 'file')}" if principle["resolved"] else None,
            ", ".join(principle["projects"]),
            brief(principle["id"]),
        ]
    )
    return Block(f"{principle['rank']:.2f}", shortened(principle["content"], LONGEST), [facts])


def show_principle(found: Answer) -> None:
    """Print one principle: what its rank is made of, what it came of, what it is linked with."""
    out = console()
    for line in found["content"].splitlines():
        out.print(visible(line), style="bold")
    for line in (found["elaboration"] or "").splitlines():
        out.print(visible(line), style="dim")
    out.print()
    show_facts(_facts(found))
    for title, rows in (
        (f"Why {found['why']['rank']:.2f}", ranked(found)),
        ("What it was made of", _made_of(found)),
        ("What it is linked with", [linked(each) for each in found["links"]]),
        ("Where it stands", _files(found)),
    ):
        shown = list(rows)
        if shown:
            out.print()
            out.print(title, style="bold")
            show_facts(shown, indent=2)


def ranked(found: Answer) -> Iterable[tuple[str, object]]:
    """Return what a rank is made of: each part, its weight, and what it adds."""
    why = found["why"]
    for part in why["parts"]:
        product = f"{part['value']:.2f} x {part['weight']:.2f} = {part['points']:.3f}"
        yield _PARTS[part["name"]], f"{product}  {_counts(found, part['name'])}".rstrip()
    yield "rank", f"{why['rank']:.3f}"
    if abs(why["rank"] - why["stored"]) >= _SHOWN:
        yield "stored", f"{why['stored']:.3f}  counted anew when principles are distilled next"


def linked(link: Answer) -> tuple[str, str]:
    """Return a link as one of its ends sees it: how, and with what."""
    other = link["other"]
    kind = "is needed by" if link["needed"] else link["type"].replace("_", " ")
    about = joined([f"strength {link['strength']:.2f}", link["decided_by"], link["reason"]])
    text = f"{brief(other['id'])}  {cut(other.get('content', '(gone)'), OTHER)}"
    return kind, f"{text}\n{about}"


def _counts(found: Answer, part: str) -> str:
    """Return what a part of a rank counts."""
    return {
        "frequency": f"seen {counted(found['observations'], 'time')}",
        "recency": f"{counted(found['why']['days'], 'day')} ago",
        "links": counted(found["linked"], "link"),
    }.get(part, "")


def _facts(found: Answer) -> Iterable[tuple[str, object]]:
    """Return what a principle is, by name."""
    return [
        ("id", found["id"]),
        ("is a", f"{found['category']}, {found['status']}, of {_ORIGINS[found['origin']]}"),
        (
            "given",
            f"to nobody: it was taken back (cortex projects revoke --undo {brief(found['id'])})"
            if found["revoked"]
            else "",
        ),
        ("domains", ", ".join(found["domains"])),
        ("tags", ", ".join(found["tags"])),
        ("sure", f"{found['confidence']:.2f}"),
        ("seen", counted(found["observations"], "time")),
        ("last", when(found["last_seen"])),
        ("since", when(found["created_at"])),
        ("projects", ", ".join(found["projects"])),
        ("fades", f"half of its recency in {found['why']['half_life_days']:.0f} days"),
    ]


def _made_of(found: Answer) -> Iterable[tuple[str, object]]:
    """Yield the insights it came of, with the share of each and the lines that say it."""
    for each in found["made_of"]:
        lines = [each["content"], *standing(each["sources"])]
        about = "" if each["status"] == "active" else f"  ({each['status']})"
        lines[0] = f"{cut(lines[0], LONGEST)}{about}"
        yield f"{each['weight']:.2f}  {brief(each['id'])}", "\n".join(lines)


def _files(found: Answer) -> Iterable[tuple[str, object]]:
    """Yield the files it was resolved into."""
    for each in found["files"]:
        conflict = "conflicts with the project" if each["is_conflict"] else None
        about = joined([f"for {each['agent']}, bullet {each['ordinal'] + 1}", conflict])
        yield when(each["resolved_at"]), f"{each['path']}\n{about}"


def _title(found: Answer, *, skip: int, sort: PrincipleSort) -> str:
    """Return how many are shown of how many, in which order, and how many stand how."""
    shown = len(found["principles"])
    which = f"{skip + 1:,} to {skip + shown:,}" if skip else f"{shown:,}"
    title = f"{which} of {counted(found['total'], 'principle')}, {_ORDERS[sort]}"
    waning = [f"{number:,} {name}" for name, number in found["by_status"].items() if number]
    return f"{title} ({', '.join(waning)})" if len(waning) > 1 else title


def _others(found: Answer) -> bool:
    """Return whether there are principles, whatever was asked for."""
    return any(found["by_status"].values())


#: What each check is called where people read it, and its unit.
_NEEDS = {
    "active": ("status", ""),
    "confidence": ("confidence", ""),
    "observations": ("observations", ""),
    "age": ("age", " days"),
    "no_contradiction": ("contradictions", ""),
    "not_promoted": ("principles of it", ""),
    "not_private": ("one person's own", ""),
    "not_rejected": ("turned down", ""),
    "a_claim": ("command or example", ""),
    "projects": ("projects", ""),
    "not_wary": ("suspicious", ""),
}

#: What a check asks for that nothing may speak against.
_NO = "no"


def check_line(check: Answer) -> str:
    """Return one check as a line: `0.57 of 0.70, 0.13 to go`."""
    mark = "ok" if check["met"] else "--"
    actual, required = _number(check["actual"]), _number(check["required"])
    if check.get("waived"):
        return f"{mark}  {actual}, and a person has approved it"
    if isinstance(check["actual"], str):
        enough = check["met"] or required == _NO
        return f"{mark}  {actual}" if enough else f"{mark}  {actual}, must be {required}"
    if check["required"] == 0:
        return f"{mark}  {actual}" if check["met"] else f"{mark}  {actual}, must be none"
    unit = _NEEDS.get(check["need"], ("", ""))[1]
    line = f"{mark}  {actual} of {required}{unit}"
    return line if check["met"] else f"{line}, {_number(check['gap'])} to go"


def need(name: str) -> str:
    """Return what a check is called."""
    return _NEEDS.get(name, (name.replace("_", " "), ""))[0]


def is_trouble(check: Answer) -> bool:
    """Return whether a check is not met because of something that must not be, said in words."""
    return bool(check["required"] == _NO)


def gap(check: Answer) -> str:
    """Return what a check lacks, in a few words."""
    if check["need"] == "active":
        return f"is {check['actual']}"
    if is_trouble(check):
        return str(check["actual"])
    if check["gap"] is None or check["required"] == 0:
        return f"{need(check['need'])}: {_number(check['actual'])}"
    unit = _NEEDS.get(check["need"], ("", ""))[1]
    return f"{need(check['need'])} {_number(check['actual'])} of {_number(check['required'])}{unit}"


def _number(value: object) -> str:
    """Return a number with as many places as it needs, or a word."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2f}" if 0 < abs(value) < 1 else f"{value:.1f}".removesuffix(".0")
