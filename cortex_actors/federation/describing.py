"""How a store is written down and read: from the settings, from a file, for a person to see.

One set of bounds for all of them, that of the settings: what can be said while the daemon runs can
be written into cortex.toml, and the other way round.
"""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit, urlunsplit

from cortex_actors.errors import BadInput
from cortex_actors.federation.spec import Auth, Knobs, StoreSpec
from cortex_actors.federationsections import FederationSettings, StoreSettings
from cortex_actors.rules.fusion import mode_of

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Names of options whose values nobody is shown, whatever they hold: any that has one of these.
_SECRET = ("token", "secret", "password", "passwd", "key", "auth", "cookie", "credential")

#: Names of options whose values nobody is shown, a table or not: what a program is given.
_HIDING = ("env", "headers")

#: A name and what is said of it in one argument of a program.
_ASSIGNED = re.compile(r"([^=:\s]+)(=|:\s*)")

#: Levels that a description may have: options with tables in tables.
DEEPEST = 12

#: What is shown in place of what nobody is shown.
_MASK = "***"

#: What may be turned while the daemon runs.
KNOBS = tuple(each.name for each in fields(Knobs))

#: pydantic's words for what people do wrong -> ours.
_PROBLEMS = {
    "string_pattern_mismatch": "it is 1 to 64 letters, digits, _ . or -, a letter or digit first",
    "string_too_short": "it is required",
}


def spec_of(given: StoreSettings, *, managed: bool) -> StoreSpec:
    """Return a store as the settings describe it."""
    return StoreSpec(
        given.name,
        given.type,
        given.url,
        weight=given.weight,
        floor=given.floor,
        enabled=given.enabled,
        options=dict(given.options),
        managed=managed,
        auth=Auth(given.token, given.token_keyring, given.token_env),
    )


def read(entry: object) -> StoreSpec:
    """Return the store that an entry of a file describes; raises `BadInput` saying what is wrong.

    Keys that are none of ours are options, and a token's keys may be spelt in either way, as they
    are in the settings.
    """
    if not isinstance(entry, dict):
        raise BadInput("it is no object")
    _require_plain(entry, DEEPEST)
    try:
        return spec_of(StoreSettings.model_validate(entry, strict=True), managed=True)
    except ValueError as error:
        raise BadInput(problem(error)) from None


def checked(spec: StoreSpec) -> StoreSpec:
    """Return a store that somebody wants to add; raises `BadInput` where it is none."""
    for name in ("name", "type", "url"):
        if not getattr(spec, name):
            raise BadInput(f"cannot add the store: {name} is required")
    try:
        return read(written(spec))
    except BadInput as error:
        raise BadInput(f"cannot add the store {spec.name[:64]!r}: {error}") from None


def written(spec: StoreSpec) -> dict[str, Any]:
    """Return a store as an entry of a file; `read` is the way back. Its token is in it."""
    auth = {each.name: getattr(spec.auth, each.name) for each in fields(Auth)}
    more = {"options": dict(spec.options)} if spec.options else {}
    return {
        "name": spec.name,
        "type": spec.type,
        "url": spec.url,
        "weight": spec.weight,
        "floor": spec.floor,
        **{name: value for name, value in auth.items() if value},
        **({} if spec.enabled else {"enabled": False}),
        **more,
    }


def shown(spec: StoreSpec, status: str) -> dict[str, Any]:
    """Return a store for whoever asks, without what is secret."""
    return {
        "name": spec.name,
        "type": spec.type,
        "url": without_user(spec.url),
        "weight": spec.weight,
        "floor": spec.floor,
        "enabled": spec.enabled,
        "managed": spec.managed,
        "auth": bool(spec.auth),
        "status": status,
        "options": {name: _masked(name, value) for name, value in spec.options.items()},
    }


def without_user(url: str) -> str:
    """Return an address without the password that may stand in it, before the host or behind ?."""
    try:
        parts = urlsplit(url)
        if "@" in parts.netloc:
            host = parts.netloc.rpartition("@")[2]
            parts = parts._replace(netloc=f"{_MASK}@{host}")
        elif not (parts.netloc and parts.query):
            return url
        return urlunsplit(parts._replace(query=_MASK) if parts.query else parts)
    except ValueError:
        return _MASK


def knobs_of(settings: FederationSettings) -> Knobs:
    """Return what may be turned, as the settings have it."""
    return Knobs(**{name: getattr(settings, name) for name in KNOBS})


def turned(knobs: Knobs, changes: Mapping[str, Any]) -> Knobs:
    """Return knobs with some of them turned; raises `BadInput` for what none may be."""
    strange = sorted(changes.keys() - set(KNOBS))
    if strange:
        message = f"cannot configure {strange[0][:64]!r}: what may be turned is {', '.join(KNOBS)}"
        raise BadInput(message)
    if isinstance(wanted := changes.get("fusion_mode"), str):
        mode_of(wanted)
    whole = {name: getattr(knobs, name) for name in KNOBS} | dict(changes)
    try:
        return knobs_of(FederationSettings.model_validate(whole, strict=True))
    except ValueError as error:
        raise BadInput(f"cannot configure the federation: {problem(error)}") from None


def counting(name: str, how: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a store is to count; raises `BadInput` for a weight or floor that is none."""
    try:
        found = StoreSettings.model_validate({"name": "x", "type": "x", **how}, strict=True)
    except ValueError as error:
        raise BadInput(f"cannot tune {name}: {problem(error)}") from None
    return {each: getattr(found, each) for each in how}


def problem(error: ValueError) -> str:
    """Return what a section's check found first, in a few words and without what was given.

    The check is pydantic's, and so is its error; its library is imported at its own door alone.
    """
    first = cast("Any", error).errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"]) or "it"
    said = str(first["msg"]).removeprefix("Value error, ")
    return f"{key}: {_PROBLEMS.get(first['type'], said[:1].lower() + said[1:])}"


def _require_plain(value: object, deepest: int) -> None:
    """Raise `BadInput` for what cannot be shown and written as everything else is."""
    if deepest < 0:
        raise BadInput(f"it has more than {DEEPEST} levels")
    if isinstance(value, float) and not math.isfinite(value):
        raise BadInput("infinity is no number of JSON")
    if isinstance(value, str) and not value.isascii():
        _require_text(value)
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    for each in inner if isinstance(inner, list) else ():
        _require_plain(each, deepest - 1)


def _require_text(value: str) -> None:
    """Raise `BadInput` for half a character, which no answer and no request can carry."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadInput("it holds half a character (a lone surrogate); write it anew") from None


def _masked(name: str, value: object) -> object:
    """Return an option's value, or a mask where its name says that it is nobody's to see."""
    if _is_secret(name):
        return _MASK
    if name.lower() in _HIDING:
        return dict.fromkeys(value, _MASK) if isinstance(value, dict) else _MASK
    if isinstance(value, dict):
        return {key: _masked(str(key), each) for key, each in value.items()}
    if isinstance(value, list):
        return _masked_list(value)
    return without_user(value) if isinstance(value, str) else value


def _masked_list(some: list[object]) -> list[object]:
    """Return a program's arguments without what a flag, a variable or a header says in secret.

    `--api-key=x`, `API_KEY=x`, `Authorization: x` say it themselves, `--api-key` in what follows.
    """
    found: list[object] = []
    follows = False
    for each in some:
        said = _ASSIGNED.match(each) if isinstance(each, str) else None
        if follows:
            found.append(_MASK)
        elif said and _is_secret(said[1]):
            found.append(f"{said[1]}{said[2]}{_MASK}")
        else:
            found.append(_masked("", each))
        bare = isinstance(each, str) and each.startswith("-") and not said
        follows = not follows and bare and _is_secret(str(each))
    return found


def _is_secret(name: str) -> bool:
    """Tell whether nobody is shown what goes by that name."""
    low = name.lower()
    return any(each in low for each in _SECRET)
