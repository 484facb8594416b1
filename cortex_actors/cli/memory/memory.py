"""`memory`: what agents remember, and documents: look at it, keep it, take it apart, let it go.

`memory`: commands that keep memories: saved, promoted, crystallized, pinned.

`memory`: commands by which memories go and come back: archived, replaced, split, forgotten.

`memory`: commands that look: one memory, lists of them, what was done, what conflicts.

`memory`: commands about health: what lies idle, is said twice, has earned more, or fades.

`memory knowledge`: documents that are read, what they say, and taking them out again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, Option, Preset, command, shows
from cortex_actors.cli.memory.recall import NO_MEMORIES, QUESTION, read_text, show_hits
from cortex_actors.cli.show import count_nouns, format_moment, join_facts, shorten
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import count_days, iso
from cortex_actors.errors import BadInput


@shows("memory save", "mem_01KATQ8W")
@shows(
    "memory promote",
    "mem_01KATQ8W",
    to=Option(one_of="memory.Layer", help="This layer, rather than the next one."),
)
@shows("memory crystallize", "mem_01KATQ8W")
def show_layer(found: Answer) -> None:
    """Print in which layer a memory is now."""
    if found["changed"]:
        show.lines(f"{found['id']} came from {found['from']} to {found['layer']}")
    else:
        show.lines(f"{found['id']} is in {found['layer']} already")


@shows("memory pin", "mem_01KATQ8W")
@shows("memory unpin", "mem_01KATQ8W")
def show_pinned(found: Answer) -> None:
    """Print whether a memory is pinned now."""
    already = "" if found["changed"] else " already"
    show.lines(f"{found['id']} is {'pinned' if found['pinned'] else 'not pinned'}{already}")


#: Memories that are shown before they are forgotten.
_SHOWN = 10


@shows("memory split", "mem_01KATQ8W")
def show_split(found: Answer) -> None:
    """Print what a merge was taken apart into."""
    kept = "stays" if found["kind"] == "consolidate" else "is archived"
    show.lines(f"{found['id']} {kept}; found again: {', '.join(found['parts'])}")


@shows(
    "memory supersede", "mem_01KATQ8W mem_01KB0D3F --reason 'the port has moved'", reason=Option()
)
def show_superseded(found: Answer) -> None:
    """Print what was replaced."""
    show.lines(f"{found['superseded']} is superseded by {found['by']}")


@shows("memory keep-both", "mem_01KATQ8W mem_01KB0D3F")
def show_both(found: Answer) -> None:
    """Print which two memories both hold."""
    show.lines(f"both are kept: {' and '.join(found['kept'])}")


@shows("memory archive", "mem_01KATQ8W mem_01KB0D3F")
def show_archived(found: Answer) -> None:
    """Print what was archived, and what brings it back."""
    show.lines(f"archived {', '.join(found['archived'])}")
    print("bring them back with: cortex memory restore")


@shows("memory restore", "mem_01KATQ8W")
def show_restored(found: Answer) -> None:
    """Print what was restored."""
    show.lines(f"restored {', '.join(found['restored'])}")


def show_forgotten(found: Answer) -> None:
    """Print what is gone."""
    counts = ((found["parts"], "part"), (found["wholes"], "former whole"))
    more = [count_nouns(len(some), noun) for some, noun in counts if some]
    show.lines(" and ".join([f"forgot {', '.join(found['forgotten'])}", *more]))
    print("backups that were made before still have it: cortex daemon backup --list")
    if found["archived"]:
        show.lines(f"archived, as what replaced it is gone: {', '.join(found['archived'])}")


@command("memory forget", "mem_01KATQ8W --yes", show=show_forgotten)
def forget(
    client: Client,
    names: Annotated[
        list[str], Argument(metavar="ID...", complete="memories", help="Ids, or beginnings of ids.")
    ],
    *,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
) -> Answer:
    """Delete memories for good, with everything they were made of. Nothing undoes this.

    Backups that were made before still have them.
    """
    if not yes:
        some = [client.call("memory", id=each) for each in names]
        show.lines(*(f"{each['id']}  {shorten(each['content'])}" for each in some[:_SHOWN]))
        show.lines(f"and {len(some) - _SHOWN:,} more" if some[_SHOWN:] else None)
        refusal, no = "refused to forget without being asked to", "nothing was forgotten"
        show.confirm("Delete that for good?", refusal=refusal, no=no)
    return client.call("forget", ids=names)


def show_edited(found: Answer) -> None:
    """Print whether a memory has other words, and who says the same."""
    after = "has other words" if found["changed"] else "says that already, nothing was changed"
    show.lines(f"{found['id']} {after}")
    if found["same"]:
        show.lines(f"  the same is said by {', '.join(found['same'])}")
    if found["changed"]:
        print("  take that back with: cortex memory undo CHANGE, by the number that this shows:")
        print(f"  cortex memory changes {found['id']}")


@command(
    "memory edit",
    "mem_01KATQ8W",
    "mem_01KATQ8W 'Redis listens on port 6380.'",
    show=show_edited,
    asks="memory.edit",
    content=Argument(
        metavar="[TEXT]",
        required=False,
        default=None,
        read=read_text,
        help="The new words; - reads them from stdin. Without it your editor opens ($EDITOR).",
    ),
)
def edit(
    client: Client,
    *,
    id: str,  # noqa: A002 - as the operation calls it
    content: str | None,
    **how: object,
) -> Answer:
    """Give a memory other words; its id, time, tags, layer, pin and lineage stay.

    `memory undo` gives it the words before.
    """
    if content is None:
        if not sys.stdin.isatty():
            raise BadInput("cannot open an editor where no terminal is; give the text, or -")
        import click  # noqa: PLC0415 - only to ask

        known = client.call("memory", id=id)
        # The editor adds a line's end, and no text is kept with one.
        text = str(click.edit(known["content"]) or known["content"]).strip()
        content = text.removeprefix(f"{known['role']}: ") if known["role"] else text
    return client.call("edit", id=id, content=content, **how)


@shows("memory undo", "12")
def show_undone(found: Answer) -> None:
    """Print what was undone."""
    show.lines(f"undid change {found['change']}: {found['kind']} of {found['memory']}")


#: Characters of a memory that a list shows.
_LISTED = 300


@shows(
    "memory",
    "",
    "--all --agent VAJRA --since 7d",
    "--pinned --json",
    asks="memory.list",
    also="memory list",
    about="Look at memories, keep them, take them apart, let them go, and undo that.",
    is_group=True,
    every=Preset(
        "--all",
        "-a",
        sets=("status", "all"),
        help="In every state: merged, superseded, archived, too.",
    ),
    status=Option(one_of="memory.MemoryStatus"),
    sort=Option(one_of="insight.MemorySort"),
)
def show_list(found: Answer) -> None:
    """Print a list of memories."""
    entries = [_entry(each) for each in found["memories"]]
    show.page(entries, found["total"], "memory", "memories", empty=NO_MEMORIES)


@shows("memory show", "mem_01KATQ8W")
def show_memory(found: Answer) -> None:
    """Print a memory with all that is known of it."""
    show.lines(*found["text"].split("\n"), "")
    show.facts(*_facts(found))


@shows(
    "memory changes",
    "",
    "mem_01KATQ8W --kind merge",
    memory=Argument(),
    limit=Option(default=20),
    kind=Option(one_of="memory.ChangeKind", help="Only changes of a kind."),
)
def show_changes(found: Answer) -> None:
    """Print what was done with memories."""
    entries = [
        show.ListEntry(str(each["id"]), f"{each['kind']} {each['memory']}", _done(each))
        for each in found["changes"]
    ]
    empty = "nothing was done with memories yet"
    show.page(entries, found["total"], "change", empty=empty, more=", newest first")
    if entries:
        print("\ntake one back with: cortex memory undo CHANGE")


@shows("memory conflicts", "")
def show_conflicts(found: Answer, given: Answer) -> None:
    """Print pairs of memories that cannot both hold."""
    entries = []
    for number, each in enumerate(found["conflicts"], start=given["skip"] + 1):
        sides = (each["left"], each["right"])
        text = "\n".join(shorten(side["content"], _LISTED) for side in sides)
        about = [each["reason"], join_facts(*(side["id"] for side in sides))]
        entries.append(show.ListEntry(str(number), text, about))
    title = f"{count_nouns(found['total'], 'pair')} of memories that cannot both hold"
    empty = "no memory conflicts with another"
    show.blocks(title, entries, empty=empty, total=found["total"])
    if entries:
        print("\ndecide with: cortex memory supersede OLD NEW, or keep-both ID OTHER")


def _entry(found: Answer) -> show.ListEntry:
    """Return a memory's entry in a list."""
    facts = join_facts(
        found["id"],
        f"{found['agent']} ({found['realm']})",
        found.get("project"),
        found["layer"],
        f"attention {found['attention']:.2f}",
        format_moment(found["created_at"]),
        None if found["status"] == "active" else found["status"],
    )
    mark, about = "*" if found["pinned"] else "-", [facts, ", ".join(found["tags"])]
    return show.ListEntry(mark, shorten(found["content"], _LISTED), about)


def _facts(found: Answer) -> list[tuple[str, object]]:
    """Return what there is to say of a memory beside what it says."""
    believed = [
        f"{format_moment(e['since'])} until {format_moment(e['until']) or 'now'}"
        for e in found["believed"]
    ]
    changes = [join_facts(str(e["id"]), e["kind"], *_done(e)) for e in found["changes"]]
    called = found["agent_display"]
    return [
        ("status", _standing(found)),
        ("agent", join_facts(found["agent"], None if called == found["agent"] else called)),
        ("realm", join_facts(found["realm"], ", ".join(found["related_agents"]))),
        ("layer", f"{found['layer']}, since {format_moment(found['layer_since'])}"),
        (
            "attention",
            f"{found['attention']:.2f}, read {count_nouns(found['access_count'], 'time')}",
        ),
        ("fades", f"half in {found['decay_rate']:g} h" if found["decay_rate"] else "never"),
        ("type", found["type"]),
        ("tags", ", ".join(found["tags"])),
        ("thread", found["thread"]),
        ("project", found.get("project")),
        ("answers", ", ".join(found["responding_to"])),
        ("said", join_facts(format_moment(found["created_at"]), found["time_range"])),
        ("saved by", found["saved_by"]),
        ("pinned", format_moment(found["pinned_at"])),
        ("promoted", format_moment(found["promoted_at"])),
        ("conflicts", "\n".join(join_facts(e["id"], e["reason"]) for e in found["conflicts"])),
        ("apart from", ", ".join(found["apart"])),
        ("believed", "\n".join(believed)),
        ("changes", "\n".join(changes)),
    ]


def _standing(found: Answer) -> str:
    """Return the state of a memory, and what it became."""
    if found["merged_into"]:
        why = found["merged_why"]
        return join_facts(
            f"merged into {found['merged_into']} {format_moment(found['merged_at'])}", why
        )
    if found["replaced_by"]:
        return f"superseded by {found['replaced_by']} {format_moment(found['replaced_at'])}"
    return join_facts(found["status"], format_moment(found["archived_at"]))


def _done(each: Answer) -> list[str]:
    """Return what there is to say of a change."""
    facts = [", ".join(each["others"]), f"by {each['by']} {format_moment(each['at'])}"]
    if each["undone_at"]:
        facts.append(f"undone by {each['undone_by']} {format_moment(each['undone_at'])}")
    return [join_facts(*facts), each["reason"] or ""]


@shows("memory health", "", "--duplicates --json")
def show_health(found: Answer) -> None:
    """Print how the memories of each realm are."""
    rows = []
    for realm, each in found["realms"].items():
        layers = ", ".join(f"{name} {count}" for name, count in each["by_layer"].items() if count)
        health = (f"{each['avg_attention']:.3f}", each["stale_count"], each["promotion_candidates"])
        rows.append((realm, each["total"], layers, *health))
    columns = ("realm", "memories", "layers", "attention", "stale", "to promote")
    show.table("Memories", columns, rows, empty="there are no memories yet")
    twins = found["summary"]["total_duplicates"]
    show.facts(("duplicates", "" if twins is None else count_nouns(twins, "pair")))
    show.lines(*found["recommendations"])


@shows("memory stale", "", "--days 90 --below 0.3 --realm private")
def show_stale(found: Answer) -> None:
    """Print the memories that were not read for long."""
    days, blocks = found["days"], []
    for each in found["stale"]:
        about = join_facts(
            (
                f"{count_days(each['days_since_access'])}, since "
                f"{format_moment(each['last_accessed'])}"
            ),
            f"read {count_nouns(each['access_count'], 'time')}",
            f"attention {each['attention_weight']:.2f}",
            f"{each['agent']}, {each['realm']}, {each['layer']}",
            "pinned" if each["pinned"] else None,
        )
        text = shorten(each["content_preview"], 150)
        blocks.append(show.ListEntry(each["id"], text, [about]))
    empty = f"every memory was read or said within {count_days(days)}"
    more = f" not read for {count_days(days)}"
    show.page(blocks, found["total"], "memory", "memories", empty=empty, more=more)


@shows("memory duplicates", "", "--threshold 0.9")
def show_duplicates(found: Answer) -> None:
    """Print pairs of memories that say nearly the same."""
    blocks = [_pair(each) for each in found["duplicates"]]
    title = f"{len(blocks)} of {count_nouns(found['total'], 'pair')} from {found['threshold']:g} on"
    among = f"among {count_nouns(found['compared'], 'memory', 'memories')}"
    show.blocks(f"{title}, {among}", blocks, empty=f"no two say nearly the same {among}")
    if found["without_vector"]:
        print(f"{found['without_vector']} could not be compared: they have no vector (yet)")
    if blocks:
        print("\nmake one of two with: cortex memory consolidate ID OTHER")


@shows(
    "memory consolidate",
    "mem_01KATQ8W mem_01KB0D3F",
    "mem_01KATQ8W mem_01KB0D3F --keep higher_attention",
)
def show_consolidated(found: Answer) -> None:
    """Print which memory is part of which."""
    read = count_nouns(found["new_access_count"], "access", "accesses")
    attention = f"attention {found['new_attention_weight']:.2f}"
    show.lines(f"{found['discarded_id']} is part of {found['kept_id']}: {read}, {attention}")
    print(f"take them apart with: cortex memory undo {found['change']}")


@shows("memory promotions", "--dry-run", "")
def show_promotions(found: Answer, given: Answer) -> None:
    """Print which memories went to a deeper layer, or would."""
    among = f"of {count_nouns(found['total_records'], 'memory', 'memories')}"
    if not given["dry_run"]:
        print(f"{found['promoted_count']} {among} promoted")
        return
    rows = [
        (each["id"], each["layer"], each["to"], each["reason"], each["access_count"])
        for each in found["eligible"]
    ]
    columns = ("id", "layer", "to", "why", "read")
    title = f"{found['eligible_count']} {among} would be promoted"
    show.table(title, columns, rows, empty=f"none {among} has earned a deeper layer")


@shows("memory decay", "--dry-run", "")
def show_decay(found: Answer, given: Answer) -> None:
    """Print how many memories were weighed again, have faded, were archived."""
    would = "would be " if given["dry_run"] else ""
    among = f"of {count_nouns(found['total_records'], 'memory', 'memories')}"
    faded = f"{found['below_threshold']} have faded"
    print(f"{found['updated']} {among} {would}computed again; {faded}")
    if days := found["archive_days"]:
        print(f"{len(found['archived'])} {would}archived: faded for {count_days(days)}")


def _pair(pair: Answer) -> show.ListEntry:
    """Return two memories that say nearly the same."""
    sides, about = [pair["first"], pair["second"]], []
    for each in sides:
        whose = f"{each['agent']}, {each['realm']}, {each['layer']}"
        about.append(
            join_facts(each["id"], whose, f"read {count_nouns(each['access_count'], 'time')}")
        )
    texts = "\n".join(dict.fromkeys(shorten(each["content_preview"]) for each in sides))
    return show.ListEntry(f"{pair['similarity']:.3f}", texts, about)


#: Documents that are named of those that failed or in which something was met.
_NAMED = 20


def resolve_path(path: Path) -> str:
    """Return a path as the daemon finds it, too."""
    return str(path.expanduser().absolute())


def meant(source: str) -> str:
    """Return which document is meant: a file that lies there by its whole path."""
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source


@shows(
    "memory knowledge ingest",
    "docs/ --topic handbook",
    asks="knowledge.ingest",
    leave_out=("text", "source"),
    path=Argument(kind="path", required=True, read=resolve_path),
)
def show_read(found: Answer) -> None:
    """Print what became of each document."""
    counts = join_facts(*(f"{state} {count:,}" for state, count in sorted(found["counts"].items())))
    show.lines(f"{counts or 'no document'} in {found['root']}")
    for each in found["documents"]:
        show.lines(*_told(each)[:_NAMED])
    show.lines(*(f"passed over: {each}" for each in found["skipped"]))
    show.lines(*(f"cannot be read: {folder}" for folder in found["closed"]))


@shows(
    "memory knowledge search",
    "rollback --topic ops",
    asks="knowledge.search",
    query=QUESTION,
    code=Option("--code/--text"),
)
def show_pieces(found: Answer) -> None:
    """Print the pieces that were found."""
    show_hits(found, "nothing was found; see what there is with: cortex memory knowledge topics")


@shows(
    "memory knowledge",
    "",
    asks="knowledge.topics",
    also="memory knowledge topics",
    about="Have documents read, and find what they say.",
    is_group=True,
)
def show_topics(found: Answer) -> None:
    """Print the topics, with how much each holds."""
    rows = [
        (each["topic"], each["documents"], each["pieces"], each["withdrawn"], iso(each["read_at"]))
        for each in found["topics"]
    ]
    title = (
        f"{count_nouns(found['documents'], 'document')}, {count_nouns(found['pieces'], 'piece')}"
    )
    columns = ("topic", "documents", "pieces", "taken out", "last read")
    empty = "no document was read yet; read some with: cortex memory knowledge ingest FOLDER"
    show.table(title, columns, rows, empty=empty)


@shows(
    "memory knowledge remove", "--topic drafts", asks="knowledge.remove", source=Option(read=meant)
)
@shows(
    "memory knowledge restore",
    "--topic drafts",
    asks="knowledge.restore",
    source=Option(read=meant),
)
def show_done(found: Answer) -> None:
    """Print which documents are found no more, or again."""
    did, name = ("took out", "withdrawn") if "withdrawn" in found else ("brought back", "restored")
    sources = found[name]
    print(f"{did} {count_nouns(len(sources), 'document')}")
    show.lines(*(f"  {each}" for each in sources[:_NAMED]))
    if len(sources) > _NAMED:
        print(f"  and {len(sources) - _NAMED:,} more")


def _told(document: dict[str, Any]) -> list[str]:
    """Return what there is to say of one document: why it failed, that it is gone, what it held."""
    if "error" in document:
        return [f"failed: {document['error']}"]
    if document["state"] == "withdrawn":
        return [f"withdrawn: {document['source']}"]
    return [f"{document['source']}: {each}" for each in document.get("told", [])]
