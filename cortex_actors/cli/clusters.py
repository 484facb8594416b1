"""`clusters` and `fragments`: what says nearly the same, and what each part of a file says."""

from __future__ import annotations

from pathlib import Path
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
    show_facts,
    standing,
    when,
)
from cortex_actors.cli.filters import (
    CoherenceOption,
    DomainOption,
    LimitOption,
    ProjectOption,
    SizeOption,
    SkipOption,
    Words,
)
from cortex_actors.cli.output import (
    HomeOption,
    JsonOption,
    console,
    examples,
    shortened,
    show_json,
)
from cortex_actors.cli.projects import meant
from cortex_actors.client.connection import Client
from cortex_actors.domain.insight import ClusterSort, FragmentSort
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from typing import Any

    from cortex_actors.client.connection import Answer

#: What is said where no cluster is listed: of those that were asked for, and of any.
_NONE = "no such cluster is known; leave out a filter"
_NOTHING = "no cluster is known; clusters are made when insights are compared: cortex reconcile"

#: Members beside the middle one that a list names of a cluster, and characters of each.
MEMBERS, MEMBER = 4, 120

#: Members of the smallest cluster that a list shows unless it is asked for smaller ones.
SMALLEST = 2


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "clusters",
        epilog=examples(
            "cortex clusters",
            "cortex clusters commit --sort loose",
            "cortex clusters --min-size 3 --project atlas-api",
            "cortex clusters --show clu_77d01f3c",
        ),
    )(clusters)
    app.command(
        "fragments",
        epilog=examples(
            "cortex fragments",
            "cortex fragments ~/code/atlas-api/CLAUDE.md",
            "cortex fragments --sort size --limit 5",
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
            raise UsageError("--show needs an id and no words; see: cortex clusters --help")
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
        empty=nothing(found["total"], _NONE if narrow else _NOTHING),
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
