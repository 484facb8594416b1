"""What the file of a Seren Corpus Callosum says, as far as it means something here.

A file that was written for another program is read leniently: an entry that is no store is left
out, and said to be; of two stores of one name the first counts. No reason ever repeats a value,
which may be a token.

Reads its YAML; the door to PyYAML. Only plain data is read: anchors and aliases, by which a small
file becomes a huge one, and tags, by which a file says what is made of it, are refused before
anything is built, and so is what is nested deeper than such a file ever is.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.errors import BadInput
from cortex_actors.federation import schema
from cortex_actors.sections import FederationSettings
from cortex_actors.text.hazards import TOKEN_KEYS, normalise_token_keys

if TYPE_CHECKING:
    from cortex_actors.federation.store import StoreSpec

#: Entries that a file may have: more is not a list that anybody has written.
MOST_STORES: Final = 256

#: Letters of a key or a name that a reason shows.
_SHOWN: Final = 64

#: What both programs can turn, under one name and within the same bounds (the settings').
_SHARED: Final = frozenset(schema.KNOBS) - {"max_store_share", "local"}

#: What of such a file means nothing here, and what does instead.
_ELSEWHERE: Final = {
    "server": "our own door is [http] in cortex.toml",
    "tls": "it is [tls] in cortex.toml",
    "mcp": "our own tools are not set up by such a file",
    "updates": "cortex does not look for newer versions of itself",
    "budget_tokens": "give it with a question: cortex recall --budget-tokens",
}

#: Keys of an entry whose values are texts.
_TEXTS: Final = ("name", "type", "url", *TOKEN_KEYS)

#: Bytes of a file: one with a hundred stores has some 20,000.
LONGEST = 262_144

#: Tables and lists inside one another; such a file has five.
DEEPEST_FILE = 32


@dataclass(frozen=True, slots=True)
class CallosumFile:
    """What a file says.

    Attributes:
        stores: in the file's order, as ones that are added while the daemon runs.
        knobs: of the fan, under our names, each within its bounds.
        skipped: (what of the file, why) that is not taken, without values.

    """

    stores: tuple[StoreSpec, ...]
    knobs: Mapping[str, Any]
    skipped: tuple[tuple[str, str], ...]


def read_text(text: str) -> CallosumFile:
    """Return what a file says. Blocks for some milliseconds: call it on a thread.

    Raises `BadInput` for what is no such file; the text says where, and quotes nothing.
    """
    if len(text.encode("utf-8", "surrogatepass")) > LONGEST:
        message = f"the file has more than {LONGEST:,} bytes"
        raise BadInput(f"cannot import stores: {message}; give the one with the stores alone")
    return read(_document(text))


def read(document: object) -> CallosumFile:
    """Return what a file says: a whole one, its `federation`, or the list of stores alone.

    Raises `BadInput` for what is none of these.
    """
    sections = document if isinstance(document, Mapping) else {}
    federation = sections if "stores" in sections else sections.get("federation")
    if isinstance(document, list):
        federation = {"stores": document}
    if not isinstance(federation, Mapping):
        message = "it has no `federation` with `stores`, as a Callosum's file has"
        raise BadInput(f"cannot import stores: {message}; give such a file, or a list of stores")
    entries = federation.get("stores") or []
    if not isinstance(entries, list) or len(entries) > MOST_STORES:
        message = f"`stores` is not a list of at most {MOST_STORES} stores"
        raise BadInput(f"cannot import stores: {message}; write each as an entry with a dash")
    stores, wrong = _stores(entries)
    knobs, strange = _knobs(federation)
    others = [
        (_shortened(key), _ELSEWHERE.get(str(key), "it means nothing here"))
        for key in (() if federation is sections else sections)
        if key != "federation"
    ]
    return CallosumFile(tuple(stores), knobs, (*wrong, *strange, *others))


def _stores(entries: list[Any]) -> tuple[list[StoreSpec], list[tuple[str, str]]]:
    """Return the stores of a list, and the entries that are none."""
    stores: dict[str, StoreSpec] = {}
    wrong: list[tuple[str, str]] = []
    for number, entry in enumerate(entries, start=1):
        name = entry.get("name") if isinstance(entry, Mapping) else None
        what = _shortened(name) if isinstance(name, str) and name.strip() else f"entry {number}"
        try:
            store = _store(entry)
        except BadInput as error:
            wrong.append((what, str(error)))
            continue
        if store.name in stores:
            wrong.append((what, "a store of that name comes before it"))
        stores.setdefault(store.name, store)
    return list(stores.values()), wrong


def _store(entry: object) -> StoreSpec:
    """Return the store of one entry; raises `BadInput` that says what is wrong with it."""
    if not isinstance(entry, Mapping) or not all(isinstance(key, str) for key in entry):
        raise BadInput("it is no table of keys and values")
    said = normalise_token_keys({key: value for key, value in entry.items() if value is not None})
    said.pop("managed", None)
    # A number may be where a text is meant, and in quotes.
    said |= {key: str(said[key]).strip() for key in _TEXTS if type(said.get(key)) in {str, int}}
    for key in ("weight", "floor"):
        with suppress(KeyError, ValueError):
            said[key] = float(said[key]) if isinstance(said[key], str) else said[key]
    for key in ("name", "type", "url"):
        if not said.get(key):
            raise BadInput(f"{key} is required")
    return schema.read(said)


def _knobs(federation: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return what a file says about the fan under our names, and what of it is not taken."""
    knobs: dict[str, Any] = {}
    strange: list[tuple[str, str]] = []
    for key, value in federation.items():
        if key == "stores" or value is None:
            continue
        try:
            knobs.update(_knob(key, value))
        except BadInput as error:
            strange.append((_shortened(key), str(error)))
    # Off is off, whatever the budget beside it says.
    if federation.get("satellite_edges_enabled") is False:
        knobs["satellite_budget"] = 0
    return knobs, strange


def _knob(key: object, value: object) -> dict[str, Any]:
    """Return what one key means; raises `BadInput` for what means nothing here."""
    if key == "satellite_edges_enabled":
        return {}
    if key not in _SHARED:
        raise BadInput(_ELSEWHERE.get(str(key), "it means nothing here"))
    if isinstance(value, bool) != (key == "edges_enabled"):
        raise BadInput(
            "it is neither true nor false" if key == "edges_enabled" else "it is no number"
        )
    try:
        found = FederationSettings.model_validate({key: value})
    except ValueError as error:
        raise BadInput(schema.problem(error)) from None
    return {str(key): getattr(found, str(key))}


def _shortened(key: object) -> str:
    """Return a key or a name on one line, cut to a length."""
    text = " ".join(str(key).split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _document(text: str) -> object:
    """Return what the YAML says as plain Python values: no dates, and no key twice."""
    import yaml  # noqa: PLC0415 - once in a home's life

    class Plain(yaml.CSafeLoader):
        """Text, numbers, yes and no, lists and tables."""

        yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own way of saying it
            # What a plain word that looks like a date would become; here it stays a word.
            first: [(tag, shape) for tag, shape in rules if tag != "tag:yaml.org,2002:timestamp"]
            for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
        }

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - PyYAML's signature
            """Refuse a key that is there twice: which of two tokens is meant is not guessed."""
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(keys) != len(set(keys)):
                line = node.start_mark.line + 1 if node.start_mark else 0
                raise BadInput(_refused("a key twice in its table", line))
            return super().construct_mapping(node, deep=deep)

    try:
        # At the first thing that is not plain, or too deep, it is refused.
        depth = 0
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            line = event.start_mark.line + 1 if event.start_mark else 0
            if getattr(event, "anchor", None) is not None:
                raise BadInput(_refused("an anchor or an alias (& or *)", line))
            if getattr(event, "tag", None) is not None:
                raise BadInput(_refused("a tag (!)", line))
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST_FILE:
                raise BadInput(_refused(f"more than {DEEPEST_FILE} levels", line))
        return yaml.load(text, Loader=Plain)  # noqa: S506 - plain data
    except yaml.YAMLError as error:
        raise BadInput(_unread(error)) from None
    except (ValueError, RecursionError):
        message = "it holds a number that is none, or a character that no text has"
        raise BadInput(f"cannot import stores: {message}; write it in quotes") from None


def _refused(what: str, line: int) -> str:
    """Return why a file is not read."""
    return f"cannot import stores: line {line} has {what}; write it out as plain YAML"


def _unread(error: Exception) -> str:
    """Return why a text is no YAML, and where; what is written there is not repeated."""
    mark = getattr(error, "problem_mark", None)
    where = f", line {mark.line + 1}" if mark is not None else ""
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "it is no YAML"
    return f"cannot import stores: the file is no YAML{where} ({what}); mend it there"
