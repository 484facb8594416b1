"""Small things about a statement that decide a comparison: switches, order, amounts, its lead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cortex_actors.rules.polarity import Sense
from cortex_actors.rules.quantities import SPELT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.rules.lexicon import Lexicon
    from cortex_actors.rules.reading import Part
    from cortex_actors.rules.wording import Word, Wording

#: What makes "on" and "off" a switch.
_SWITCHING = frozenset(
    {"is", "are", "turn", "turned", "to", "switch", "switched", "default", "defaults", ":", "be"}
)

#: Words of a unit -> the unit, and how many of it one is.
_UNITS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("second", 0.001)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("second", 1.0)),
    **dict.fromkeys(("min", "mins", "minut", "minute", "minutes"), ("second", 60.0)),
    **dict.fromkeys(("h", "hr", "hour", "hours"), ("second", 3600.0)),
    **dict.fromkeys(("day", "days"), ("second", 86400.0)),
    **dict.fromkeys(("kb", "kib"), ("byte", 1e3)),
    **dict.fromkeys(("mb", "mib"), ("byte", 1e6)),
    **dict.fromkeys(("gb", "gib"), ("byte", 1e9)),
}

#: Words between a thing and its number: "port 8080", "port is set to 8080".
_LINKS = frozenset({"is", "=", ":", "to", "of", "set", "at", "number", "limit", "be", "defaults"})

#: What begins a remark on a command line.
_REMARK = re.compile(r"\s(?:#|-|\u2013|\u2014)\s")

#: Words of a label at most, and the last letter of Latin scripts.
_LABEL, _LATIN = 4, "\u024f"

#: Letters of the longest number that counts something.
_DIGITS = 9


def switched(words: Sequence[Word], senses: Sequence[Sense], lexicon: Lexicon) -> bool | None:
    """Return whether a statement says that something is on; None when it says neither, or both."""
    found = set()
    for number, (word, sense) in enumerate(zip(words, senses, strict=True)):
        on = word.text in lexicon.cues["yes"]
        if not on and word.text not in lexicon.cues["no"]:
            continue
        before = words[number - 1].text if number else ""
        if word.text in {"on", "off"} and before not in _SWITCHING:
            continue
        found.add(on is not (sense is Sense.AGAINST))
    return found.pop() if len(found) == 1 else None


def order(words: Sequence[Word], senses: Sequence[Sense], lexicon: Lexicon) -> int:
    """Return -1 where something comes before another thing, 1 after it, 0 without either.

    What may not be until something else has been comes after it.
    """
    said = {word.text for word in words if not word.code}
    earlier = bool(said & lexicon.cues["earlier"])
    later = bool(said & lexicon.cues["later"]) or "until" in said
    if Sense.BARRED in senses and earlier:
        earlier, later = False, True
    return later - earlier


def amounts(words: Sequence[Word]) -> dict[str, float]:
    """Return what is counted -> how many; a thing that is counted twice is left out."""
    found: dict[str, list[float]] = {}
    for number, word in enumerate(words):
        value = _value(word.text)
        if value is None:
            continue
        after = words[number + 1] if number + 1 < len(words) else None
        unit, factor = _UNITS.get(after.text if after else "", ("", 1.0))
        thing = unit or _before(words, number) or (after.stem if after and after.is_word else "")
        if thing:
            found.setdefault(thing, []).append(value * factor)
    return {thing: values[0] for thing, values in found.items() if len(values) == 1}


def counts(word: str) -> bool:
    """Whether a stem is a number or a unit, of which amounts are made."""
    return _value(word) is not None or word in _UNITS or f"{word}s" in _UNITS


def lead(parts: Sequence[Part], *, label: frozenset[str]) -> tuple[frozenset[str], bool]:
    """Return the words of what a statement says first, and whether it is against that.

    A label, "Formatting:", says nothing yet.
    """
    for part in parts:
        said = part.sense in {Sense.WANTED, Sense.AGAINST} and not set(part.stems) <= label
        if said and len(part.stems) > 1:
            return frozenset(part.stems), part.sense is Sense.AGAINST
    return frozenset(), False


def label(words: Sequence[Word]) -> frozenset[str]:
    """Return the words before the colon with which a statement begins: "Formatting: ruff"."""
    for number, word in enumerate(words[: _LABEL + 1]):
        if word.text == ":" and not word.code:
            return frozenset(each.stem for each in words[:number] if each.is_word)
    return frozenset()


def command(text: str, said: Wording, lexicon: Lexicon) -> str:
    """Return the command line that a statement is, without what is said of it; "" for none."""
    first = said.words[0] if said.words else None
    if first is None or first.text not in lexicon.commands or first.proper:
        return ""
    if first.code:
        return " ".join(word.text for word in said.words if word.code == first.code)
    return " ".join(_REMARK.split(text.lower(), maxsplit=1)[0].split())


def foreign(plain: str) -> bool:
    """Whether a text is mostly in a script other than the Latin one."""
    letters = [letter for letter in plain if letter.isalpha()]
    return sum(letter > _LATIN for letter in letters) * 3 > len(letters)


def alike(left: str, right: str) -> float:
    """Return the share of groups of three letters that two texts have in common (Jaccard)."""
    one, other = ({text[n : n + 3] for n in range(len(text) - 2)} for text in (left, right))
    return len(one & other) / max(1, len(one | other))


def _before(words: Sequence[Word], number: int) -> str:
    """Return the thing a number is said of: "port 8080", "timeout: 30"."""
    for word in reversed(words[max(0, number - 4) : number]):
        if word.text in _LINKS:
            continue
        return word.stem if word.is_word and word.text in _COUNTED else ""
    return ""


def _value(text: str) -> float | None:
    """Return the number a word is, or None."""
    if text in SPELT:
        return float(SPELT[text])
    plain = text.lstrip("~<>=").replace(",", "")
    if not plain or len(plain) > _DIGITS or plain.count(".") > 1:
        return None
    return float(plain) if plain.replace(".", "").isdecimal() else None


#: Things that are named before their number.
_COUNTED = frozenset(
    "port timeout retries retry limit size threshold ttl workers concurrency interval depth "
    "replicas ports batch budget level".split()
)
