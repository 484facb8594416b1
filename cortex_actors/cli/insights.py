"""`insights`: what was learned, why it is taken for what it is, and what waits for a person.

How one insight is shown whole: what it says, where, and why it is what it is.

`clusters` and `fragments`: what says nearly the same, and what each part of a file says.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.filters import (
    BelowOption,
    CategoryOption,
    CoherenceOption,
    DomainOption,
    KindOption,
    LimitOption,
    ProjectOption,
    SizeOption,
    SkipOption,
    StatusOption,
    SureOption,
    TagOption,
    Words,
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
    examples,
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
from cortex_actors.cli.principles import check_line
from cortex_actors.cli.projects import meant
from cortex_actors.client.connection import Client
from cortex_actors.domain.insight import SHOWN, ClusterSort, FragmentSort, InsightSort
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cortex_actors.client.connection import Answer


#: Places that are named of an insight that is shown whole.
PLACES = 20

#: Texts that are named of those which say the same.
SAME = 10

#: Characters of another text.
OTHER = 160

#: Categories whose examples are named, where they were asked.
NEAREST = 3


def show_insight(found: Answer, *, as_json: bool) -> None:
    """Print an insight and its grounds."""
    if as_json:
        show_json(found)
        return
    out = console()
    for line in found["content"].splitlines():
        out.print(visible(line), style="bold")
    out.print()
    show_facts(_facts(found))
    for title, rows in (
        (f"Why {found['category']}", _category(found)),
        ("Why so sure", _confidence(found)),
        (f"Why {found['status']}", _status(found)),
        ("On the way to a principle", _promotion(found)),
    ):
        out.print()
        out.print(title, style="bold")
        show_facts(rows, indent=2)


def _facts(found: Answer) -> Iterable[tuple[str, object]]:
    """Return what an insight is, by name."""
    places = standing(found["sources"], most=PLACES)
    cluster = found["cluster"]
    return [
        ("id", found["id"]),
        ("under", found["heading"] or ""),
        ("is a", f"{found['kind'] or found['granularity']}, of category {found['category']}"),
        ("domain", found["domain"] or ""),
        ("tags", ", ".join(found["tags"])),
        ("sure", f"{found['confidence']:.2f}"),
        ("seen", counted(found["observations"], "time")),
        ("first", when(found["first_seen"])),
        ("last", when(found["last_seen"])),
        ("projects", ", ".join(found["projects"])),
        ("read in", "\n".join(places) or "nowhere any more"),
        ("holds in", "\n".join(dict.fromkeys(e["scope"] for e in found["sources"] if e["scope"]))),
        ("same as", _same(found["represents"])),
        ("cluster", _cluster(cluster) if cluster else ""),
        ("principle", _principles(found["principles"])),
    ]


def _category(found: Answer) -> list[tuple[str, object]]:
    """Return what spoke for which category, domain and tag."""
    why = found["why"]
    category = why["category"]
    rows: list[tuple[str, object]] = [(each["name"], _words(each)) for each in category["words"]]
    if category["tied"]:
        rows.append(("a tie", "goes to the first in the alphabet"))
    rows += [
        (each["category"], f"cosine {each['cosine']:.2f}, such as: {each['example']}")
        for each in category.get("nearest", [])[:NEAREST]
    ]
    rows.append(("decided by", _decided(category)))
    rows += [(f"domain {each['name']}", _words(each)) for each in why["domain"]]
    rows += [(f"tag {each['name']}", _words(each)) for each in why["tags"]]
    return rows


def _decided(category: Answer) -> str:
    """Return who decided about a category, and how surely."""
    by, sure = category["decided_by"], category["confidence"] or 0.0
    if by == "nobody":
        return "nobody: no keyword speaks and no example is near enough, so it counts as a fact"
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
        rows.append(("stored", f"{why['stored']:.2f}  weighed anew when it is reconciled next"))
    return rows


def _status(found: Answer) -> list[tuple[str, object]]:
    """Return why an insight stands so, and what speaks against it."""
    rows: list[tuple[str, object]] = [("because", found["why"]["status"])]
    if found["represented_by"]:
        rows.append((brief(found["represented_by"]["id"]), found["represented_by"]["content"]))
    for each in found["contradictions"]:
        other = each["other"] or {}
        text = cut(str(other.get("content", "")), OTHER)
        about = joined([each["type"], each["status"], each["reason"]])
        rows.append((brief(each["id"]), f"{text}\n{about}"))
    return rows


def _promotion(found: Answer) -> list[tuple[str, object]]:
    """Return what an insight has and lacks of what makes it a principle."""
    return [
        (each["need"].replace("_", " "), check_line(each)) for each in found["promotion"]["checks"]
    ]


def _principles(some: list[dict[str, Any]]) -> str:
    """Return the principles that come of an insight, a line each."""
    lines = [
        joined([brief(each["id"]), each["category"], f"rank {each['rank']:.2f}", each["status"]])
        for each in some
    ]
    return "\n".join(lines)


def _words(count: dict[str, Any]) -> str:
    """Return the keywords that spoke."""
    return ", ".join(count["words"])


def _same(others: list[Answer]) -> str:
    """Return the texts that an insight stands for."""
    lines = [f"{brief(each['id'])}  {cut(each['content'], OTHER)}" for each in others[:SAME]]
    if len(others) > SAME:
        lines.append(f"and {len(others) - SAME} more")
    return "\n".join(lines)


def _cluster(cluster: Answer) -> str:
    """Return which cluster an insight is in."""
    size = counted(cluster["size"], "insight")
    return f"{brief(cluster['id'])}, {size}, coherence {cluster['coherence']:.2f}"


#: Seconds an explanation may take: examples may have to be embedded first.
PATIENCE = 60.0

#: What each order is called in the title.
_ORDERS = {
    InsightSort.SURE: "surest first",
    InsightSort.SEEN: "most often seen first",
    InsightSort.NEWEST: "newest first",
    InsightSort.OLDEST: "oldest first",
    InsightSort.DOUBT: "least surely classified first",
}

#: Kinds worth a word in a list; that it is a rule or a fact is what its category says better.
_SHOWN_KINDS = frozenset({"command", "example"})

#: What is said where no insight is listed: of those that were asked for, and of any.
_NONE = "no such insight is known; leave out a filter, or see: cortex insights --status all"
_NOTHING = "nothing was learned yet; follow a project with: cortex init PATH"


def group() -> typer.Typer:
    """Return the group."""
    return listing(
        insights,
        "cortex insights",
        "cortex insights commit message --project atlas-api",
        "cortex insights --category warning --domain python --sort seen",
        "cortex insights --in docs --min-confidence 0.6 --json",
        "cortex insights --status pending_review",
        "cortex insights --explain ins_4f0c9b21",
        "cortex insights --approve ins_4f0c9b21",
    )


def insights(
    words: Words = None,
    *,
    project: ProjectOption = None,
    below: BelowOption = None,
    status: StatusOption = SHOWN,
    category: CategoryOption = None,
    kind: KindOption = None,
    domain: DomainOption = None,
    tag: TagOption = None,
    least: SureOption = None,
    sort: Annotated[InsightSort, typer.Option(help="What comes first.")] = InsightSort.SURE,
    limit: LimitOption = 20,
    skip: SkipOption = 0,
    explain: Annotated[
        str | None, typer.Option(metavar="ID", help="Show one whole, and why it is so.")
    ] = None,
    approve: Annotated[
        str | None, typer.Option(metavar="ID", help="Let one be used that waits for a person.")
    ] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what was learned from instruction files, surest first."""
    client = Client(home, timeout=PATIENCE)
    if explain or approve:
        _one(client, explain, approve, as_json=as_json)
        return
    wanted: dict[str, Any] = {"project": meant(project), "search": " ".join(words or ())}
    wanted |= {"status": status, "category": category, "kind": kind, "domain": domain, "tag": tag}
    wanted |= {"least": least, "path": str(below.absolute()) if below else None}
    narrow = {name: each for name, each in wanted.items() if each not in {None, "", SHOWN}}
    found = client.call("insights", limit=limit, skip=skip, sort=sort, **narrow)
    if as_json:
        show_json(found)
        return
    blocks = [block(each) for each in found["insights"]]
    empty = nothing(found["total"], _NONE if narrow else _NOTHING)
    show_blocks(_title(found, skip=skip, sort=sort), blocks, empty=empty)


def block(insight: Answer) -> Block:
    """Return an insight's entry in a list."""
    usual = insight.get("status", "active") == "active"
    facts = joined(
        [
            insight["category"],
            insight["kind"] if insight.get("kind") in _SHOWN_KINDS else None,
            insight.get("domain"),
            None if usual else insight["status"],
            f"seen {insight['observations']}",
            ", ".join(insight["projects"]),
            brief(insight["id"]),
        ]
    )
    about = [facts, *standing(insight["sources"])]
    if insight.get("review"):
        about.insert(1, f"waits for a person: {insight['review']}")
    if other := insight.get("represented_by"):
        about.insert(1, f"counts for {brief(other['id'])}: {shortened(other['content'])}")
    return Block(f"{insight['confidence']:.2f}", shortened(insight["content"], LONGEST), about)


def _title(found: Answer, *, skip: int, sort: InsightSort) -> str:
    """Return how many are shown of how many, and in which order."""
    shown = len(found["insights"])
    which = f"{skip + 1:,} to {skip + shown:,}" if skip else f"{shown:,}"
    return f"{which} of {counted(found['total'], 'insight')}, {_ORDERS[sort]}"


def _one(client: Client, explain: str | None, approve: str | None, *, as_json: bool) -> None:
    """Show one insight whole, or let it be used; raises `UsageError` for both at once."""
    if explain and approve:
        raise UsageError("say one of --explain and --approve; see: cortex insights --help")
    if approve:
        _approve(client, approve, as_json=as_json)
    else:
        show_insight(client.call("insight", insight=explain), as_json=as_json)


def _approve(client: Client, name: str, *, as_json: bool) -> None:
    """Let an insight be used, and say what becomes of it."""
    found = client.call("approve_insight", insight=name)
    if as_json:
        show_json(found)
        return
    print(f"approved {found['id']}; it is {found['status']} now")


#: What is said where no cluster is listed: of those that were asked for, and of any.
_NO_CLUSTER = "no such cluster is known; leave out a filter"
_NO_CLUSTERS = (
    "no cluster is known; clusters are made when insights are compared: cortex insights reconcile"
)

#: Members beside the middle one that a list names of a cluster, and characters of each.
MEMBERS, MEMBER = 4, 120

#: Members of the smallest cluster that a list shows unless it is asked for smaller ones.
SMALLEST = 2


def register_clusters(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "clusters",
        epilog=examples(
            "cortex insights clusters",
            "cortex insights clusters commit --sort loose",
            "cortex insights clusters --min-size 3 --project atlas-api",
            "cortex insights clusters --show clu_77d01f3c",
        ),
    )(clusters)
    app.command(
        "fragments",
        epilog=examples(
            "cortex insights fragments",
            "cortex insights fragments ~/code/atlas-api/CLAUDE.md",
            "cortex insights fragments --sort size --limit 5",
        ),
    )(fragments)


def clusters(
    words: Words = None,
    *,
    project: ProjectOption = None,
    domain: DomainOption = None,
    size: SizeOption = SMALLEST,
    coherence: CoherenceOption = None,
    sort: Annotated[ClusterSort, typer.Option(help="What comes first.")] = ClusterSort.SIZE,
    limit: LimitOption = 20,
    skip: SkipOption = 0,
    name: Annotated[
        str | None, typer.Option("--show", metavar="ID", help="Show one with all its members.")
    ] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show groups of insights that say nearly the same, the one in the middle first."""
    client = Client(home)
    if name is not None:
        if words:
            raise UsageError("--show needs an id, no words; see: cortex insights clusters --help")
        found = client.call("cluster", cluster=name)
        show_json(found) if as_json else _show(found)
        return
    wanted: dict[str, Any] = {
        "domain": domain,
        "search": " ".join(words or ()),
        "coherence": coherence,
    }
    wanted |= {"project": meant(project), "sort": sort, "size": size, "limit": limit, "skip": skip}
    found = client.call("clusters", **wanted)
    if as_json:
        show_json(found)
        return
    narrow = project or domain or words or coherence is not None or size > SMALLEST
    show_blocks(
        f"{len(found['clusters'])} of {counted(found['total'], 'cluster')}",
        [_entry(each) for each in found["clusters"]],
        empty=nothing(found["total"], _NO_CLUSTER if narrow else _NO_CLUSTERS),
    )


def fragments(
    path: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="An instruction file, or a folder.")
    ] = None,
    *,
    project: ProjectOption = None,
    sort: Annotated[FragmentSort, typer.Option(help="What comes first.")] = FragmentSort.PATH,
    limit: LimitOption = 20,
    skip: SkipOption = 0,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show the parts of instruction files, and how much of what each says stands how."""
    found = Client(home).call(
        "fragments",
        project=meant(project),
        path=str(path.resolve()) if path else None,
        sort=sort,
        limit=limit,
        skip=skip,
    )
    if as_json:
        show_json(found)
        return
    show_blocks(
        f"{len(found['fragments'])} of {counted(found['total'], 'fragment')}",
        [_part(each) for each in found["fragments"]],
        empty=nothing(
            found["total"],
            "nothing was learned from there; see what is followed with: cortex projects",
        ),
    )


def _entry(found: Answer) -> Block:
    """Return a cluster's entry in a list."""
    first, *others = found["members"] or [{"content": "(no longer known)"}]
    lines = [f"= {shortened(each['content'], MEMBER)}" for each in others[:MEMBERS]]
    if len(others) > MEMBERS:
        lines.append(f"and {len(others) - MEMBERS} more")
    names = sorted({name for each in found["members"] for name in each["projects"]})
    facts = joined([f"coherence {found['coherence']:.2f}", ", ".join(names), brief(found["id"])])
    return Block(str(len(found["members"])), shortened(first["content"], LONGEST), [*lines, facts])


def _show(found: Answer) -> None:
    """Print one cluster with all its members."""
    show_facts(
        [
            ("id", found["id"]),
            ("members", len(found["members"])),
            ("coherence", f"{found['coherence']:.3f} ({found['model']})"),
            ("made", when(found["made_at"])),
        ]
    )
    out = console()
    for each in found["members"]:
        middle = "  (the middle)" if each["id"] == found["medoid_id"] else ""
        out.print()
        out.print(visible(f"{brief(each['id'])}{middle}"), style="bold")
        about = joined([f"sure {each['confidence']:.2f}", each["domain"], each["status"]])
        show_facts([("", "\n".join([each["content"], about, *standing(each["sources"])]))])


def _part(each: Answer) -> Block:
    """Return a fragment's entry in a list."""
    facts = joined(
        [
            counted(each["statements"], "insight"),
            f"{each['shared']} said elsewhere, too" if each["shared"] else None,
            f"{each['contradicted']} contradicted" if each["contradicted"] else None,
            f"{each['waiting']} waiting for a person" if each["waiting"] else None,
            each["project"],
            f"in {each['scope']}" if each["scope"] else None,
        ]
    )
    lines = f"{each['line_start']}-{each['line_end']}"
    return Block(lines, each["heading"] or "(before the first heading)", [facts, each["path"]])
