"""`memory`: commands that keep memories: saved, promoted, crystallized, pinned."""

from __future__ import annotations

from typing import Annotated

import typer

from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json
from cortex_actors.client.connection import Answer, Client
from cortex_actors.domain.memory import Layer
from cortex_actors.process.logfile import visible

MemoryArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Its id, or 8 characters of its beginning or more.")
]


def register(group: typer.Typer) -> None:
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
