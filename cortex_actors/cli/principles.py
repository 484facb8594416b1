"""`principles`: what was distilled, in which order, and what the rank of one is made of.

`principles links`: how principles stand to one another, as text or for Graphviz.

How the checks of a promotion are shown: what there is, what is asked for, and the gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, Joined, One, Option, Preset, shows
from cortex_actors.cli.show import brief, counted, cut, joined, shortened, standing, when
from cortex_actors.client.connection import Answer
from cortex_actors.clock import in_days

#: What each order is called in the title.
_ORDERS = {
    "rank": "highest rank first",
    "sure": "surest first",
    "seen": "most often seen first",
    "linked": "most linked first",
    "newest": "newest first",
    "oldest": "oldest first",
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
_NOTHING = "no principles yet; what is nearest to it is shown by: cortex principles promotion"

#: What a principle was made of, by its origin.
_ORIGINS = {
    "single": "one insight",
    "cluster": "a cluster, in the words of the one in its middle",
    "synthesis": "a cluster, in words of a language model",
}

#: A difference of two ranks that people see.
_SHOWN = 0.0005

#: Characters of another text that a principle is linked with or made of.
OTHER = 160

#: States of principles beside each of them.
_STATES = ("live", "all")


@shows(
    "principles",
    "",
    "commit --category anti_pattern --sort seen",
    "--domain python --min-rank 0.5 --json",
    "--status all --sort newest",
    "pri_4f0c9b21",
    asks="principles.list",
    about="List principles, the highest ranked first, or show one of them.",
    is_group=True,
    one=One(
        operation="principles.show",
        prefix="pri_",
        alone="an id says all: leave out the filters and words, or the id",
    ),
    search=Joined(metavar="[ID | WORD...]", help="One of them, or words that all occur."),
    status=Option(words=_STATES, one_of="principle.PrincipleStatus"),
)
def show_principles(found: Answer, given: Answer) -> None:
    """Print the principles that were distilled, or one of them whole."""
    if "principles" not in found:
        for line in found["content"].splitlines():
            show.title(line)
        for line in (found["elaboration"] or "").splitlines():
            show.title(line, "dim")
        print()
        show.facts(*_facts(found))
        show.sections(
            (f"Why {found['why']['rank']:.2f}", ranked(found)),
            ("What it was made of", _made_of(found)),
            ("What it is linked with", [linked(each) for each in found["links"]]),
            ("Where it stands", _files(found)),
        )
        return
    known = is_narrow(given) or any(found["by_status"].values())
    title = f"{page_of(found, 'principle', given)}, {_ORDERS[given['sort']]}"
    waning = [f"{number:,} {name}" for name, number in found["by_status"].items() if number]
    more = f" ({', '.join(waning)})" if len(waning) > 1 else ""
    empty, entries = _NONE if known else _NOTHING, map(_block, found["principles"])
    show.blocks(f"{title}{more}", entries, empty=empty, total=found["total"])


def is_narrow(given: Answer) -> bool:
    """Tell whether filters were given; pages, an order and an id are none."""
    filters = given.keys() - {"limit", "skip", "sort", "principle", "as_dot"}
    return any(given[name] not in {None, "live"} for name in filters)


def _block(principle: Answer) -> show.Block:
    """Return a principle's entry in a list."""
    facts = joined(
        principle["category"],
        ", ".join(principle["domains"]),
        None if principle["status"] == "active" else principle["status"],
        "taken back" if principle["revoked"] else None,
        f"sure {principle['confidence']:.2f}",
        f"seen {principle['observations']}",
        counted(principle["linked"], "link") if principle["linked"] else None,
        f"in {counted(principle['resolved'], 'file')}" if principle["resolved"] else None,
        ", ".join(principle["projects"]),
        brief(principle["id"]),
    )
    return show.Block(
        f"{principle['rank']:.2f}", shortened(principle["content"], show.LONGEST), [facts]
    )


def ranked(found: Answer) -> Iterable[tuple[str, object]]:
    """Return what a rank is made of: each part, its weight, and what it adds."""
    why = found["why"]
    counts = {
        "frequency": f"seen {counted(found['observations'], 'time')}",
        "recency": f"{counted(why['days'], 'day')} ago",
        "links": counted(found["linked"], "link"),
    }
    for part in why["parts"]:
        product = f"{part['value']:.2f} x {part['weight']:.2f} = {part['points']:.3f}"
        yield _PARTS[part["name"]], f"{product}  {counts.get(part['name'], '')}".rstrip()
    yield "rank", f"{why['rank']:.3f}"
    if abs(why["rank"] - why["stored"]) >= _SHOWN:
        yield "stored", f"{why['stored']:.3f}  counted anew when principles are distilled next"


def linked(link: Answer) -> tuple[str, str]:
    """Return a link as one of its ends sees it: how, and with what."""
    other = link["other"]
    kind = "is needed by" if link["needed"] else link["type"].replace("_", " ")
    about = joined(f"strength {link['strength']:.2f}", link["decided_by"], link["reason"])
    text = f"{brief(other['id'])}  {cut(other.get('content', '(gone)'), OTHER)}"
    return kind, f"{text}\n{about}"


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
        ("bullet", found["bullet"] or f"none: {found['no_bullet']}"),
        ("domains", ", ".join(found["domains"])),
        ("tags", ", ".join(found["tags"])),
        ("sure", f"{found['confidence']:.2f}"),
        ("seen", counted(found["observations"], "time")),
        ("last", when(found["last_seen"])),
        ("since", when(found["created_at"])),
        ("projects", ", ".join(found["projects"])),
        ("fades", f"half of its recency in {in_days(round(found['why']['half_life_days']))}"),
    ]


def _made_of(found: Answer) -> Iterable[tuple[str, object]]:
    """Yield the insights it came of, with the share of each and the lines that say it."""
    for each in found["made_of"]:
        lines = [each["content"], *standing(each["sources"])]
        about = "" if each["status"] == "active" else f"  ({each['status']})"
        lines[0] = f"{cut(lines[0], show.LONGEST)}{about}"
        yield f"{each['weight']:.2f}  {brief(each['id'])}", "\n".join(lines)


def _files(found: Answer) -> Iterable[tuple[str, object]]:
    """Yield the files it was resolved into."""
    for each in found["files"]:
        conflict = "conflicts with the project" if each["is_conflict"] else None
        about = joined(f"for {each['agent']}, bullet {each['ordinal'] + 1}", conflict)
        yield when(each["resolved_at"]), f"{each['path']}\n{about}"


def page_of(found: Answer, noun: str, given: Answer) -> str:
    """Return which are shown, of how many."""
    shown, skip = len(found[f"{noun}s"]), given["skip"]
    which = f"{skip + 1:,} to {skip + shown:,}" if skip else f"{shown:,}"
    return f"{which} of {counted(found['total'], noun)}"


#: What checks are called where people read it, of which the name alone says too little.
_NEEDS = {
    "active": "status",
    "no_contradiction": "contradictions",
    "no_difference": "differences",
    "not_promoted": "principles of it",
    "not_private": "one person's own",
    "not_rejected": "turned down",
    "a_claim": "fact, command or example",
    "not_wary": "suspicious",
}

#: The unit of a check that has one.
_UNITS = {"age": " days"}

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
    unit = _UNITS.get(check["need"], "")
    line = f"{mark}  {actual} of {required}{unit}"
    return line if check["met"] else f"{line}, {_number(check['gap'])} to go"


def need(name: str) -> str:
    """Return what a check is called."""
    return _NEEDS.get(name, name.replace("_", " "))


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
    unit = _UNITS.get(check["need"], "")
    return f"{need(check['need'])} {_number(check['actual'])} of {_number(check['required'])}{unit}"


def _number(value: object) -> str:
    """Return a number with as many places as it needs, or a word."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2f}" if 0 < abs(value) < 1 else f"{value:.1f}".removesuffix(".0")


#: What a link is called in a sentence, from its source and from its target, where that differs
#: from its type.
_SAID = {
    "generalizes": ("generalizes", "specializes"),
    "specializes": ("specializes", "generalizes"),
    "depends_on": ("depends on", "is needed by"),
    "related": ("is related to", "is related to"),
}

#: Who says so, where it was not the rules.
_DECIDERS = {
    "nli": "the entailment model says so",
    "llm": "a language model says so",
    "person": "a person says so",
}

#: What is said where there is nothing to see: of what was asked for, and of anything.
_NO_LINK = "no such link is known; leave out a filter, or see: cortex principles links --status all"
_NO_LINKS = "no principles are linked yet; they are when there are some: cortex principles"
_ALONE = "it is linked with no other principle"

#: Characters of a principle in a list, and of one that it is linked with.
_TEXT, _OTHER = 200, 120


@shows(
    "principles links",
    "",
    "pri_4f0c9b21",
    "--type contradicts",
    "pri_4f0c9b21 --dot | dot -Tpng -o one.png",
    principle=Argument(metavar="[ID]"),
    status=Option(words=_STATES, one_of="principle.PrincipleStatus"),
    limit=Option(max=500, help="How many principles at most."),
    as_dot=Preset("--dot", help="Print the graph for Graphviz.", not_json=True),
)
def show_links(found: Answer, given: Answer) -> None:
    """Print principles with their links, each link once, under the end that stands higher."""
    if given["as_dot"]:
        _show_dot(found)
        return
    texts = {each["id"]: each for each in found["principles"]}
    order = {name: number for number, name in enumerate(texts)}
    told: dict[str, list[Answer]] = {name: [] for name in texts}
    for each in found["links"]:
        first, other = sorted((each["source_id"], each["target_id"]), key=order.__getitem__)
        told[first].append({**each, "line": _sentence(each, first, texts[other])})
    asked, narrow = found["principle"], is_narrow(given)
    if asked is not None:
        _show_around(texts[asked], told[asked], empty=_NO_LINK if narrow else _ALONE)
        return
    hidden = found["total"] - len(texts)
    more = f", {hidden:,} more are linked" if hidden else ""
    show.blocks(
        f"{counted(len(found['links']), 'link')} of {counted(len(texts), 'principle')}{more}",
        [
            show.Block(
                f"{each['rank']:.2f}",
                shortened(each["content"], _TEXT),
                [_about(each), *(link["line"] for link in links)],
            )
            for name, each in texts.items()
            if (links := told[name])
        ],
        empty=_NO_LINK if narrow else _NO_LINKS,
    )


def _show_dot(found: Answer) -> None:
    """Print a graph for Graphviz."""
    # For this alone: the domain is not loaded for a list.
    from cortex_actors.render.graph import graph_of  # noqa: PLC0415

    print(graph_of(found), end="")


def _show_around(each: Answer, links: Sequence[Answer], *, empty: str) -> None:
    """Print one principle and what it is linked with, and why."""
    show.title(cut(each["content"]))
    show.title(f"rank {each['rank']:.2f} · {_about(each)}", "dim")
    if not links:
        show.title(empty, "")
    for link in links:
        print()
        show.title(link["line"], "")
        show.title(joined(link["reason"], _DECIDERS.get(link["decided_by"])), "dim")


def _about(each: Answer) -> str:
    """Return what else is known of a principle."""
    status = "" if each["status"] == "active" else each["status"]
    facts = [each["category"].replace("_", " "), ", ".join(each["domains"]), status]
    return joined(*facts, brief(each["id"]))


def _sentence(link: Answer, first: str, other: Answer) -> str:
    """Return a link as a sentence whose subject is one of its ends."""
    kind = link["type"]
    said = _SAID.get(kind, (kind, kind))[link["source_id"] != first]
    text = shortened(other["content"], _OTHER)
    return f"{said} ({link['strength']:.2f}): {brief(other['id'])} {text}"
