"""The numbers a statement gives: of what, how many, and whether more or less would do.

Known measures (`tables/measures.toml`) and versions have slots of their own. Any other number is
kept with its unit and compared only where two statements say the same but for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.rules.polarity import Sense

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cortex_actors.rules.lexicon import Lexicon, Measure
    from cortex_actors.rules.wording import Word, Wording

#: Where a range has no end.
_ENDLESS = 1e9

#: What a version's first number counts for, where versions are ordered as one number.
_MAJOR = 1e6

#: Letters beside a number in which what it measures is looked for.
_NEAR = 60

_NUMBER = re.compile(
    r"(?P<sign>at most |at least |up to |<=? ?|>=? ?|~ ?|max(?:imum)? |min(?:imum)? |under |below |"
    r"over |exactly )?(?<![\w.])(?<!\d-)(?P<number>\d{1,6}(?:[.,]\d+)?)(?P<more>\+)?"
    r"(?P<unit>[ -]?%| ?[a-z]+|-[a-z]+|)"
)

SPELT = {
    each: number
    for number, each in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_SPELT_OUT = re.compile(rf"\b({'|'.join(list(SPELT)[2:])})(?= (?!of\b)[a-z]+|-space)")

#: Units of a length; in parentheses they tell how long a file happens to be.
_LINES = frozenset({"line", "lines", "loc"})

#: Words beside a number that is the least.
_LEAST = re.compile(r"minimum|at least|min\b|>=?|\d ?%?\+|above|threshold|below \d")

_COUNTED = re.compile(rf"\d|{'|'.join(list(SPELT)[2:])}")

_VERSION = re.compile(
    r"(?P<thing>[a-z#.+/]{1,12}(?: [a-z]{2,6})?)[\s:`\"'=*]{0,3}"
    r"(?:version[\s:`\"'=*]{0,3}|v)?(?:is |to |of )?"
    r"(?P<sign>>=|<=|==|~=|\^|~|>|<|at least |at most )? ?v?(?P<number>\d{1,4}(?:\.\d{1,4}){0,3})"
    r"(?P<more>\+|\.x| or (?:later|newer|higher|above|greater)| and (?:later|above|up))?"
    r"(?P<to> ?(?:-|\u2013|\u2014|to|through|and) ?v?\d[\d.]*)?(?![\w%])"
)


@dataclass(frozen=True, slots=True)
class Range:
    """What a statement allows of one measure, ends included."""

    slot: str
    least: float
    most: float
    shown: str

    @property
    def is_exact(self) -> bool:
        """Whether it names one value, or one release, and no bound."""
        return self.most < _ENDLESS and self.least > -_ENDLESS

    def refines(self, other: Range) -> bool:
        """Whether one says 3.10 and the other only 3: a release within what is named broadly."""
        coarse = not self.least % _MAJOR or not other.least % _MAJOR
        return coarse and self.least // _MAJOR == other.least // _MAJOR and self.most == other.most

    def meets(self, other: Range) -> bool:
        """Whether some value is right for both."""
        return self.least <= other.most and other.least <= self.most

    def bounds(self) -> tuple[float, float]:
        """Return both ends, which two equal ranges share."""
        return self.least, self.most


def ranges(said: Wording, senses: Sequence[Sense], *, lexicon: Lexicon) -> dict[str, Range]:
    """Return slot -> what a statement allows of a known measure or version.

    A measure that is given two numbers in one statement is left out: which one counts, and where,
    cannot be told.
    """
    found: dict[str, Range] = {}
    plain = _without_denied(said, senses)
    if not _COUNTED.search(said.plain):
        return found
    double: set[str] = set()
    for each in (*_measured(plain, lexicon), *_versions(plain, lexicon)):
        if found.setdefault(each.slot, each).bounds() != each.bounds():
            double.add(each.slot)
    return {slot: each for slot, each in found.items() if slot not in double}


def _without_denied(said: Wording, senses: Sequence[Sense]) -> str:
    """Return a text without the numbers it is against: "120, not 88"."""
    plain = said.plain
    for word, sense in zip(said.words, senses, strict=True):
        if sense is Sense.AGAINST and word.text[0].isdigit() and _is_named(said, word):
            plain = plain[: word.start] + "#" * len(word.text) + plain[word.end :]
    return plain


def _is_named(said: Wording, word: Word) -> bool:
    """Whether a number follows "not" at once; in "never exceed 50 lines" it is the limit."""
    place = said.words.index(word)
    return place > 0 and said.words[place - 1].text in {"not", "of", "than", "over"}


def _measured(plain: str, lexicon: Lexicon) -> Iterator[Range]:
    """Yield the known measures that a text gives a number for."""
    digits = _SPELT_OUT.sub(lambda match: str(SPELT[match[1]]), plain)
    for match in _NUMBER.finditer(digits):
        number = float(match["number"].replace(",", ""))
        unit = match["unit"].strip(" -")
        if unit in _LINES and digits[: match.start()].rstrip().endswith("("):
            continue
        near = digits[max(0, match.start() - _NEAR) : match.end() + _NEAR]
        for measure in lexicon.measures:
            if _fits(measure, number, unit, near):
                most = _ENDLESS if measure.least_counts and _LEAST.search(near) else number
                yield Range(measure.slot, number, most, match[0].strip())
                break


def _fits(measure: Measure, number: float, unit: str, near: str) -> bool:
    """Whether a number with its unit is one of this measure."""
    if not measure.least <= number <= measure.most:
        return False
    # Without a unit of its own, or with a word that is no unit, the number must stand alone.
    named = unit in measure.units or unit.rstrip("s") in measure.units
    return named and measure.about.search(near) is not None


def _versions(plain: str, lexicon: Lexicon) -> Iterator[Range]:
    """Yield the versions that a text names."""
    for match in _VERSION.finditer(plain):
        slot = _thing(match["thing"], lexicon)
        if slot is None:
            continue
        number = _numeric(match["number"])
        shown = f"{slot} {match['number']}{match['more'] or ''}"
        sign, more = (match["sign"] or "").strip(), match["more"]
        if match["to"]:
            continue
        if sign in {">=", ">", "at least"} or (more and more != ".x"):
            yield Range(f"version of {slot}", number, _ENDLESS, shown)
        elif sign in {"<=", "<", "at most"}:
            yield Range(f"version of {slot}", -_ENDLESS, number, shown)
        else:
            yield Range(f"version of {slot}", number, _last(match["number"]), shown)


def _thing(words: str, lexicon: Lexicon) -> str | None:
    """Return the thing whose version follows; the longer of two names."""
    named = words.strip(" :(*-").removesuffix(" version").strip()
    return lexicon.versions.get(named) or lexicon.versions.get(named.rpartition(" ")[2])


def _numeric(version: str) -> float:
    """Return a version as one number by which versions are ordered."""
    parts = [*map(int, version.split(".")), 0, 0][:3]
    return parts[0] * _MAJOR + parts[1] * 1e3 + parts[2]


def _last(version: str) -> float:
    """Return the last release a version stands for: 3.11 is all of 3.11.x."""
    parts = version.split(".")
    step = {1: _MAJOR, 2: 1e3}.get(len(parts), 1)
    return _numeric(version) + step - 1
