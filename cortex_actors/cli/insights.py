"""`insights`: what was learned, why it is taken for what it is, and what waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.blocks import (
    LONGEST,
    Block,
    brief,
    counted,
    joined,
    nothing,
    show_blocks,
    standing,
)
from cortex_actors.cli.explain import show_insight
from cortex_actors.cli.filters import (
    BelowOption,
    CategoryOption,
    DomainOption,
    KindOption,
    LimitOption,
    ProjectOption,
    SkipOption,
    StatusOption,
    SureOption,
    TagOption,
    Words,
)
from cortex_actors.cli.output import HomeOption, JsonOption, examples, shortened, show_json
from cortex_actors.cli.projects import meant
from cortex_actors.client.connection import Client
from cortex_actors.domain.insight import SHOWN, InsightSort
from cortex_actors.errors import UsageError

if TYPE_CHECKING:
    from typing import Any

    from cortex_actors.client.connection import Answer

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


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "insights",
        epilog=examples(
            "cortex insights",
            "cortex insights commit message --project atlas-api",
            "cortex insights --category warning --domain python --sort seen",
            "cortex insights --in docs --min-confidence 0.6 --json",
            "cortex insights --status pending_review",
            "cortex insights --explain ins_4f0c9b21",
            "cortex insights --approve ins_4f0c9b21",
        ),
    )(insights)


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
