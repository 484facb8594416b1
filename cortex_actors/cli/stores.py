"""`stores`: which stores a recall asks, and what each of them counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli import store_options, stores_import
from cortex_actors.cli.output import (
    Block,
    Commands,
    HomeOption,
    JsonOption,
    counted,
    examples,
    joined,
    show_blocks,
    show_json,
)
from cortex_actors.cli.store_options import (
    EnvOption,
    KeyringOption,
    StdinOption,
    fields,
    given,
    lasts,
    shown,
)
from cortex_actors.client.connection import Client
from cortex_actors.federation import binding
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from cortex_actors.client.connection import Answer

#: Seconds that adding one may take: its name is looked up, and a keyring may ask its user.
TIMEOUT = 60.0

#: The type of what is kept here.
_LOCAL = "local"

#: How far away an address is.
_REACH = {"loopback": "this machine", "private": "this network", "public": "the internet"}

#: What a store is marked with whose hits take part, and one whose do not.
_ON, _OFF = "*", "-"

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What answers call it.")]
WeightOption = Annotated[
    float | None, typer.Option(min=0, max=1_000, help="How much its places count; 1 is usual.")
]
FloorOption = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Base relevance that its hits need; 0 lets all of them."),
]

#: Where an adapter's docstring shows how such a store is added.
_EXAMPLE = re.compile(r"Added with `([^`]+)`")


def group() -> typer.Typer:
    """Return the group."""
    found = typer.Typer(
        help="See and change which stores a recall asks beside what is known here.",
        rich_markup_mode=None,
        epilog=examples(
            "cortex stores",
            "cortex stores add notes seren_memory http://127.0.0.1:7420",
            "cortex stores ping notes",
            "cortex stores tune notes --weight 0.5",
            "cortex stores configure fusion_mode=rrf_pct",
            "cortex stores import seren-corpus-callosum.yaml",
        ),
    )
    found.callback(cls=Commands, invoke_without_command=True)(listed)
    adding = examples(
        "cortex stores add notes seren_memory http://127.0.0.1:7420",
        "cortex stores add facts seren_loci http://127.0.0.1:7422 --token-stdin < token.txt",
        "cortex stores add team chroma https://chroma.example:8000 --option collection=notes",
    )
    for command, name, rest in (
        (listed, "list", "list --json"),
        (add, "add", ""),
        (remove, "remove", "remove notes"),
        (enable, "enable", "enable notes"),
        (disable, "disable", "disable notes"),
        (tune, "tune", "tune notes --weight 2 --floor 0.3"),
        (types, "types", "types"),
    ):
        found.command(name, epilog=examples(f"cortex stores {rest}") if rest else adding)(command)
    for add_more in (store_options.register_knobs, store_options.register, stores_import.register):
        add_more(found)
    return found


def listed(*, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List the stores that a recall asks, what is known here first."""
    found = Client(home).call("stores")
    if as_json:
        show_json(found)
        return
    rows, active = found["stores"], len(found["active"])
    title = f"{active} of {counted(len(rows), 'store')} {'is' if active == 1 else 'are'} asked"
    show_blocks(title, [_entry(each) for each in rows], empty="no store is known")
    for name, turned in found.get("turned", {}).items():
        print(visible(f"{name} is {shown(turned['live'])} until the daemon restarts"))
    for name, tuned in found.get("tuned", {}).items():
        how = ", ".join(f"{each} {shown(value['live'])}" for each, value in tuned.items())
        print(visible(f"{name} has {how} until the daemon restarts"))
    for text in found["trouble"]:
        print(visible(f"to mend: {text}"))


def add(
    name: NameArgument,
    kind: Annotated[str, typer.Argument(metavar="TYPE", help="See: cortex stores types.")],
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Its address: http, https or postgresql.")
    ],
    *,
    weight: WeightOption = None,
    floor: FloorOption = None,
    token_stdin: StdinOption = False,
    token_env: EnvOption = None,
    token_keyring: KeyringOption = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=TEXT", help="What only its type understands; KEY:=JSON for no text."
        ),
    ] = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Do not ask it yet.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Have every recall ask a store, from now on and without a restart.

    Nothing is sent to it yet. Its token is kept in the keyring of the operating system where there
    is one, and never shown again.
    """
    token = given(name, stdin=token_stdin, env=token_env, keyring=token_keyring)
    found = Client(home, timeout=TIMEOUT).call(
        "add_store",
        name=name,
        type=kind,
        url=url,
        weight=1.0 if weight is None else weight,
        floor=floor or 0.0,
        options=fields(option or ()),
        enabled=not disabled,
        **token,
    )
    (show_json if as_json else _show_added)(found)


def remove(name: NameArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Ask a store no more, and forget it with the token that was kept for it.

    What stands in cortex.toml is taken out there; `disable` works for it as well. Of two stores of
    one name, the one that was added by command goes.
    """
    found = Client(home, timeout=TIMEOUT).call("remove_store", name=name)
    if as_json:
        show_json(found)
        return
    name = found["removed"]
    if found.get("shadowed"):
        print(visible(f"removed {name} of runtime-stores.json, which was not asked"))
        goes = (
            "goes on being asked" if name in found["active"] else "stays, and is not asked either"
        )
        print(visible(f"{name} of cortex.toml {goes}"))
    else:
        print(visible(f"removed {name}"))
    for text in found.get("warnings", ()):
        print(visible(f"note: {text}"))


def enable(name: NameArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Have a store asked again."""
    _switched("enable_store", name, "is asked from now on", as_json=as_json, home=home)


def disable(name: NameArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Have a store not asked, until it is enabled again."""
    _switched("disable_store", name, "is not asked any more", as_json=as_json, home=home)


def tune(
    name: NameArgument,
    *,
    weight: WeightOption = None,
    floor: FloorOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Let a store count more or less, or let only its better hits through."""
    found = Client(home).call("tune_store", name=name, weight=weight, floor=floor)
    if as_json:
        show_json(found)
        return
    store = found["store"]
    said = f"{store['name']}: weight {store['weight']:g}, floor {store['floor']:g}"
    print(visible(f"{said}{lasts(found)}"))


def types(*, as_json: JsonOption = False) -> None:
    """List the types of stores that can be asked, each with a command that adds one."""
    said = [{"type": name, **_about(binding.ADAPTERS[name])} for name in binding.known()]
    if as_json:
        show_json({"types": said})
        return
    blocks = [Block(each["type"], each["about"], [each["example"]]) for each in said]
    show_blocks(counted(len(blocks), "type"), blocks, empty="there is no type")


def _switched(verb: str, name: str, done: str, *, as_json: bool, home: HomeOption) -> None:
    """Have a store asked or not, and say so."""
    found = Client(home, timeout=TIMEOUT).call(verb, name=name)
    if as_json:
        show_json(found)
        return
    print(visible(f"{found['store']['name']} {done}{lasts(found)}"))


def _show_added(found: Answer) -> None:
    """Print which store was added, and where its address leads."""
    ways = [f"{ip} ({_REACH.get(reach, reach)})" for ip, reach in found["resolves"].items()]
    at = f", which is {', '.join(ways)}" if ways else ""
    print(visible(f"added {found['added']}: {found['store']['url']}{at}"))
    for text in found["warnings"]:
        print(visible(f"note: {text}"))
    if found["store"]["enabled"]:
        print(visible(f"see whether it answers with: cortex stores ping {found['added']}"))


def _entry(store: Answer) -> Block:
    """Return a store's entry in a list."""
    is_active = store["status"] == "active"
    known = store.get("options") or {}
    facts = joined(
        [
            "what is known here" if store["type"] == _LOCAL else store["type"],
            store["url"],
            None if store["weight"] == 1 else f"weight {store['weight']:g}",
            f"floor {store['floor']:g}" if store["floor"] else None,
            "has a token" if store["auth"] else None,
            "added by command" if store["managed"] else None,
            "" if is_active else store["status"],
        ]
    )
    options = joined([f"{key}: {shown(value)}" for key, value in known.items()])
    return Block(_ON if is_active else _OFF, store["name"], [facts, options])


def _about(kind: type) -> dict[str, str]:
    """Return what an adapter's docstring says of it: a sentence, and a command that adds one."""
    text = (kind.__doc__ or "").strip()
    example = _EXAMPLE.search(text)
    about = text.partition("\n\n")[0].replace("\n    ", " ")
    return {"about": about, "example": example[1] if example else ""}
