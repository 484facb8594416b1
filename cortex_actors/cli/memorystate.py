"""`memory`: commands by which memories go and come back: archived, replaced, split, forgotten."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cortex_actors.cli.blocks import counted
from cortex_actors.cli.memorykeep import MemoryArgument
from cortex_actors.cli.output import HomeOption, JsonOption, examples, shortened, show_json
from cortex_actors.client.connection import Answer, Client
from cortex_actors.errors import Refused
from cortex_actors.process.logfile import visible

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


def register(group: typer.Typer) -> None:
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
    print("backups that were made before still have it: cortex backup --list")
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
