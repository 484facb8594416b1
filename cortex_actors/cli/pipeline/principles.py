"""`principles`: what was distilled, in which order, and what the rank of one is made of.

`principles links`: how principles are related, as text or for Graphviz: a graph in DOT, boxes of
text and their links. Texts come from files of other people. What is drawn of them is plain: one
line without anything that could hide, turn around or end what is around it, and escaped for DOT.

How the checks of a promotion are shown: what there is, what is asked for, and the gap.

`promotion`: what holds insights up on the way to principles, and what if one were promoted.

`eligible`: what an insight still lacks to become a principle, and which are nearest to it.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, Joined, One, Option, Preset, shows
from cortex_actors.cli.show import (
    count_nouns,
    cut,
    format_moment,
    join_facts,
    list_places,
    shorten,
    shorten_id,
)
from cortex_actors.client.connection import Answer
from cortex_actors.clock import count_days

#: What each order of insights and principles is called in the title.
ORDERS = {
    "rank": "highest rank first",
    "sure": "surest first",
    "seen": "most often seen first",
    "linked": "most linked first",
    "newest": "newest first",
    "oldest": "oldest first",
    "doubt": "least surely classified first",
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

#: What is said where there is no insight either.
_UNTAUGHT = "nothing was learned yet; follow a project with: cortex init PATH"

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
            (f"Why {found['why']['rank']:.2f}", list_rank_parts(found)),
            ("What it was made of", _made_of(found)),
            ("What it is linked with", [format_link(each) for each in found["links"]]),
            (
                "Files that have it",
                [(format_moment(e["resolved_at"]), _file(e)) for e in found["files"]],
            ),
        )
        return
    waning = [f"{number:,} {name}" for name, number in found["by_status"].items() if number]
    more = f" ({', '.join(waning)})" if len(waning) > 1 else ""
    show.page(
        [*map(_block, found["principles"])],
        found["total"],
        "principle",
        empty=_NONE if is_narrow(given) or waning else _NOTHING,
        more=f", {ORDERS[given['sort']]}{more}",
        skip=given["skip"],
    )


def _file(place: Answer) -> str:
    """Return a file that has a principle, and where in it that is."""
    return f"{place['path']}\n{show.describe_bullet(place)}"


def is_narrow(given: Answer) -> bool:
    """Tell whether filters were given; pages, an order and an id are none."""
    filters = given.keys() - {"limit", "skip", "sort", "principle", "as_dot"}
    return any(given[name] not in {None, "live"} for name in filters)


def _block(principle: Answer) -> show.ListEntry:
    """Return a principle's entry in a list."""
    facts = join_facts(
        principle["category"],
        ", ".join(principle["domains"]),
        None if principle["status"] == "active" else principle["status"],
        "taken back" if principle["revoked"] else None,
        f"sure {principle['confidence']:.2f}",
        f"seen {principle['observations']}",
        count_nouns(principle["linked"], "link") if principle["linked"] else None,
        f"in {count_nouns(principle['resolved'], 'file')}" if principle["resolved"] else None,
        ", ".join(principle["projects"]),
        shorten_id(principle["id"]),
    )
    text = shorten(principle["content"], show.LONGEST)
    return show.ListEntry(f"{principle['rank']:.2f}", text, [facts])


def list_rank_parts(found: Answer) -> Iterable[tuple[str, object]]:
    """Return what a rank is made of: each part, its weight, and what it adds."""
    why = found["why"]
    counts = {
        "frequency": f"seen {count_nouns(found['observations'], 'time')}",
        "recency": f"{count_nouns(why['days'], 'day')} ago",
        "links": count_nouns(found["linked"], "link"),
    }
    for part in why["parts"]:
        product = f"{part['value']:.2f} x {part['weight']:.2f} = {part['points']:.3f}"
        yield _PARTS[part["name"]], f"{product}  {counts.get(part['name'], '')}".rstrip()
    yield "rank", f"{why['rank']:.3f}"
    if abs(why["rank"] - why["stored"]) >= _SHOWN:
        yield "stored", f"{why['stored']:.3f}  counted again when principles are distilled next"


def format_link(link: Answer) -> tuple[str, str]:
    """Return a link as one of its ends sees it: how, and with what."""
    other = link["other"]
    kind = "is needed by" if link["needed"] else link["type"].replace("_", " ")
    about = join_facts(f"strength {link['strength']:.2f}", link["decided_by"], link["reason"])
    text = f"{shorten_id(other['id'])}  {cut(other.get('content', '(gone)'), OTHER)}"
    return kind, f"{text}\n{about}"


def _facts(found: Answer) -> Iterable[tuple[str, object]]:
    """Return what a principle is, by name."""
    undo = f"cortex projects revoke --undo {shorten_id(found['id'])}"
    return [
        ("id", found["id"]),
        ("is a", f"{found['category']}, {found['status']}, of {_ORIGINS[found['origin']]}"),
        ("given", f"to no file: it was taken back ({undo})" if found["revoked"] else ""),
        ("bullet", found["bullet"] or f"none: {found['no_bullet']}"),
        ("domains", ", ".join(found["domains"])),
        ("tags", ", ".join(found["tags"])),
        ("sure", f"{found['confidence']:.2f}"),
        ("seen", count_nouns(found["observations"], "time")),
        ("last", format_moment(found["last_seen"])),
        ("since", format_moment(found["created_at"])),
        ("projects", ", ".join(found["projects"])),
        ("fades", f"half of its recency in {count_days(round(found['why']['half_life_days']))}"),
    ]


def _made_of(found: Answer) -> Iterable[tuple[str, object]]:
    """Yield the insights it came of, with the share of each and the lines that say it."""
    for each in found["made_of"]:
        about = "" if each["status"] == "active" else f"  ({each['status']})"
        lines = [f"{cut(each['content'])}{about}", *list_places(each["sources"])]
        yield f"{each['weight']:.2f}  {shorten_id(each['id'])}", "\n".join(lines)


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

#: What a check asks for that nothing may speak against.
_NO = "no"


def format_check(check: Answer) -> str:
    """Return one check as a line: `0.57 of 0.70, 0.13 to go`."""
    required, line = check["required"], f"{'ok' if check['met'] else '--'}  {_measure(check)}"
    if check.get("waived"):
        return f"ok  {_number(check['actual'])}, and a person has approved it"
    if check["met"] or required == _NO:
        return line
    if isinstance(check["actual"], str):
        return f"{line}, must be {required}"
    return f"{line}, {_number(check['gap'])} to go" if required else f"{line}, must be none"


def _measure(check: Answer) -> str:
    """Return what a check found, and of how much where that is a number."""
    actual, required = check["actual"], check["required"]
    if isinstance(actual, str) or not required:
        return _number(actual)
    return f"{_number(actual)} of {_number(required)}{' days' * (check['need'] == 'age')}"


def format_checks(found: Answer) -> list[tuple[str, str]]:
    """Return the checks of a promotion: what each is called, and its line."""
    return [(name_need(each["need"]), format_check(each)) for each in found["checks"]]


def name_need(name: str) -> str:
    """Return what a check is called."""
    return _NEEDS.get(name, name.replace("_", " "))


def is_trouble(check: Answer) -> bool:
    """Return whether a check is not met because of something that must not be, said in words."""
    return bool(check["required"] == _NO)


def format_gap(check: Answer) -> str:
    """Return what a check lacks, in a few words."""
    if check["need"] == "active":
        return f"is {check['actual']}"
    if is_trouble(check):
        return str(check["actual"])
    mark = "" if check["gap"] and check["required"] else ":"
    return f"{name_need(check['need'])}{mark} {_measure(check)}"


def _number(value: object) -> str:
    """Return a number with as many places as it needs, or a word."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2f}" if 0 < abs(value) < 1 else f"{value:.1f}".removesuffix(".0")


#: What a link is called from its target, where that differs from its type.
_BACK = {
    "generalizes": "specializes",
    "specializes": "generalizes",
    "depends_on": "is needed by",
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


@shows(
    "principles links",
    "",
    "pri_4f0c9b21",
    "--type contradicts",
    "pri_4f0c9b21 --dot | dot -Tpng -o one.png",
    principle=Argument(metavar="[ID]"),
    status=Option(words=_STATES, one_of="principle.PrincipleStatus"),
    limit=Option(max=500, help="How many principles at most."),
    as_dot=Preset("--dot", help="Print the graph for Graphviz."),
)
def show_links(found: Answer, given: Answer) -> None:
    """Print principles with their links, each link once, under the end that ranks higher."""
    if given["as_dot"]:
        print(draw_graph(found), end="")
        return
    texts = {each["id"]: each for each in found["principles"]}
    order = {name: number for number, name in enumerate(texts)}
    told: dict[str, list[str]] = {name: [] for name in texts}
    asked = found["principle"]
    for each in found["links"]:
        first, other = sorted((each["source_id"], each["target_id"]), key=order.__getitem__)
        told[first].append(_sentence(each, first, texts[other]))
        if asked:
            told[first].append(join_facts(each["reason"], _DECIDERS.get(each["decided_by"])))
    hidden = found["total"] - len(texts)
    more = f", {hidden:,} more are linked" if hidden else ""
    entries = []
    for name, each in texts.items():
        if (lines := told[name]) and asked in {None, name}:
            status = None if each["status"] == "active" else each["status"]
            kind, domains = each["category"].replace("_", " "), ", ".join(each["domains"])
            about = join_facts(kind, domains, status, shorten_id(each["id"]))
            text = shorten(each["content"], 200)
            entries.append(show.ListEntry(f"{each['rank']:.2f}", text, [about, *lines]))
    title = (
        f"{count_nouns(len(found['links']), 'link')} of "
        f"{count_nouns(len(texts), 'principle')}{more}"
    )
    empty = _NO_LINK if is_narrow(given) else _ALONE if asked else _NO_LINKS
    show.blocks(title, entries, empty=empty)


def _sentence(link: Answer, first: str, other: Answer) -> str:
    """Return a link as a sentence whose subject is one of its ends."""
    kind = str(link["type"]).replace("_", " ")
    said = kind if link["source_id"] == first else _BACK.get(link["type"], kind)
    return (
        f"{said} ({link['strength']:.2f}): {shorten_id(other['id'])} "
        f"{shorten(other['content'], 120)}"
    )


def _entry(each: Answer) -> show.ListEntry:
    """Return an insight's entry in the overview."""
    missing = each["missing"]
    numbers = ", ".join(format_gap(check) for check in missing if not is_trouble(check))
    lines = [
        f"lacks {numbers}" if numbers else "",
        *(f"but {format_gap(check)}" for check in missing if is_trouble(check)),
        "" if missing else "lacks nothing: the next run promotes it",
        join_facts(
            f"seen {each['observations']}", ", ".join(each["projects"]), shorten_id(each["id"])
        ),
    ]
    return show.ListEntry(f"{each['confidence']:.2f}", shorten(each["content"], 160), lines)


def _verdict(found: Answer) -> str:
    """Return what all checks together say."""
    if found["eligible"]:
        return "it has earned it: the next run promotes it"
    missing = found["missing"]
    if "not_promoted" in missing:
        return "it is a principle already"
    if missing == ["projects"]:
        kept = "one project has kept it long enough: it waits for another project, or for a person"
        return f"{kept} (cortex review approve {shorten_id(found['id'])})"
    if {*missing} <= {"projects", "not_wary"}:
        return f"a person has to look at it: cortex review show {shorten_id(found['id'])}"
    nearest = f"; nearest is {name_need(found['nearest'])}" if found["nearest"] else ""
    return f"{len(missing)} of {len(found['checks'])} are missing{nearest}"


#: What each reason means, where it is said of many.
_MEANS = {
    "ready": "nothing is missing: the next run promotes them",
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
    reason=Option(words=(*_MEANS,), help=f"Only those that this holds up: {', '.join(_MEANS)}."),
)
def show_promotion(found: Answer, given: Answer) -> None:
    """Print how many are held up by what, and the nearest of them; or what if one were not."""
    if "checks" in found:
        _show_what_if(found)
        return
    reason, known = given["reason"], {name: n for name, n in found["reasons"].items() if n}
    if reason is None:
        show.title(f"{count_nouns(found['looked_at'], 'insight')} on the way to a principle")
        rows = [
            (name_need(name), f"{n:,}  {_MEANS.get(name, '')}".rstrip())
            for name, n in known.items()
        ]
        show.facts(*rows)
        print()
        what, empty = "nearest first", "all of them are principles: cortex principles"
    else:
        label = name_need(reason)
        what = f"held up by: {label}"
        empty = f"no insight is held up by {label}; leave out --reason to see what is"
    if not found["looked_at"]:
        empty = _UNTAUGHT
    title = f"{count_nouns(len(found['insights']), 'insight')}, {what}"
    show.blocks(title, map(_entry, found["insights"]), empty=empty)


def _show_what_if(found: Answer) -> None:
    """Print what an insight has and lacks, and what its promotion would do now."""
    show.title(cut(found["content"]))
    print()
    show.facts(*format_checks(found))
    print()
    out = show.make_console()
    if found["would"] != "already_promoted":
        out.print(_verdict(found))
    if found["together"] and not found["eligible"]:
        others = count_nouns(len(found["together"]), "other")
        out.print(f"but it has earned it together with {others} of its cluster")
    show.lines(_would(found))
    if found["would"] != "would_promote" and not found["replaces"]:
        return
    preview = found["preview"]
    facts = [
        ("says", cut(preview["content"])),
        ("because", preview["elaboration"] or ""),
        ("is a", join_facts(preview["category"], ", ".join(preview["domains"]))),
        ("tags", ", ".join(preview["tags"])),
        ("sure", f"{preview['confidence']:.2f}"),
        *list_rank_parts(preview),
    ]
    links = [format_link(each) for each in found["links"]]
    show.sections(("What it would be", facts), ("What it would be linked with", links))


def _would(found: Answer) -> str:
    """Return what a promotion would do, a sentence."""
    would, other = found["would"], found["same_as"]
    if would == "would_do_nothing":
        return f"nothing would come of it: {found['reason']}"
    if would == "would_promote":
        preview = found["preview"]
        text = f"it would become {preview['id']}: {preview['category']}, rank {preview['rank']:.2f}"
        return text if found["compared"] else f"{text}; it has no vector yet: ask again later"
    name = f"{shorten_id(other['id'])} ({cut(other['content'])})"
    if would == "already_promoted":
        return f"it is part of {name} already"
    if found["replaces"]:
        return f"it would take the place of {name}, which says the same: {found['reason']}"
    if would == "would_dedup_exact":
        return f"it would only add to {name}, which says it word for word"
    return f"it would only add to {name}, which says the same: {found['reason']}"


#: Letters of a line of text in a box, and lines of one box; what is longer is cut.
COLUMNS, LINES = 28, 3

#: Types that say which end is which.
DIRECTED: Final = frozenset({"generalizes", "depends_on"})


def clean(text: str) -> str:
    """Return a text as one line of letters and signs: nothing that is hidden, moves or turns."""
    spaced = "".join(" " if unicodedata.category(each)[0] in "ZC" else each for each in text)
    return " ".join(spaced.split())


def wrap(text: str) -> list[str]:
    """Return a text in lines of a box; the last may be cut, and says so."""
    return textwrap.wrap(clean(text), COLUMNS, max_lines=LINES, placeholder="…")


#: Type of a link -> how its line is drawn.
_LINES: Final = {
    "reinforces": 'color="#1a7f37", penwidth=2',
    "generalizes": 'color="#0969da"',
    "contradicts": 'color="#cf222e", style=dashed, penwidth=2',
    "depends_on": 'color="#9a6700"',
    "related": 'color="#8c959f"',
}

_HEAD = (
    "digraph principles {",
    "  graph [overlap=false, splines=true, pad=0.3];",
    '  node [shape=box, style=rounded, fontname="sans-serif", fontsize=11];',
    '  edge [fontname="sans-serif", fontsize=9];',
)


def draw_graph(found: Mapping[str, Any]) -> str:
    """Return what `principles.links` answers as a graph in DOT, each link told one way.

    One line for each box and each link; links of other ends are left out. The same for the same.
    """
    known = {each["id"] for each in found["principles"]}
    links = [
        _general(each) for each in found["links"] if {each["source_id"], each["target_id"]} <= known
    ]
    links.sort(key=lambda e: (*sorted((e["source_id"], e["target_id"])), e["type"], e["source_id"]))
    boxes = [_box(each, asked=found["principle"]) for each in found["principles"]]
    return "\n".join([*_HEAD, *boxes, *map(_link, links), "}", ""])


def _general(link: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a link from the other end where it says which one is special."""
    if link["type"] != "specializes":
        return link
    ends = {"source_id": link["target_id"], "target_id": link["source_id"]}
    return {**link, **ends, "type": "generalizes"}


def _box(principle: Mapping[str, Any], *, asked: str | None) -> str:
    """Return the line of a principle: its text, its rank and its category."""
    about = f"{principle['rank']:.2f} · {principle['category'].replace('_', ' ')}"
    text = r"\n".join(map(_escaped, [*wrap(principle["content"]), about]))
    bold = ", penwidth=2" if principle["id"] == asked else ""
    return f'  {_quoted(principle["id"])} [label="{text}"{bold}];'


def _link(link: Mapping[str, Any]) -> str:
    """Return the line of a link; what has no direction gets no arrow."""
    kind = link["type"]
    arrow = "" if kind in DIRECTED else ", dir=none"
    return (
        f"  {_quoted(link['source_id'])} -> {_quoted(link['target_id'])}"
        f' [label="{kind.replace("_", " ")}", tooltip={_quoted(link["reason"])},'
        f" {_LINES[kind]}{arrow}];"
    )


def _quoted(text: str) -> str:
    """Return a text as a string of DOT."""
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    r"""Return a text so that neither a quote ends it nor a backslash means something."""
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
