"""`stores configure`: what of the fan over the stores is turned while it runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json, show_table
from cortex_actors.client.connection import Client
from cortex_actors.errors import BadInput, UsageError
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.client.connection import Answer

#: What the daemon calls a change that is gone with it, and what people read of it.
_RESTART = "restart"
_UNTIL = " (until the daemon restarts; write it into cortex.toml to keep it)"


def register(group: typer.Typer) -> None:
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
        found[key] = _plain(value)
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


def _plain(value: str) -> object:
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
