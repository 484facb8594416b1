"""`memory`: commands about health: what lies idle, is said twice, has earned more, or fades."""

from __future__ import annotations

from typing import Annotated

import typer

from cortex_actors.cli.filters import AsOption, LimitOption, RealmOption
from cortex_actors.cli.output import (
    Block,
    HomeOption,
    JsonOption,
    counted,
    examples,
    joined,
    shortened,
    show_blocks,
    show_facts,
    show_json,
    show_table,
    when,
)
from cortex_actors.client.connection import Answer, Client
from cortex_actors.process.logfile import visible

DaysOption = Annotated[float, typer.Option(min=0, help="Days for which nobody has read them.")]
BelowOption = Annotated[
    float | None, typer.Option(min=0, max=2, help="Only those with less attention than this.")
]
ThresholdOption = Annotated[
    float, typer.Option(min=0, max=1, help="Cosine from which on two say nearly the same.")
]
FirstArgument = Annotated[str, typer.Argument(metavar="ID", help="One of the two.")]
SecondArgument = Annotated[str, typer.Argument(metavar="OTHER", help="The other one.")]
KeepOption = Annotated[
    str, typer.Option(help="Which is kept: higher_access, higher_attention, or its id.")
]
PairsOption = Annotated[
    bool, typer.Option("--duplicates", help="Count those that say nearly the same, too; slower.")
]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]


def register(group: typer.Typer) -> None:
    """Add the commands to the group."""
    for command, name, lines in (
        (health, "health", ("health", "health --duplicates --json")),
        (stale, "stale", ("stale", "stale --days 90 --below 0.3 --realm private")),
        (duplicates, "duplicates", ("duplicates", "duplicates --threshold 0.9")),
        (
            consolidate,
            "consolidate",
            (
                "consolidate mem_01KATQ8W mem_01KB0D3F",
                "consolidate mem_01KATQ8W mem_01KB0D3F --keep higher_attention",
            ),
        ),
        (promotions, "promotions", ("promotions --dry-run", "promotions")),
        (decay, "decay", ("decay --dry-run", "decay")),
    ):
        shown = examples(*(f"cortex memory {line}" for line in lines))
        group.command(name, epilog=shown)(command)


def health(
    *,
    pairs: PairsOption = False,
    reader: AsOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show how the memories of each realm are, and what could be done about it."""
    found = Client(home).call("memory_health", duplicates=pairs, as_agent=reader)
    if as_json:
        show_json(found)
        return
    rows = [
        (
            realm,
            each["total"],
            ", ".join(f"{layer} {count}" for layer, count in each["by_layer"].items() if count),
            f"{each['avg_attention']:.3f}",
            each["stale_count"],
            each["promotion_candidates"],
        )
        for realm, each in found["realms"].items()
    ]
    columns = ("realm", "memories", "layers", "attention", "stale", "to promote")
    show_table("Memories", columns, rows, empty="there are no memories yet")
    twins = found["summary"]["total_duplicates"]
    show_facts(
        [
            ("duplicates", "" if twins is None else counted(twins, "pair")),
            ("accesses", _accesses(found.get("accesses", {}))),
        ]
    )
    for line in found["recommendations"]:
        print(visible(line))


def stale(
    *,
    days: DaysOption = 30.0,
    below: BelowOption = None,
    realm: RealmOption = None,
    limit: LimitOption = 20,
    reader: AsOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List memories that nobody has read for long, the longest idle first."""
    found = Client(home).call(
        "stale", days=days, below=below, realm=realm, limit=limit, as_agent=reader
    )
    if as_json:
        show_json(found)
        return
    blocks = [
        Block(
            each["id"],
            shortened(each["content_preview"], 150),
            [
                joined(
                    (
                        f"{each['days_since_access']:g} days, since {when(each['last_accessed'])}",
                        f"read {counted(each['access_count'], 'time')}",
                        f"attention {each['attention_weight']:.2f}",
                        f"{each['agent']}, {each['realm']}, {each['layer']}",
                        "pinned" if each["pinned"] else None,
                    )
                )
            ],
        )
        for each in found["stale"]
    ]
    title = f"{len(blocks)} of {counted(found['total'], 'memory', 'memories')} not read"
    empty = f"every memory was read or said within {days:g} days"
    show_blocks(f"{title} for {days:g} days", blocks, empty=empty)


def duplicates(
    *,
    threshold: ThresholdOption = 0.95,
    realm: RealmOption = None,
    limit: LimitOption = 50,
    reader: AsOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List pairs of memories that say nearly the same, the nearest first."""
    found = Client(home).call(
        "duplicates", threshold=threshold, realm=realm, limit=limit, as_agent=reader
    )
    if as_json:
        show_json(found)
        return
    blocks = [_pair(each) for each in found["duplicates"]]
    title = f"{len(blocks)} of {counted(found['total'], 'pair')} from {threshold:g} on"
    among = f"among {counted(found['compared'], 'memory', 'memories')}"
    show_blocks(f"{title}, {among}", blocks, empty=f"no two say nearly the same {among}")
    if found["without_vector"]:
        print(f"{found['without_vector']} could not be compared: they have no vector (yet)")
    if any(each["conflict"] is None for each in found["duplicates"]):
        print("\nmake one of two with: cortex memory consolidate ID OTHER")


def consolidate(
    first: FirstArgument,
    second: SecondArgument,
    *,
    keep: KeepOption = "higher_access",
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Make one of two memories part of the other. Nothing is deleted, and it can be undone."""
    found = Client(home).call("consolidate", first=first, second=second, keep=keep)
    if as_json:
        show_json(found)
        return
    read = counted(found["new_access_count"], "access", "accesses")
    attention = f"attention {found['new_attention_weight']:.2f}"
    print(visible(f"{found['discarded_id']} is part of {found['kept_id']}: {read}, {attention}"))
    print(f"take them apart with: cortex memory undo {found['change']}")


def promotions(
    *, dry_run: DryOption = False, as_json: JsonOption = False, home: HomeOption = None
) -> None:
    """Promote every memory that has earned a deeper layer, by one layer."""
    found = Client(home).call("memory_promotions", dry_run=dry_run)
    if as_json:
        show_json(found)
        return
    among = f"of {counted(found['total_records'], 'memory', 'memories')}"
    if not dry_run:
        print(f"{found['promoted_count']} {among} promoted")
        return
    rows = [
        (each["id"], each["layer"], each["to"], each["reason"], each["access_count"])
        for each in found["eligible"]
    ]
    columns = ("id", "layer", "to", "why", "read")
    title = f"{found['eligible_count']} {among} would be promoted"
    show_table(title, columns, rows, empty=f"none {among} has earned a deeper layer")


def decay(
    *, dry_run: DryOption = False, as_json: JsonOption = False, home: HomeOption = None
) -> None:
    """Weigh the attention of all memories anew, and archive what faded long ago."""
    found = Client(home).call("memory_decay", dry_run=dry_run)
    if as_json:
        show_json(found)
        return
    would = "would be " if dry_run else ""
    among = f"of {counted(found['total_records'], 'memory', 'memories')}"
    print(f"{found['updated']} {among} {would}weighed anew; {found['below_threshold']} have faded")
    if found["archive_days"]:
        print(f"{len(found['archived'])} {would}archived: faded for {found['archive_days']:g} days")


def _pair(pair: Answer) -> Block:
    """Return two memories that say nearly the same."""
    sides = [pair["first"], pair["second"]]
    about = [
        joined((each["id"], f"{each['agent']}, {each['realm']}, {each['layer']}", _read(each)))
        for each in sides
    ]
    texts = "\n".join(dict.fromkeys(shortened(each["content_preview"]) for each in sides))
    conflict = f"they cannot both hold: {pair['conflict']}" if pair["conflict"] else ""
    return Block(f"{pair['similarity']:.3f}", texts, [*about, conflict])


def _read(memory: Answer) -> str:
    """Return how often a memory was read."""
    return f"read {counted(memory['access_count'], 'time')}"


def _accesses(found: Answer) -> str:
    """Return how accesses are taken down; nothing where that is not told."""
    if not found:
        return ""
    if "waiting" not in found:
        return visible(f"not known: {found.get('reason', '')}")
    lost = found["lost"] + found["unheard"]
    waiting = counted(found["waiting"], "memory", "memories")
    return joined(
        (
            f"of {waiting} not written yet",
            f"{lost} lost" if lost else None,
            f"a crash loses those of {found['window_s']:g} s",
            found["trouble"] or None,
        )
    )
