"""Reads the YAML of a Seren Corpus Callosum; the door to PyYAML.

Only plain data is read: anchors and aliases, by which a small file becomes a huge one, and tags, by
which a file says what is made of it, are refused before anything is built, and so is what is nested
deeper than such a file ever is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import BadInput
from cortex_actors.federation.spec import Auth, StoreSpec
from cortex_actors.rules import callosum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.rules.callosum import Listed

#: Bytes of a file: one with a hundred stores has some 20,000.
LONGEST = 262_144

#: Tables and lists inside one another; such a file has five.
DEEPEST = 32

#: What a plain word that looks like a date would become; here it stays a word.
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file says.

    Attributes:
        stores: in the file's order, as ones that are added while the daemon runs.
        knobs: of the fan, under our names, each within its bounds.
        skipped: (what of the file, why) that is not taken, without values.

    """

    stores: tuple[StoreSpec, ...]
    knobs: Mapping[str, Any]
    skipped: tuple[tuple[str, str], ...]


def read(text: str) -> Imported:
    """Return what a file says. Blocks for some milliseconds: call it on a thread.

    Raises `BadInput` for what is no such file; the text says where, and quotes nothing.
    """
    if len(text.encode("utf-8", "surrogatepass")) > LONGEST:
        message = f"the file has more than {LONGEST:,} bytes"
        raise BadInput(f"cannot import stores: {message}; give the one with the stores alone")
    found = callosum.read(_document(text))
    return Imported(tuple(_spec(each) for each in found.stores), found.knobs, found.left_out)


def _spec(listed: Listed) -> StoreSpec:
    """Return a store of a file as the roster knows stores."""
    return StoreSpec(
        name=listed.name,
        type=listed.type,
        url=listed.url,
        weight=listed.weight,
        floor=listed.floor,
        enabled=listed.enabled,
        options=listed.options,
        managed=True,
        auth=Auth(listed.token, listed.token_keyring, listed.token_env),
    )


def _document(text: str) -> object:
    """Return what the YAML says as plain Python values."""
    import yaml  # noqa: PLC0415 - once in a home's life

    try:
        _require_plain(text)
        return yaml.load(text, Loader=_loader())  # noqa: S506 - plain data, see `_loader`
    except yaml.YAMLError as error:
        raise BadInput(_unread(error)) from None
    except (ValueError, RecursionError):
        message = "it holds a number that is none, or a character that no text has"
        raise BadInput(f"cannot import stores: {message}; write it in quotes") from None


def _require_plain(text: str) -> None:
    """Raise `BadInput` at the first thing in a text that is not plain, or too deep."""
    import yaml  # noqa: PLC0415 - as above

    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if getattr(event, "anchor", None) is not None:
            raise BadInput(_refused("an anchor or an alias (& or *)", line))
        if getattr(event, "tag", None) is not None:
            raise BadInput(_refused("a tag (!)", line))
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise BadInput(_refused(f"more than {DEEPEST} levels", line))


def _loader() -> type[Any]:
    """Return what makes plain values of YAML: no dates, and no key twice."""
    import yaml  # noqa: PLC0415 - as above

    class Plain(yaml.CSafeLoader):
        """Text, numbers, yes and no, lists and tables."""

        yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own way of saying it
            first: [(tag, shape) for tag, shape in rules if tag != _TIMESTAMP]
            for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
        }

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - PyYAML's signature
            """Refuse a key that stands twice: which of two tokens is meant is not guessed."""
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(keys) != len(set(keys)):
                line = node.start_mark.line + 1 if node.start_mark else 0
                raise BadInput(_refused("a key twice in its table", line))
            return super().construct_mapping(node, deep=deep)

    return Plain


def _refused(what: str, line: int) -> str:
    """Return why a file is not read."""
    return f"cannot import stores: line {line} has {what}; write it out as plain YAML"


def _unread(error: Exception) -> str:
    """Return why a text is no YAML, and where; what stands there is not repeated."""
    mark = getattr(error, "problem_mark", None)
    where = f", line {mark.line + 1}" if mark is not None else ""
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "it is no YAML"
    return f"cannot import stores: the file is no YAML{where} ({what}); mend it there"
