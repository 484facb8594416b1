"""`memory`: what agents remember: look at it, keep it, take it apart, let it go.

`memory`: commands that keep memories: saved, promoted, crystallized, pinned.

`memory`: commands by which memories go and come back: archived, replaced, split, forgotten.

`memory`: commands that look: one memory, lists of them, what was done, what conflicts.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cortex_actors.cli import memory_health
from cortex_actors.cli.filters import (
    AgentOption,
    AsOption,
    AttentionOption,
    LayerOption,
    LimitOption,
    RealmOption,
    SinceOption,
    SkipOption,
    TagsOption,
    ThreadOption,
    TypeOption,
    UntilOption,
    conditions,
)
from cortex_actors.cli.output import (
    Block,
    Commands,
    HomeOption,
    JsonOption,
    counted,
    examples,
    joined,
    nothing,
    shortened,
    show_blocks,
    show_facts,
    show_json,
    when,
)
from cortex_actors.cli.recall import NO_MEMORIES
from cortex_actors.client.connection import Answer, Client
from cortex_actors.domain.insight import ALL, MemorySort
from cortex_actors.domain.memory import ChangeKind, Layer, MemoryStatus
from cortex_actors.errors import Refused, UsageError
from cortex_actors.process.logfile import visible

MemoryArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Its id, or 8 characters of its beginning or more.")
]


def register_keeping(group: typer.Typer) -> None:
    """Add the commands to the group."""
    for command, name in (
        (save, "save"),
        (promote, "promote"),
        (crystallize, "crystallize"),
        (pin, "pin"),
        (unpin, "unpin"),
    ):
        group.command(name, epilog=examples(f"cortex memory {name} mem_01KATQ8W"))(command)


def save(name: MemoryArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Keep a memory that would soon fade: from the sensory layer to working."""
    _show(Client(home).call("save", id=name), as_json=as_json)


def promote(
    name: MemoryArgument,
    to: Annotated[
        Layer | None, typer.Option("--to", help="This layer, rather than the next one.")
    ] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Bring a memory to the next layer, where it fades more slowly."""
    found = Client(home).call("promote", id=name, to=None if to is None else str(to))
    _show(found, as_json=as_json)


def crystallize(name: MemoryArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Bring a memory to the cortex, where nothing fades."""
    _show(Client(home).call("crystallize", id=name), as_json=as_json)


def pin(name: MemoryArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Keep a memory as it is: never merged, faded or archived by itself, first in lists."""
    _fasten("pin", name, home=home, as_json=as_json)


def unpin(name: MemoryArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Let a memory be treated as all others again."""
    _fasten("unpin", name, home=home, as_json=as_json)


def _show(found: Answer, *, as_json: bool) -> None:
    """Print in which layer a memory is now."""
    if as_json:
        show_json(found)
    elif found["changed"]:
        print(visible(f"{found['id']} came from {found['from']} to {found['layer']}"))
    else:
        print(visible(f"{found['id']} is in {found['layer']} already"))


def _fasten(verb: str, name: str, *, home: HomeOption, as_json: bool) -> None:
    """Have a memory pinned or not, and print it."""
    found: Answer = Client(home).call(verb, id=name)
    if as_json:
        show_json(found)
        return
    already = "" if found["changed"] else " already"
    state = "pinned" if found["pinned"] else "not pinned"
    print(visible(f"{found['id']} is {state}{already}"))


#: Memories that are shown before they are forgotten.
_SHOWN = 10

MemoriesArgument = Annotated[
    list[str], typer.Argument(metavar="ID...", help="Ids, or beginnings of ids.")
]
ReasonOption = Annotated[str | None, typer.Option(help="Why, in your own words.")]
OldArgument = Annotated[str, typer.Argument(metavar="OLD", help="What holds no more.")]
NewArgument = Annotated[str, typer.Argument(metavar="NEW", help="What holds now.")]
LeftArgument = Annotated[str, typer.Argument(metavar="ID", help="One of the two.")]
RightArgument = Annotated[str, typer.Argument(metavar="OTHER", help="The other one.")]
ChangeArgument = Annotated[
    int, typer.Argument(metavar="CHANGE", help="Its number: cortex memory changes.")
]


def register_states(group: typer.Typer) -> None:
    """Add the commands to the group."""
    one = "mem_01KATQ8W"
    for command, name, rest in (
        (split, "split", one),
        (supersede, "supersede", f"{one} mem_01KB0D3F --reason 'the port has moved'"),
        (keep_both, "keep-both", f"{one} mem_01KB0D3F"),
        (archive, "archive", f"{one} mem_01KB0D3F"),
        (restore, "restore", one),
        (forget, "forget", f"{one} --yes"),
        (undo, "undo", "12"),
    ):
        group.command(name, epilog=examples(f"cortex memory {name} {rest}"))(command)


def split(name: MemoryArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Take the newest merge of a memory apart; its parts are not merged by themselves again."""
    found = Client(home).call("split", id=name)
    if as_json:
        show_json(found)
        return
    kept = "stays" if found["kind"] == "consolidate" else "is archived"
    print(visible(f"{found['id']} {kept}; found again: {', '.join(found['parts'])}"))


def supersede(
    old: OldArgument,
    new: NewArgument,
    reason: ReasonOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Let a memory be replaced by another one; it is found only as of a date from then on."""
    found = Client(home).call("supersede", old=old, new=new, reason=reason)
    if as_json:
        show_json(found)
        return
    print(visible(f"{found['superseded']} is superseded by {found['by']}"))


def keep_both(
    left: LeftArgument,
    right: RightArgument,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Say that two memories hold, though they were found to conflict."""
    found = Client(home).call("keep_both", left=left, right=right)
    if as_json:
        show_json(found)
        return
    print(visible(f"both are kept: {' and '.join(found['kept'])}"))


def archive(
    names: MemoriesArgument,
    reason: ReasonOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Take memories out of what is found, until they are restored."""
    found = Client(home).call("archive", ids=names, reason=reason)
    if as_json:
        show_json(found)
        return
    print(visible(f"archived {', '.join(found['archived'])}"))
    print("bring them back with: cortex memory restore")


def restore(names: MemoriesArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Let memories be found again that were archived or superseded."""
    found = Client(home).call("restore", ids=names)
    if as_json:
        show_json(found)
        return
    print(visible(f"restored {', '.join(found['restored'])}"))


def forget(
    names: MemoriesArgument,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Delete memories for good, with everything they were made of. Nothing undoes this.

    Backups that were made before still have them.
    """
    client = Client(home)
    if not yes:
        _confirm([client.call("memory", id=each) for each in names])
    found = client.call("forget", ids=names)
    if as_json:
        show_json(found)
        return
    counts = ((found["parts"], "part"), (found["wholes"], "former whole"))
    more = [counted(len(some), noun) for some, noun in counts if some]
    print(visible(" and ".join([f"forgot {', '.join(found['forgotten'])}", *more])))
    print("backups that were made before still have it: cortex daemon backup --list")
    if found["archived"]:
        print(visible(f"archived, as what replaced it is gone: {', '.join(found['archived'])}"))


def undo(number: ChangeArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Take back what was done with a memory, by the number of the change."""
    found = Client(home).call("undo", change=number)
    if as_json:
        show_json(found)
        return
    print(visible(f"undid change {found['change']}: {found['kind']} of {found['memory']}"))


def _confirm(some: list[Answer]) -> None:
    """Show what would go, and ask; raises `Refused` for no, and where nobody can be asked."""
    for each in some[:_SHOWN]:
        print(visible(f"{each['id']}  {shortened(each['content'])}"))
    if len(some) > _SHOWN:
        print(f"and {len(some) - _SHOWN:,} more")
    if not sys.stdin.isatty():
        message = "refused to forget without being asked to"
        raise Refused(f"{message}; where nobody can answer, say --yes")
    if not typer.confirm("Delete that for good?"):
        raise Refused("nothing was forgotten")


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


def register_looking(group: typer.Typer) -> None:
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


def group() -> typer.Typer:
    """Return the group."""
    found = typer.Typer(
        help="Look at memories, keep them, take them apart, let them go, and undo that.",
        rich_markup_mode=None,
        epilog=examples(
            "cortex memory list --layer sensory",
            "cortex memory show mem_01KATQ8W",
            "cortex memory crystallize mem_01KATQ8W",
            "cortex memory split mem_01KATQ8W",
            "cortex memory changes",
            "cortex memory undo 12",
        ),
    )
    found.callback(cls=Commands, invoke_without_command=True)(listed)
    for add in (
        register_looking,
        register_keeping,
        register_states,
        memory_health.register,
    ):
        add(found)
    return found
