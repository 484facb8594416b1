"""`insights`: what was learned, or one insight whole, and why it is what it is.

`insights fragments`: what each part of a file says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, Joined, One, Option, shows
from cortex_actors.cli.pipeline.principles import ORDERS, format_checks, is_narrow
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

#: Places that are named of an insight that is shown whole.
PLACES = 20

#: Texts that are named of those which say the same.
SAME = 10

#: Characters of another text.
OTHER = 160

#: Categories whose examples are named, where they were asked.
NEAREST = 3


def _facts(found: Answer) -> Iterable[tuple[str, object]]:
    """Return what an insight is, by name."""
    places = list_places(found["sources"], most=PLACES)
    cluster = []
    if some := found["cluster"]:
        size = count_nouns(some["size"], "insight")
        cluster = [f"{shorten_id(some['id'])}, {size}, coherence {some['coherence']:.2f}"]
        cluster += _named([each for each in some["members"] if each["id"] != found["id"]])
    lines = [
        join_facts(
            shorten_id(each["id"]), each["category"], f"rank {each['rank']:.2f}", each["status"]
        )
        for each in found["principles"]
    ]
    return [
        ("id", found["id"]),
        ("under", found["heading"] or ""),
        ("is a", f"{found['kind'] or found['granularity']}, of category {found['category']}"),
        ("domain", found["domain"] or ""),
        ("tags", ", ".join(found["tags"])),
        ("sure", f"{found['confidence']:.2f}"),
        ("seen", count_nouns(found["observations"], "time")),
        ("first", format_moment(found["first_seen"])),
        ("last", format_moment(found["last_seen"])),
        ("projects", ", ".join(found["projects"])),
        ("read in", "\n".join(places) or "nowhere any more"),
        ("holds in", "\n".join(dict.fromkeys(e["scope"] for e in found["sources"] if e["scope"]))),
        ("same as", "\n".join(_named(found["represents"]))),
        ("cluster", "\n".join(cluster)),
        ("principle", "\n".join(lines)),
    ]


def _named(some: Sequence[Answer]) -> list[str]:
    """Return some texts, a line each, and how many more there are."""
    lines = [f"{shorten_id(each['id'])}  {cut(each['content'], OTHER)}" for each in some[:SAME]]
    return [*lines, f"and {len(some) - SAME} more"] if some[SAME:] else lines


def _category(found: Answer) -> list[tuple[str, object]]:
    """Return what spoke for which category, domain and tag."""
    why = found["why"]
    category = why["category"]
    rows: list[tuple[str, object]] = [(each["name"], _words(each)) for each in category["words"]]
    if category["tied"]:
        rows.append(("a tie", "goes to the first in the alphabet"))
    for each in category.get("nearest", [])[:NEAREST]:
        text = f"cosine {each['cosine']:.2f}, such as: {each['example']}"
        rows.append((each["category"], text))
    rows.append(("decided by", _decided(category)))
    rows += [(f"domain {each['name']}", _words(each)) for each in why["domain"]]
    rows += [(f"tag {each['name']}", _words(each)) for each in why["tags"]]
    return rows


def _decided(category: Answer) -> str:
    """Return who decided about a category, and how surely."""
    by, sure = category["decided_by"], category["confidence"] or 0.0
    if by == "nobody":
        return "no rule: no keyword matches and no example is near enough, so it counts as a fact"
    if by == "prototypes":
        return f"the nearest examples, because no keyword speaks; {sure:.2f}"
    return f"keywords, {sure:.2f}"


def _confidence(found: Answer) -> list[tuple[str, object]]:
    """Return the steps that lead to the confidence."""
    why = found["why"]["confidence"]
    rows: list[tuple[str, object]] = [
        (each["about"], f"{each['value']:.2f}  {each['does']}") for each in why["steps"]
    ]
    last = why["steps"][-1]["value"]
    if f"{last:.2f}" != f"{why['stored']:.2f}":
        rows.append(("stored", f"{why['stored']:.2f}  computed again at the next reconciliation"))
    return rows


def _status(found: Answer) -> list[tuple[str, object]]:
    """Return why an insight has its status, and what speaks against it."""
    rows: list[tuple[str, object]] = [("because", found["why"]["status"])]
    if found["represented_by"]:
        rows.append((shorten_id(found["represented_by"]["id"]), found["represented_by"]["content"]))
    for each in found["contradictions"]:
        text = cut(str((each["other"] or {}).get("content", "")), OTHER)
        about = join_facts(each["type"], each["status"], each["reason"])
        rows.append((shorten_id(each["id"]), f"{text}\n{about}"))
    return rows


def _words(count: Answer) -> str:
    """Return the keywords that spoke."""
    return ", ".join(count["words"])


#: Kinds worth a word in a list; that it is a rule or a fact is what its category says better.
_SHOWN_KINDS = frozenset({"command", "example"})

#: What is said where no insight is listed: of those that were asked for, and of any.
_NONE = "no such insight is known; leave out a filter, or see: cortex insights --status all"
_NOTHING = "nothing was learned yet; follow a project with: cortex init PATH"


@shows(
    "insights",
    "",
    "commit message --project atlas-api",
    "--category warning --domain python --sort seen",
    "--in docs --min-confidence 0.6 --json",
    "--status pending_review",
    "--explain ins_4f0c9b21",
    asks="insights.list",
    is_group=True,
    search=Joined(metavar="[WORD...]", help="Words that all occur in one."),
    status=Option(words=("live", "all"), one_of="insight.InsightStatus"),
    one=One(
        operation="insights.show",
        option=Option("--explain", help="Show one whole, and why it is so."),
        alone="--explain needs an id and nothing else; see: cortex insights --help",
    ),
)
def show_insights(found: Answer, given: Answer) -> None:
    """Print a list of insights, or one of them whole."""
    if "insights" in found:
        show.page(
            [*map(_block, found["insights"])],
            found["total"],
            "insight",
            empty=_NONE if is_narrow(given) else _NOTHING,
            more=f", {ORDERS[given['sort']]}",
            skip=given["skip"],
        )
    else:
        for line in found["content"].splitlines():
            show.title(line)
        print()
        show.facts(*_facts(found))
        show.sections(
            (f"Why {found['category']}", _category(found)),
            ("Why so sure", _confidence(found)),
            (f"Why {found['status']}", _status(found)),
            ("On the way to a principle", format_checks(found["promotion"])),
        )


def _block(insight: Answer) -> show.ListEntry:
    """Return an insight's entry in a list."""
    facts = join_facts(
        insight["category"],
        insight["kind"] if insight.get("kind") in _SHOWN_KINDS else None,
        insight.get("domain"),
        None if insight.get("status", "active") == "active" else insight["status"],
        f"seen {insight['observations']}",
        ", ".join(insight["projects"]),
        shorten_id(insight["id"]),
    )
    about = [facts, *list_places(insight["sources"])]
    if insight.get("review"):
        about.insert(1, f"waits for a person: {insight['review']}")
    if other := insight.get("represented_by"):
        about.insert(1, f"counts for {shorten_id(other['id'])}: {shorten(other['content'])}")
    text = shorten(insight["content"], show.LONGEST)
    return show.ListEntry(f"{insight['confidence']:.2f}", text, about)


def resolve_path(path: Path) -> str:
    """Return the path of a file as files are known: no part of it is a link."""
    return str(path.resolve())


@shows(
    "insights fragments",
    "",
    "~/code/atlas-api/CLAUDE.md",
    "--sort size --limit 5",
    path=Argument(metavar="[PATH]", read=resolve_path),
)
def show_fragments(found: Answer) -> None:
    """Print the parts of instruction files."""
    empty = "nothing was learned from there; see what is followed with: cortex projects"
    show.page([*map(_part, found["fragments"])], found["total"], "fragment", empty=empty)


def _part(each: Answer) -> show.ListEntry:
    """Return a fragment's entry in a list."""
    facts = join_facts(
        count_nouns(each["statements"], "insight"),
        f"{each['shared']} said elsewhere, too" if each["shared"] else None,
        f"{each['contradicted']} contradicted" if each["contradicted"] else None,
        f"{each['waiting']} waiting for a person" if each["waiting"] else None,
        each["project"],
        f"in {each['scope']}" if each["scope"] else None,
    )
    lines, name = f"{each['line_start']}-{each['line_end']}", each["heading"]
    return show.ListEntry(lines, name or "(before the first heading)", [facts, each["path"]])
