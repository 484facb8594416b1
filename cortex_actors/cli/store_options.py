"""`stores health | ping`: how stores have been answering, and whether they are there now.

`stores configure`: what of the fan over the stores is turned while it runs.

How a command is given a store's token: never among its words, which every process can read.
"""

from __future__ import annotations

import getpass
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cortex_actors.cli.output import (
    Block,
    HomeOption,
    JsonOption,
    examples,
    joined,
    shortened,
    show_blocks,
    show_json,
    show_table,
)
from cortex_actors.client.connection import Client
from cortex_actors.errors import BadInput, UsageError
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_actors.client.connection import Answer


#: Seconds that asking all of them may take: each has its own limit, of at most 30.
TIMEOUT = 60.0

#: Characters that a line has for what went wrong, and for one thing a store says of itself.
_LONGEST, _ROOM = 120, 60

#: What a shell gets where a store that was asked is not there.
_ABSENT = 1


def register(group: typer.Typer) -> None:
    """Add the commands to the group."""
    group.command("health", epilog=examples("cortex stores health --json"))(health)
    group.command("ping", epilog=examples("cortex stores ping", "cortex stores ping notes"))(ping)


def health(*, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Show how each store has been answering since the daemon started."""
    found = Client(home).call("store_health")
    if as_json:
        show_json(found)
        return
    blocks = [_entry(each) for each in found["stores"]]
    show_blocks("How stores have been answering", blocks, empty="no store is known")


def ping(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One store; all that are asked.")
    ] = None,
    *,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Ask stores whether they are there, and what they are. The exit code is 1 if one is not."""
    found = Client(home, timeout=TIMEOUT).call("ping_store", name=name)
    if as_json:
        show_json(found)
    else:
        blocks = [_pinged(each) for each in found["stores"]]
        show_blocks("Stores that were asked", blocks, empty="no store beside this one is asked")
    if not all(each["ok"] for each in found["stores"]):
        raise typer.Exit(_ABSENT)


def _entry(store: Answer) -> Block:
    """Return how one store has been answering."""
    if not store["total"]:
        return Block(store["status"], store["name"], ["not asked since the daemon started"])
    times = f"usually {store['latency_ms']:,.1f} ms, at most {store['max_latency_ms']:,.1f} ms"
    facts = [
        f"{store['total']:,} asked, {store['success_rate']:.0%} answered",
        times if store["succeeded"] else None,
    ]
    error = store["last_error"]
    last = f"last failure: {shortened(error, _LONGEST)}" if error else ""
    return Block(store["status"], store["name"], [joined(facts), last])


def _pinged(store: Answer) -> Block:
    """Return what one store said."""
    if not store["ok"]:
        return Block("-", f"{store['name']}: {store['reason']}")
    known = {key: _plain(value) for key, value in (store["says"] or {}).items()}
    says = joined([f"{key} {text}" for key, text in known.items() if text])
    return Block("*", f"{store['name']} answered in {store['ms']:,.0f} ms", [says])


def _plain(value: object) -> str:
    """Return what a store says of itself, cut to what a line has room for; nothing for nothing."""
    if value is None:
        return ""
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if isinstance(value, dict):
        value = ", ".join(f"{key} {each}" for key, each in value.items())
    return shortened(str(value), _ROOM)


#: What the daemon calls a change that is gone with it, and what people read of it.
_RESTART = "restart"
_UNTIL = " (until the daemon restarts; write it into cortex.toml to keep it)"


def register_knobs(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command(
        "configure",
        epilog=examples(
            "cortex stores configure",
            "cortex stores configure k=30 fusion_mode=rrf_pct",
            "cortex stores configure per_store_timeout_s=2 edges_enabled=false",
        ),
    )(configure)


def configure(
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="[KNOB=VALUE...]", help="What is to change.")
    ] = None,
    *,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Turn how stores are asked and fused, at one stroke; without a word, show how it is.

    Everything is checked first: where one value cannot be, nothing has changed.
    """
    client = Client(home)
    if not changes:
        _look(client.call("knobs"), as_json=as_json)
        return
    found = client.call("configure", changes=values(changes))
    if as_json:
        show_json(found)
        return
    said = ", ".join(f"{name} {shown(value)}" for name, value in found["changed"].items())
    print(visible(f"changed {said}{lasts(found)}"))


def values(words: Iterable[str]) -> dict[str, Any]:
    """Return what `KEY=VALUE` words say; a value is a number or true or false where it can be.

    Raises `UsageError` for another word, and for a key that is given twice.
    """
    found: dict[str, Any] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not (key and sign):
            raise UsageError(
                f"cannot read {word!r}: write KNOB=VALUE; see: cortex stores configure"
            )
        _require_new(found, key)
        found[key] = _plain_word(value)
    return found


def fields(words: Iterable[str]) -> dict[str, Any]:
    """Return what `KEY=TEXT` and `KEY:=JSON` words say; as `values`, and raises `BadInput`."""
    found: dict[str, Any] = {}
    for word in words:
        key, sign, value = word.partition("=")
        is_json, key = key.endswith(":"), key.removesuffix(":")
        if not (key and sign):
            raise UsageError(f"cannot read the option {key!r}: write KEY=TEXT or KEY:=JSON")
        _require_new(found, key)
        found[key] = _json(key, value) if is_json else value
    return found


def lasts(found: Answer) -> str:
    """Return what is said of a change that goes with the daemon; nothing for one that stays."""
    return _UNTIL if found.get("lasts") == _RESTART else ""


def shown(value: object) -> str:
    """Return a value of a knob as people write it."""
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)


def _look(found: Answer, *, as_json: bool) -> None:
    """Show how everything is turned."""
    if as_json:
        show_json(found)
        return
    rows = [
        (
            each["name"],
            shown(each["live"]),
            shown(each["settings"]) if each["twiddled"] else "",
            shown(each["default"]),
        )
        for each in found["knobs"]
    ]
    columns = ("knob", "now", "after a restart", "by default")
    show_table("The fan over the stores", columns, rows, empty="nothing can be turned")


def _require_new(found: dict[str, Any], key: str) -> None:
    """Raise `UsageError` for a key that was given before."""
    if key in found:
        raise UsageError(f"{key} is given twice; give it once")


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


#: Characters that are read of a token; the daemon says what one may be.
_LONGEST_TOKEN = 16_384

StdinOption = Annotated[
    bool,
    typer.Option(
        "--token-stdin", help="Read its token from standard input; a terminal asks, unseen."
    ),
]
EnvOption = Annotated[
    str | None,
    typer.Option("--token-env", metavar="NAME", help="A variable of the daemon's that holds it."),
]
KeyringOption = Annotated[
    str | None,
    typer.Option(
        "--token-keyring",
        metavar="SERVICE/USER",
        help="Its place in the keyring of the operating system.",
    ),
]


def given(name: str, *, stdin: bool, env: str | None, keyring: str | None) -> Mapping[str, Any]:
    """Return what the daemon is told about a store's token; nothing for a store without one.

    Raises `UsageError` for two places, and `BadInput` for a token that is not there.
    """
    if sum((stdin, env is not None, keyring is not None)) > 1:
        raise UsageError("give one of --token-stdin, --token-env and --token-keyring")
    if env is not None:
        return {"token_env": env}
    if keyring is not None:
        return {"token_keyring": keyring}
    return {"token": _read(name)} if stdin else {}


def _read(name: str) -> str:
    """Return the token that standard input has, which a terminal does not show."""
    if sys.stdin.isatty():
        found = getpass.getpass(f"Token of {name}: ")
    else:
        found = sys.stdin.readline(_LONGEST_TOKEN)
    token = found.strip()
    if not token:
        message = "standard input holds no token"
        raise BadInput(f"cannot add {name}: {message}; write it there, as one line")
    return token
