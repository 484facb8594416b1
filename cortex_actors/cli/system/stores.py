"""`stores`: which stores a recall asks, what each of them counts, and how they have been answering.

`stores configure`: what of the fan over the stores is turned while it runs.

How a command is given a store's token: never among its words, which every process can read.
"""

from __future__ import annotations

import getpass
import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, Option, Preset, command, shows
from cortex_actors.cli.show import count_nouns, join_facts, shorten
from cortex_actors.client.connection import Answer, Client
from cortex_actors.errors import BadInput, UsageError

#: The type of what is kept here.
_LOCAL = "local"

#: How far away an address is.
_REACH = {"loopback": "this machine", "private": "this network", "public": "the internet"}

#: What a store is marked with whose hits take part, and one whose do not.
_ON, _OFF = "*", "-"

#: Where an adapter's docstring shows how such a store is added.
_EXAMPLE = re.compile(r"Added with `([^`]+)`")

#: Characters that a line has for what went wrong, and for one thing a store says of itself.
_LONGEST, _ROOM = 120, 60

#: What a shell gets where a store that was asked is not there.
_ABSENT = 1

#: What the daemon calls a change that is gone with it, and what people read of it.
_RESTART = "restart"
_UNTIL = " (until the daemon restarts; write it into cortex.toml to keep it)"

#: Characters that are read of a token; the daemon says what one may be.
_LONGEST_TOKEN = 16_384


@shows(
    "stores",
    "",
    asks="stores.list",
    also="stores list",
    about="See and change which stores a recall asks beside what is known here.",
    is_group=True,
)
def show_listed(found: Answer) -> None:
    """Print the stores that a recall asks, what is known here first."""
    rows, active = found["stores"], len(found["active"])
    title = f"{active} of {count_nouns(len(rows), 'store')} {'is' if active == 1 else 'are'} asked"
    show.blocks(title, [_entry(each) for each in rows], empty="no store is known")
    for name, turned in found.get("turned", {}).items():
        show.lines(f"{name} is {format_value(turned['live'])} until the daemon restarts")
    for name, tuned in found.get("tuned", {}).items():
        live = {each: value["live"] for each, value in tuned.items()}
        show.lines(f"{name} has {format_values(live)} until the daemon restarts")
    show.lines(*(f"to mend: {text}" for text in found["trouble"]))


def parse_knobs(words: Iterable[str]) -> dict[str, Any]:
    """Return what `KEY=VALUE` words say; a value is a number or true or false where it can be."""
    pairs = _split(words, "{!r}: write KNOB=VALUE; see: cortex stores configure")
    return {key: _plain_word(value) for key, value in pairs.items()}


def parse_options(words: Iterable[str]) -> dict[str, Any]:
    """Return what `KEY=TEXT` and `KEY:=JSON` words say; raises `BadInput` for what is no JSON."""
    pairs = _split(words, "the option {!r}: write KEY=TEXT or KEY:=JSON")
    return {
        key.removesuffix(":"): _json(key[:-1], value) if key.endswith(":") else value
        for key, value in pairs.items()
    }


def _split(words: Iterable[str], form: str) -> dict[str, str]:
    """Return words by what is before their equals sign.

    Raises `UsageError` for another word, and for a key that is given twice.
    """
    found: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        name = key.removesuffix(":")
        if not (name and sign):
            raise UsageError(f"cannot read {form.format(key + sign)}")
        if name in {each.removesuffix(":") for each in found}:
            raise UsageError(f"{name} is given twice; give it once")
        found[key] = value
    return found


def _plain_word(value: str) -> object:
    """Return a number, true or false where a word is one; else the word."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, int | float) else value


def _json(key: str, value: str) -> object:
    """Return a JSON value; the text of the error does not repeat it."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        message = f"the option {key} is no JSON"
        raise BadInput(f"{message}; write {key}=... for a text, {key}:=... for JSON") from None


def show_added(found: Answer) -> None:
    """Print which store was added, and where its address leads."""
    ways = [f"{ip} ({_REACH.get(reach, reach)})" for ip, reach in found["resolves"].items()]
    at = f", which is {', '.join(ways)}" if ways else ""
    show.lines(f"added {found['added']}: {found['store']['url']}{at}")
    show.lines(*(f"note: {text}" for text in found["warnings"]))
    if found["store"]["enabled"]:
        show.lines(f"see whether it answers with: cortex stores ping {found['added']}")


@command(
    "stores add",
    "notes seren_memory http://127.0.0.1:7420",
    "facts seren_loci http://127.0.0.1:7422 --token-stdin < token.txt",
    "team chroma https://chroma.example:8000 --option collection=notes",
    show=show_added,
    asks="stores.add",
    leave_out=("token", "enabled"),
    weight=Option(default=None),
    floor=Option(default=None),
    token_stdin=Preset(help="Read its token from standard input; a terminal asks, unseen."),
    options=Option(
        "--option", help="For its type alone; KEY:=JSON for no text.", read=parse_options
    ),
    disabled=Preset(help="Do not ask it yet."),
)
def add(
    client: Client,
    *,
    name: str,
    token_stdin: bool,
    token_env: str | None,
    token_keyring: str | None,
    disabled: bool,
    **described: object,
) -> Answer:
    """Have every recall ask a store, from now on and without a restart.

    Nothing is sent to it yet. Its token is kept in the keyring of the operating system where there
    is one, and never shown again.
    """
    token = read_token(name, stdin=token_stdin, env=token_env, keyring=token_keyring)
    said = {key: value for key, value in described.items() if value is not None}
    return client.call("add_store", name=name, enabled=not disabled, **said, **token)


@shows("stores remove", "notes")
def show_removed(found: Answer) -> None:
    """Print which store is asked no more, and what stays of it."""
    name = found["removed"]
    if found.get("shadowed"):
        is_active = name in found["active"]
        goes = "goes on being asked" if is_active else "stays, and is not asked either"
        show.lines(f"removed {name} of runtime-stores.json, which was not asked")
        show.lines(f"{name} of cortex.toml {goes}")
    else:
        show.lines(f"removed {name}")
    show.lines(*(f"note: {text}" for text in found.get("warnings", ())))


@shows("stores enable", "notes")
@shows("stores disable", "notes")
def show_switched(found: Answer) -> None:
    """Print whether a store is asked from now on."""
    how = "asked from now on" if found["store"]["enabled"] else "not asked any more"
    show.lines(f"{found['store']['name']} is {how}{format_lasting(found)}")


@shows("stores tune", "notes --weight 2 --floor 0.3")
def show_tuned(found: Answer) -> None:
    """Print what a store counts now."""
    store = found["store"]
    said = f"{store['name']}: weight {store['weight']:g}, floor {store['floor']:g}"
    show.lines(f"{said}{format_lasting(found)}")


def show_types(found: Answer) -> None:
    """Print the types of stores."""
    blocks = [show.ListEntry(e["type"], e["about"], [e["example"]]) for e in found["types"]]
    show.blocks(count_nouns(len(blocks), "type"), blocks, empty="there is no type")


@command("stores types", "", show=show_types)
def types() -> Answer:
    """List the types of stores that can be asked, each with a command that adds one."""
    from cortex_actors.federation import binding  # noqa: PLC0415 - every adapter

    said = []
    for name, kind in sorted(binding.ADAPTERS.items()):
        text = (kind.__doc__ or "").strip()
        about = text.partition("\n\n")[0].replace("\n    ", " ")
        example = _EXAMPLE.search(text)
        said.append({"type": name, "about": about, "example": example[1] if example else ""})
    return {"types": said}


@shows("stores health", "--json")
def show_health(found: Answer) -> None:
    """Print how each store has been answering."""
    blocks = [_answering(each) for each in found["stores"]]
    show.blocks("How stores have been answering", blocks, empty="no store is known")


def exit_code(found: Answer) -> int:
    """Return the exit code: whether a store that was asked is not there."""
    return 0 if all(each["ok"] for each in found["stores"]) else _ABSENT


@shows(
    "stores ping",
    "",
    "notes",
    about="Ask stores whether they are there, and what they are. The exit code is 1 if one is not.",
    exits=exit_code,
    name=Argument(metavar="[NAME]", complete="stores", help="One store; all that are asked."),
)
def show_pinged(found: Answer) -> None:
    """Print what each store said."""
    blocks = []
    for each in found["stores"]:
        if each["ok"]:
            known = {key: _plain(value) for key, value in (each["says"] or {}).items()}
            says = join_facts(*[f"{key} {text}" for key, text in known.items() if text])
            text = f"{each['name']} answered in {each['ms']:,.0f} ms"
            blocks.append(show.ListEntry("*", text, [says]))
        else:
            blocks.append(show.ListEntry("-", f"{each['name']}: {each['reason']}"))
    show.blocks("Stores that were asked", blocks, empty="no store beside this one is asked")


def show_knobs(found: Answer) -> None:
    """Print how everything is turned, or what was changed."""
    if "changed" in found:
        show.lines(f"changed {format_values(found['changed'])}{format_lasting(found)}")
        return
    rows = []
    for each in found["knobs"]:
        later = format_value(each["settings"]) if each["twiddled"] else ""
        rows.append(
            (each["name"], format_value(each["live"]), later, format_value(each["default"]))
        )
    columns = ("knob", "now", "after a restart", "by default")
    show.table("The fan over the stores", columns, rows, empty="nothing can be turned")


@command(
    "stores configure",
    "",
    "k=30 fusion_mode=rrf_pct",
    "per_store_timeout_s=2 edges_enabled=false",
    show=show_knobs,
    asks="stores.configure",
    changes=Argument(metavar="[KNOB=VALUE...]", required=False, read=parse_knobs),
)
def configure(client: Client, *, changes: dict[str, Any] | None) -> Answer:
    """Turn how stores are asked and fused, at one stroke; without a word, show how it is.

    Everything is checked first: where one value cannot be, nothing has changed.
    """
    return client.call("configure", changes=changes) if changes else client.call("knobs")


def format_lasting(found: Answer) -> str:
    """Return what is said of a change that goes with the daemon; nothing for one that stays."""
    return _UNTIL if found.get("lasts") == _RESTART else ""


def format_value(value: object) -> str:
    """Return a value of a knob as people write it."""
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)


def format_values(knobs: Mapping[str, Any]) -> str:
    """Return names with their values, in one line."""
    return ", ".join(f"{name} {format_value(value)}" for name, value in knobs.items())


def read_token(
    name: str, *, stdin: bool, env: str | None, keyring: str | None
) -> Mapping[str, Any]:
    """Return what the daemon gets of a store's token; nothing for a store without one.

    Raises `UsageError` for two places, and `BadInput` for a token that is not there.
    """
    if sum((stdin, env is not None, keyring is not None)) > 1:
        raise UsageError("give one of --token-stdin, --token-env and --token-keyring")
    if not stdin:
        said = {"token_env": env, "token_keyring": keyring}
        return {key: value for key, value in said.items() if value is not None}
    asked = f"Token of {name}: "
    found = getpass.getpass(asked) if sys.stdin.isatty() else sys.stdin.readline(_LONGEST_TOKEN)
    if not (token := found.strip()):
        why = "standard input holds no token; write it there, as one line"
        raise BadInput(f"cannot add {name}: {why}")
    return {"token": token}


def _entry(store: Answer) -> show.ListEntry:
    """Return a store's entry in a list."""
    is_active = store["status"] == "active"
    known = store.get("options") or {}
    facts = join_facts(
        "what is known here" if store["type"] == _LOCAL else store["type"],
        store["url"],
        None if store["weight"] == 1 else f"weight {store['weight']:g}",
        f"floor {store['floor']:g}" if store["floor"] else None,
        "has a token" if store["auth"] else None,
        "added by command" if store["managed"] else None,
        "" if is_active else store["status"],
    )
    options = join_facts(*[f"{key}: {format_value(value)}" for key, value in known.items()])
    return show.ListEntry(_ON if is_active else _OFF, store["name"], [facts, options])


def _answering(store: Answer) -> show.ListEntry:
    """Return how one store has been answering."""
    times = f"usually {store['latency_ms']:,.1f} ms, at most {store['max_latency_ms']:,.1f} ms"
    facts = f"{store['total']:,} asked, {store['success_rate']:.0%} answered"
    about = [join_facts(facts, times if store["succeeded"] else None)]
    if error := store["last_error"]:
        about.append(f"last failure: {shorten(error, _LONGEST)}")
    if not store["total"]:
        about = ["not asked since the daemon started"]
    return show.ListEntry(store["status"], store["name"], about)


def _plain(value: object) -> str:
    """Return what a store says of itself, cut to what a line has room for; nothing for nothing."""
    if value is None:
        return ""
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if isinstance(value, dict):
        value = ", ".join(f"{key} {each}" for key, each in value.items())
    return shorten(str(value), _ROOM)
