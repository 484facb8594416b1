"""How a store is written down and read: from the settings, from a file, for a person to see.

One set of bounds for all of them, that of the settings: what can be said while the daemon runs can
be written into cortex.toml, and the other way round.

What only one kind of store understands of its description: checked before anything is sent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Annotated, Any, Self, cast, get_args
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from cortex_actors.errors import BadInput, StoreUnusable
from cortex_actors.federation.store import Auth, StoreSpec
from cortex_actors.rules.ranking.fusion import read_mode
from cortex_actors.sections import FederationSettings, StoreSettings

#: What of a store is written and shown as it is.
_OPEN = ("name", "type", "url", "weight", "floor")

#: Names of options whose values are never shown, whatever they hold: any that has one of these.
_SECRET = ("token", "secret", "password", "passwd", "key", "auth", "cookie", "credential")

#: A name and what is said of it in one argument of a program.
_ASSIGNED = re.compile(r"([^=:\s]+)(=|:\s*)")

#: Levels that a description may have: options with tables in tables.
DEEPEST = 12

#: What is shown in place of what is secret.
_MASK = "***"

#: What of the settings may be turned while the daemon runs.
KNOBS = (
    *("k", "n_results", "fetch_multiplier", "per_store_timeout_s", "fusion_mode"),
    *("authority_margin", "min_per_store", "edges_enabled", "edge_budget", "satellite_budget"),
    *("hops", "hop_terms", "hop_budget", "max_store_share", "local"),
)

#: pydantic's words for what people do wrong -> ours.
_PROBLEMS = {
    "string_pattern_mismatch": "it is 1 to 64 letters, digits, _ . or -, a letter or digit first",
    "string_too_short": "it is required",
}


def make_spec(given: StoreSettings, *, managed: bool) -> StoreSpec:
    """Return a store as the settings describe it."""
    said = given.model_dump()
    auth = Auth(**{each.name: said.pop(each.name) for each in fields(Auth)})
    return StoreSpec(**said, managed=managed, auth=auth)


def read(entry: object) -> StoreSpec:
    """Return the store that an entry of a file describes; raises `BadInput` saying what is wrong.

    Keys that are none of ours are options, and a token's keys may be spelt in either way, as they
    are in the settings.
    """
    if not isinstance(entry, dict):
        raise BadInput("it is no object")
    _require_plain(entry, DEEPEST)
    try:
        return make_spec(StoreSettings.model_validate(entry, strict=True), managed=True)
    except ValueError as error:
        raise BadInput(explain_problem(error)) from None


def check_spec(spec: StoreSpec) -> StoreSpec:
    """Return a store that is to be added; raises `BadInput` where it is none."""
    for name in ("name", "type", "url"):
        if not getattr(spec, name):
            raise BadInput(f"cannot add the store: {name} is required")
    try:
        return read(format_entry(spec))
    except BadInput as error:
        raise BadInput(f"cannot add the store {spec.name[:64]!r}: {error}") from None


def format_entry(spec: StoreSpec) -> dict[str, Any]:
    """Return a store as an entry of a file; `read` is the way back. Its token is in it."""
    auth = {name: value for name, value in asdict(spec.auth).items() if value}
    enabled = {} if spec.enabled else {"enabled": False}
    options = {"options": dict(spec.options)} if spec.options else {}
    return {**{name: getattr(spec, name) for name in _OPEN}, **auth, **enabled, **options}


def format_store(spec: StoreSpec, status: str) -> dict[str, Any]:
    """Return a store for any caller, without what is secret."""
    return {
        **{name: getattr(spec, name) for name in (*_OPEN, "enabled", "managed")},
        "url": mask_address(spec.url),
        "auth": bool(spec.auth),
        "status": status,
        "options": {name: _masked(name, value) for name, value in spec.options.items()},
    }


def mask_address(url: str) -> str:
    """Return an address without the password that may be in it, before the host or behind ?."""
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


def change_knobs(knobs: FederationSettings, changes: Mapping[str, Any]) -> FederationSettings:
    """Return knobs alone with some of them turned; raises `BadInput` for what none may be."""
    if strange := sorted(changes.keys() - set(KNOBS)):
        message = f"cannot configure {strange[0][:64]!r}: what may be turned is {', '.join(KNOBS)}"
        raise BadInput(message)
    if isinstance(wanted := changes.get("fusion_mode"), str):
        read_mode(wanted)
    whole = {name: getattr(knobs, name) for name in KNOBS} | dict(changes)
    try:
        return FederationSettings.model_validate(whole, strict=True)
    except ValueError as error:
        raise BadInput(f"cannot configure the federation: {explain_problem(error)}") from None


def check_weights(name: str, how: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a store is to count; raises `BadInput` for a weight or floor that is none."""
    try:
        found = StoreSettings.model_validate({"name": "x", "type": "x", **how}, strict=True)
    except ValueError as error:
        raise BadInput(f"cannot tune {name}: {explain_problem(error)}") from None
    return {each: getattr(found, each) for each in how}


def explain_problem(error: ValueError) -> str:
    """Return what a section's check found first, in a few words and without what was given.

    The check is pydantic's, and so is its error.
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
        # Half a character, which no answer and no request can carry.
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadInput("it holds half a character (a lone surrogate); write it again") from None
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    for each in inner if isinstance(inner, list) else ():
        _require_plain(each, deepest - 1)


def _masked(name: str, value: object) -> object:
    """Return an option's value, or a mask where its name says that it is secret."""
    if _is_secret(name):
        return _MASK
    # Names of options whose values are never shown, a table or not: what a program is given.
    if name.lower() in ("env", "headers"):
        return dict.fromkeys(value, _MASK) if isinstance(value, dict) else _MASK
    if isinstance(value, dict):
        return {key: _masked(str(key), each) for key, each in value.items()}
    if isinstance(value, list):
        return _masked_list(value)
    return mask_address(value) if isinstance(value, str) else value


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
    """Tell whether a value of that name is secret; `text_key` names a field, and no key."""
    low = name.lower().replace("text_key", "")
    return any(each in low for each in _SECRET)


#: Characters of an option's name that an error shows; a person knows it again by its beginning.
SHOWN = 60


def _line(given: str) -> str:
    """Return a text without blanks around it; raises `ValueError` for none or several lines."""
    if not given.strip() or not given.isprintable():
        raise ValueError("no text of one line")
    return given.strip()


#: What options are, each with what it has to be, as an error says it.
Flag = Annotated[bool, Field(description="true or false")]
Words = Annotated[str, AfterValidator(_line), Field(description="a text of one line")]
Listing = Annotated[Sequence[str], Field(description="a list of texts")]
Table = Annotated[Mapping[str, Any], Field(description="a table of names and values")]

#: A path below a store's own address. Whatever could lead to another host or out of the address
#: (`@evil.example`, `//evil.example`, `/../admin`, `?a=b`) is none.
_PATH = r"^(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$"
Below = Annotated[str, Field(pattern=_PATH, description="a path such as {default}")]


class StoreOptions(BaseModel):
    """The options of one type of store; what is declared is what may be said, and nothing else.

    A misspelt option would have no effect, and not be noticed, so it is refused.
    """

    model_config = ConfigDict(frozen=True, strict=True, hide_input_in_errors=True)

    @classmethod
    def from_fields(cls, spec: StoreSpec) -> Self:
        """Return the options of a description; null is what is not given.

        Raises `StoreUnusable` for a name that is none and a value that means nothing, without the
        value: that may be a secret.
        """
        named, known = f"a store of type {spec.type}", cls.model_fields
        unknown = sorted(repr(str(name)[:SHOWN]) for name in spec.options if name not in known)
        if unknown:
            raise StoreUnusable(
                f"{named} has no option {', '.join(unknown)}; it knows {', '.join(sorted(known))}"
            )
        given = {name: value for name, value in spec.options.items() if value is not None}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            name = str(error.errors(include_input=False)[0]["loc"][0])
        if name not in given:
            raise StoreUnusable(f"{named} needs the option {name}; set options.{name}")
        raise StoreUnusable(f"the option {name} of {named} has to be {cls._wanted(name)}")

    @classmethod
    def _wanted(cls, name: str) -> str:
        """Return what an option has to be."""
        option = cls.model_fields[name]
        if option.description is None:
            return f"one of {', '.join(get_args(option.annotation))}"
        return option.description.format(default=option.default)
