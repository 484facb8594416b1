"""The tables that rules judge by: words, families of alternatives, measures.

They are data (`rules/tables/*.toml`) and a home's `rules.toml` adds to them: see `extended`.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import ConfigurationError
from cortex_actors.rules.wording import stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: The tables of the product, in the order they are read.
TABLES = ("words", "families", "measures")

#: Changes with what the rules find in a text: what was judged by another version is judged anew.
VERSION = 1

#: What stands between two words of a phrase, and what ".." stands for: up to four words.
_BETWEEN = r"[\s\"',:(*`]{1,4}"
_GAP = r"[\s\"',:(*`]{1,4}(?:[^\s.;!?\u2014]{1,40}[\s\"',:(*`]{1,4}){0,4}?"


@dataclass(frozen=True, slots=True)
class Member:
    """One of the alternatives of a family, and how it is called.

    Attributes:
        names: what it is called: wanted or not as the statement has it.
        stands: what says by itself that it is wanted, "never commit unless asked"; None without.

    """

    name: str
    names: re.Pattern[str] | None
    stands: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class Family:
    """Alternatives of which a project chooses one.

    Attributes:
        nouns: words that may follow a member without becoming what is spoken of.
        needs: words of which one stands near, where the members' words mean many things.
        near: whether that word stands in the same part of a sentence, or in the heading above.
        unless: words of a clause in which a member is something else.
        closed: whether there is no third way.
        commands: whether running a member is choosing it.
        compatible: pairs of members that go together.
        phrases: whether its members are said in so many words that naming one is taking a stand.

    """

    slot: str
    members: tuple[Member, ...]
    anchors: frozenset[str]
    nouns: frozenset[str]
    needs: frozenset[str]
    near: bool
    unless: frozenset[str]
    closed: bool
    commands: bool
    phrases: bool
    compatible: frozenset[frozenset[str]]


@dataclass(frozen=True, slots=True)
class Measure:
    """Something a statement gives a number for.

    Attributes:
        least, most: between which numbers can be meant at all.
        least_counts: whether a number said to be the least leaves room above it.

    """

    slot: str
    about: re.Pattern[str]
    units: frozenset[str]
    least: float
    most: float
    least_counts: bool


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All tables, ready to be asked; equal tables have equal digests.

    Attributes:
        cues: kind of cue -> its words (`rules/tables/words.toml` says what each does).
        commands: words with which a command line begins.
        light: stems of no weight when contents are compared.
        synonyms: stem -> the stem that stands for it.
        antonyms: word -> its opposites.
        distinct: word -> words that make another statement of one that has it, opposites included.
        scopes: dimension -> word -> value.
        place: what stands before and after a scope's words, and scopes headings do not tell.
        versions: word -> the thing whose version a number after it is.

    """

    digest: str
    cues: Mapping[str, frozenset[str]]
    commands: frozenset[str]
    light: frozenset[str]
    synonyms: Mapping[str, str]
    antonyms: Mapping[str, frozenset[str]]
    distinct: Mapping[str, frozenset[str]]
    scopes: Mapping[str, Mapping[str, str]]
    place: Mapping[str, frozenset[str]]
    families: tuple[Family, ...]
    measures: tuple[Measure, ...]
    versions: Mapping[str, str]

    def __hash__(self) -> int:
        """Hash by what the tables say, so that readings can be kept."""
        return hash(self.digest)


@cache
def standard() -> Lexicon:
    """Return the product's own tables."""
    return _made(_shipped())


def extended(written: str, *, origin: str = "rules.toml") -> Lexicon:
    """Return the product's tables with those of a TOML text added.

    Lists grow, a family of a known slot gets further members, anything new is added; nothing is
    taken away. Raises `ConfigurationError` for a text that is no TOML or has other tables.
    """
    try:
        added = tomllib.loads(written)
        return _made(_merged(_shipped(), added))
    except (tomllib.TOMLDecodeError, TypeError, KeyError, AttributeError, re.error) as error:
        raise ConfigurationError(
            f"cannot read the rules in {origin}: {error}; "
            "compare it with the tables in docs/contradictions.md, or move it away"
        ) from error


def _shipped() -> dict[str, Any]:
    """Return the tables of the wheel as one."""
    folder = files("cortex_actors.rules") / "tables"
    read = [tomllib.loads((folder / f"{name}.toml").read_text("utf-8")) for name in TABLES]
    return {key: value for table in read for key, value in table.items()}


def _merged(known: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Return two tables as one: tables by key, families by slot, lists one after the other."""
    merged = dict(known)
    for key, value in added.items():
        if key not in known:
            merged[key] = value
        elif isinstance(value, dict):
            merged[key] = _merged(known[key], value)
        elif key in {"family", "measure"}:
            merged[key] = _by_slot(known[key], value)
        elif isinstance(value, list):
            merged[key] = [*known[key], *value]
        else:
            merged[key] = value
    return merged


def _by_slot(known: list[dict[str, Any]], added: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return families of both; what is added to a known slot extends it."""
    slots = {each["slot"]: each for each in known}
    for each in added:
        slots[each["slot"]] = _merged(slots.get(each["slot"], {}), each)
    return list(slots.values())


def _made(table: Mapping[str, Any]) -> Lexicon:
    """Return tables as they are asked."""
    cues = {kind: frozenset(words) for kind, words in table["cues"].items()}
    turning = cues["against"] | cues["only"] | cues["inverting"] | cues["contrast"]
    return Lexicon(
        digest=hashlib.sha256(repr((VERSION, sorted(table.items()))).encode()).hexdigest(),
        cues=cues,
        commands=frozenset(table["words"]["commands"]),
        light=frozenset(map(stem, table["words"]["light"])),
        synonyms={
            stem(word): stem(group[0]) for group in table["words"]["synonyms"] for word in group
        },
        antonyms=_opposites(table["words"]["antonyms"]),
        distinct=_opposites([*table["words"]["antonyms"], *table["words"]["distinct"]]),
        scopes={
            dimension: {word: value for value, words in values.items() for word in words}
            for dimension, values in table["scopes"].items()
        },
        place={key: frozenset(words) for key, words in table["place"].items()},
        families=tuple(_family(each, turning) for each in table["family"]),
        measures=tuple(map(_measure, table["measure"])),
        versions={word: slot for slot, words in table["versions"].items() for word in words},
    )


def _opposites(pairs: Iterable[list[str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for one, other in pairs:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


def _family(table: Mapping[str, Any], turning: frozenset[str]) -> Family:
    members = tuple(_member(name, phrases, turning) for name, phrases in table["members"].items())
    phrases = [each for some in table["members"].values() for each in some]
    return Family(
        slot=table["slot"],
        members=members,
        anchors=frozenset(word for each in phrases for word in _anchor(each)),
        nouns=frozenset(table.get("nouns", ())),
        needs=frozenset(table.get("needs", ())),
        unless=frozenset(table.get("unless", ())),
        near=bool(table.get("near", False)),
        closed=bool(table.get("closed", False)),
        commands=bool(table.get("commands", False)),
        compatible=frozenset(map(frozenset, table.get("compatible", ()))),
        phrases=bool(table.get("phrases", False)),
    )


def _member(name: str, phrases: list[str], turning: frozenset[str]) -> Member:
    """Return a member; phrases with a word that turns the sense are stands by themselves."""
    stands = [each for each in phrases if turning & set(re.split(r"[ |]", each))]
    names = [each for each in phrases if each not in stands]
    return Member(name, _any_of(names), _any_of(stands))


def _any_of(phrases: list[str]) -> re.Pattern[str] | None:
    """Return a pattern for whole phrases; the longest is tried first."""
    if not phrases:
        return None
    pattern = "|".join(map(_phrase, sorted(phrases, key=len, reverse=True)))
    return re.compile(rf"(?<![\w./@-])(?:{pattern})(?![\w-]|[:.]\w)")


def _phrase(phrase: str) -> str:
    """Return a phrase as a pattern: `a|b`, `word?` that may be missing, `words?`, `..`."""
    pattern, between = "", ""
    for part in phrase.split():
        if part == "..":
            between = _GAP
            continue
        piece = f"(?:{'|'.join(map(_option, part.split('|')))})"
        if _is_optional(part):
            pattern += f"(?:{between}{piece})?" if pattern else f"(?:{piece}{_BETWEEN})?"
            between = between if pattern.endswith(")?") and between else ""
        else:
            pattern += between + piece
            between = _BETWEEN
    return pattern


def _option(word: str) -> str:
    """Return a word as a pattern; `words?` is its singular, too."""
    bare = re.escape(word[:-1] if len(word) > 1 and word.endswith("?") else word)
    return f"{bare}?" if _is_plural(word) else bare


def _is_plural(word: str) -> bool:
    return len(word) > len("s?") and word.endswith("s?")


def _is_optional(part: str) -> bool:
    """Whether a part of a phrase may be missing as a whole."""
    return len(part) > 1 and part.endswith("?") and not _is_plural(part)


def _anchor(phrase: str) -> list[str]:
    """Return letters of which some stand wherever the phrase does; those of its longest part."""
    parts = [each for each in phrase.split() if each != ".." and not _is_optional(each)]
    best = max(parts, key=lambda part: min(map(len, part.split("|"))))
    return [each[:-2] if _is_plural(each) else each for each in best.split("|")]


def _measure(table: Mapping[str, Any]) -> Measure:
    about = "|".join(re.escape(each) for each in sorted(table["about"], key=len, reverse=True))
    return Measure(
        slot=table["slot"],
        about=re.compile(rf"(?<!\w)(?:{about})(?!\w)"),
        units=frozenset(table["units"]),
        least=float(table["from"]),
        most=float(table["to"]),
        least_counts=bool(table.get("least_counts", False)),
    )
