"""`memory`: commands that look: one memory, lists of them, what was done, what conflicts."""

from __future__ import annotations

from typing import Annotated

import typer

from cortex_actors.cli.blocks import Block, counted, joined, nothing, show_blocks, show_facts, when
from cortex_actors.cli.filters import LimitOption, SkipOption
from cortex_actors.cli.found import NO_MEMORIES
from cortex_actors.cli.memorykeep import MemoryArgument
from cortex_actors.cli.narrowed import (
    AgentOption,
    AsOption,
    AttentionOption,
    LayerOption,
    RealmOption,
    SinceOption,
    TagsOption,
    ThreadOption,
    TypeOption,
    UntilOption,
    conditions,
)
from cortex_actors.cli.output import (
    HomeOption,
    JsonOption,
    examples,
    shortened,
    show_json,
)
from cortex_actors.client.connection import Answer, Client
from cortex_actors.domain.insight import ALL, MemorySort
from cortex_actors.domain.memory import ChangeKind, MemoryStatus
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible

#: Characters of a memory that a list shows.
_LISTED = 300

AllOption = Annotated[
    bool, typer.Option("--all", "-a", help="In every state: merged, superseded, archived, too.")
]
StatusOption = Annotated[MemoryStatus | None, typer.Option(help="Only those in this state.")]
PinnedOption = Annotated[bool, typer.Option("--pinned", help="Only those that are pinned.")]
ConflictsOption = Annotated[
    bool, typer.Option("--conflicts", help="Only those that another one contradicts.")
]
SortOption = Annotated[MemorySort, typer.Option(help="What comes first.")]
KindOption = Annotated[ChangeKind | None, typer.Option("--kind", help="Only changes of a kind.")]
SomeArgument = Annotated[
    str | None, typer.Argument(metavar="[ID]", help="Only what was done with this memory.")
]


def register(group: typer.Typer) -> None:
    """Add the commands to the group."""
    lists = examples(
        "cortex memory list",
        "cortex memory list --all --agent VAJRA --since 7d",
        "cortex memory list --pinned --json",
    )
    group.command("list", epilog=lists)(listed)
    group.command("show", epilog=examples("cortex memory show mem_01KATQ8W"))(show)
    both = examples("cortex memory changes", "cortex memory changes mem_01KATQ8W --kind merge")
    group.command("changes", epilog=both)(changes)
    group.command("conflicts", epilog=examples("cortex memory conflicts"))(conflicts)


def listed(
    *,
    every: AllOption = False,
    status: StatusOption = None,
    pinned: PinnedOption = False,
    disputed: ConflictsOption = False,
    layer: LayerOption = None,
    realm: RealmOption = None,
    agent: AgentOption = None,
    kind: TypeOption = None,
    tag: TagsOption = None,
    thread: ThreadOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    attention: AttentionOption = None,
    as_agent: AsOption = None,
    sort: SortOption = MemorySort.NEWEST,
    limit: LimitOption = 20,
    skip: SkipOption = 0,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List memories, those that are pinned first."""
    who = {"agent": agent, "realm": realm, "thread": thread, "as_agent": as_agent}
    what = {"layer": layer, "kind": kind, "tag": tag, "attention": attention}
    asked = conditions({**who, **what, "since": since, "until": until})
    asked |= {"status": _state(every, status), "pinned": pinned, "conflicts": disputed}
    asked |= {"sort": str(sort), "limit": limit, "skip": skip}
    found = Client(home).call("memories", **asked)
    if as_json:
        show_json(found)
        return
    entries = [_entry(each) for each in found["memories"]]
    title = f"{len(entries):,} of {counted(found['total'], 'memory', 'memories')}"
    show_blocks(title, entries, empty=nothing(found["total"], NO_MEMORIES))


def show(
    name: MemoryArgument,
    as_agent: AsOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show one memory with everything that is known of it, and what it was made of."""
    found = Client(home).call("memory", id=name, as_agent=as_agent)
    if as_json:
        show_json(found)
        return
    print("\n".join(visible(line) for line in found["text"].split("\n")))
    print()
    show_facts(_facts(found))


def changes(
    name: SomeArgument = None,
    *,
    kind: KindOption = None,
    limit: LimitOption = 20,
    skip: SkipOption = 0,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List what was done with memories, newest first; each can be undone by its number."""
    found = Client(home).call(
        "memory_changes",
        memory=name,
        kind=None if kind is None else str(kind),
        limit=limit,
        skip=skip,
    )
    if as_json:
        show_json(found)
        return
    entries = [
        Block(str(each["id"]), f"{each['kind']} {each['memory']}", _done(each))
        for each in found["changes"]
    ]
    title = f"{len(entries):,} of {counted(found['total'], 'change')}, newest first"
    empty = nothing(found["total"], "nothing was done with memories yet")
    show_blocks(title, entries, empty=empty)
    if entries:
        print("\ntake one back with: cortex memory undo CHANGE")


def conflicts(
    *,
    limit: LimitOption = 20,
    skip: SkipOption = 0,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List pairs of memories that cannot both hold, newest first."""
    found = Client(home).call("conflicts", limit=limit, skip=skip)
    if as_json:
        show_json(found)
        return
    entries = [
        Block(
            str(number),
            f"{shortened(each['left']['content'], _LISTED)}\n"
            f"{shortened(each['right']['content'], _LISTED)}",
            [each["reason"], joined([each["left"]["id"], each["right"]["id"]])],
        )
        for number, each in enumerate(found["conflicts"], start=skip + 1)
    ]
    title = f"{counted(found['total'], 'pair')} of memories that cannot both hold"
    show_blocks(title, entries, empty=nothing(found["total"], "no memory conflicts with another"))
    if entries:
        print("\ndecide with: cortex memory supersede OLD NEW, or keep-both ID OTHER")


def _state(every: bool, status: MemoryStatus | None) -> str:
    """Return which memories a list is of; raises `UsageError` for two at once."""
    if every and status is not None:
        raise UsageError("--all and --status exclude each other; see: cortex memory list --help")
    return ALL if every else str(status or MemoryStatus.ACTIVE)


def _entry(found: Answer) -> Block:
    """Return a memory's entry in a list."""
    facts = joined(
        [
            found["id"],
            f"{found['agent']} ({found['realm']})",
            found["layer"],
            f"attention {found['attention']:.2f}",
            when(found["created_at"]),
            None if found["status"] == MemoryStatus.ACTIVE else found["status"],
        ]
    )
    tags = ", ".join(found["tags"])
    return Block(
        "*" if found["pinned"] else "-", shortened(found["content"], _LISTED), [facts, tags]
    )


def _facts(found: Answer) -> list[tuple[str, object]]:
    """Return what there is to say of a memory beside what it says."""
    said = found["time_range"] or ""
    return [
        ("status", _standing(found)),
        ("agent", joined([found["agent"], _named(found)])),
        ("realm", joined([found["realm"], ", ".join(found["related_agents"])])),
        ("layer", f"{found['layer']}, since {when(found['layer_since'])}"),
        ("attention", f"{found['attention']:.2f}, read {counted(found['access_count'], 'time')}"),
        ("fades", f"half in {found['decay_rate']:g} h" if found["decay_rate"] else "never"),
        ("type", found["type"]),
        ("tags", ", ".join(found["tags"])),
        ("thread", found["thread"]),
        ("answers", ", ".join(found["responding_to"])),
        ("said", joined([when(found["created_at"]), said])),
        ("saved by", found["saved_by"]),
        ("pinned", when(found["pinned_at"])),
        ("promoted", when(found["promoted_at"])),
        ("conflicts", "\n".join(joined([e["id"], e["reason"]]) for e in found["conflicts"])),
        ("apart from", ", ".join(found["apart"])),
        ("believed", "\n".join(_believed(each) for each in found["believed"])),
        ("changes", "\n".join(_change(each) for each in found["changes"])),
    ]


def _standing(found: Answer) -> str:
    """Return the state of a memory, and what it became."""
    status = str(found["status"])
    if found["merged_into"]:
        why = found["merged_why"]
        return joined([f"merged into {found['merged_into']} {when(found['merged_at'])}", why])
    if found["replaced_by"]:
        return f"superseded by {found['replaced_by']} {when(found['replaced_at'])}"
    return joined([status, when(found["archived_at"])])


def _named(found: Answer) -> str | None:
    """Return what an agent is called, where it is not called so."""
    return None if found["agent_display"] == found["agent"] else str(found["agent_display"])


def _believed(each: Answer) -> str:
    """Return a stretch of time in which a memory was believed."""
    return f"{when(each['since'])} until {when(each['until']) or 'now'}"


def _change(each: Answer) -> str:
    """Return a change on one line."""
    return joined([str(each["id"]), each["kind"], *_done(each)])


def _done(each: Answer) -> list[str]:
    """Return what there is to say of a change."""
    undone = f"undone by {each['undone_by']} {when(each['undone_at'])}"
    return [
        joined(
            [
                ", ".join(each["others"]),
                f"by {each['by']} {when(each['at'])}",
                undone if each["undone_at"] else None,
            ]
        ),
        each["reason"] or "",
    ]
