"""A question in plain words as terms of a full-text search; any text at all makes a valid one.

Text in double quotes is searched as a phrase, everything else word by word. Nothing a
person types reaches the search as syntax: `AND`, `NEAR(`, `*`, `^`, `:` and lone quotes are
separators or plain words here, and each term is quoted again when the expression is written.

Tags: the words under which things are filed, in their one form.

Lower case, without blanks around them and with single ones inside, each once, in the order given:
what is filed under "Deploy  Notes" is found under "deploy notes".

Moments as people and programs give them: microseconds, dates, and how long ago.

A date is its first moment and a time without a zone is one of UTC, as the daemon prints them. A
span counts back from now: "7d", "2h", "90 minutes ago".
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from cortex_actors.domain.agent import format_given
from cortex_actors.errors import BadInput
from cortex_actors.text.hazards import find_hidden
from cortex_actors.text.lexicon import STOP_WORDS, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from enum import StrEnum


E = TypeVar("E", bound="StrEnum")

#: Words of a question that are looked at: a page that is pasted has said by then what it is about.
WORDS_LIMIT = 100

#: Phrases of a question that are searched.
PHRASES_LIMIT = 16

#: Words of a phrase that are searched: SQLite looks for a longer one for seconds, and cannot be
#: broken off (21 s for 2,000 common words at 100,000 texts, 0.1 s for 32).
PHRASE_WORDS = 16

#: Words that are searched however common they are: with fewer a question would lose its subject.
FEWEST = 3

#: Text between two double quotes on one page, or typographic ones.
_PHRASE = re.compile('"([^"]*)"|\u201c([^\u201c\u201d]*)\u201d')

#: First letters of the Unicode categories that make a word; the tokeniser takes private use, too.
_WORD = frozenset("LNM")
_PRIVATE_USE = "Co"

#: Scripts written without spaces: (first, last) code point. A run of them is one token of the
#: index, so it is searched by its beginning.
_UNSEGMENTED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x20000, 0x3FFFF),  # Han, further extensions
)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to search for: a word, the beginning of one, or words in a row."""

    text: str
    #: Words in a row, as a person quoted them: never left out for being common.
    phrase: bool = False
    #: Whatever begins with it is found.
    prefix: bool = False

    @property
    def shown(self) -> str:
        """The term as a person would write it."""
        if self.phrase:
            return f'"{self.text}"'
        return f"{self.text}*" if self.prefix else self.text

    @property
    def written(self) -> str:
        """The term as FTS5 reads it: always a quoted string."""
        quoted = '"' + self.text.replace('"', '""') + '"'
        return f"{quoted} *" if self.prefix else quoted


def find_terms(question: str) -> list[Term]:
    """Return the terms of a question in its order, each once; stop words only if all are.

    At most `PHRASES_LIMIT` phrases, of a longer one the first `PHRASE_WORDS` words, and
    `WORDS_LIMIT` words. Raises `BadInput` for half of a surrogate pair, which has no UTF-8 form.
    """
    # Raise `BadInput` for text that has no UTF-8 form.
    try:
        question.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"cannot search: the question is not valid Unicode at character {error.start + 1}; "
            "decode it again from its bytes, or take the character out"
        ) from error
    quoted = [match[1] or match[2] or "" for match in _PHRASE.finditer(question)]
    phrases = [Term(" ".join(split_words(each)[:PHRASE_WORDS]), phrase=True) for each in quoted]
    words = split_words(_PHRASE.sub(" ", question))
    telling = [each for each in words if each not in STOP_WORDS]
    # All of the words where none says something and they are all there is.
    words = telling if telling or quoted else words
    some = [each for each in dict.fromkeys(phrases) if each.text][:PHRASES_LIMIT]
    return some + [_word(each) for each in dict.fromkeys(words)][:WORDS_LIMIT]


def split_words(text: str) -> list[str]:
    """Return the words of a text: its runs of letters, digits and marks, in lower case."""
    kept = (letter if _is_word(letter) else " " for letter in text.lower())
    return "".join(kept).split()


def choose_rarest(
    found: Sequence[Term], counts: Mapping[Term, int], *, most: int, places: int
) -> list[Term]:
    """Return the terms worth searching, in their order: phrases, and the rarest words.

    A word's count is how many texts have it; one that is in none is left out. Of the
    others the rarest are kept, at most `most`, and together in at most `places` texts, but for the
    first `FEWEST`: what a search costs are the texts that have its words. Common words cost
    the most and say the least: BM25 gives a word that is in half of the texts no weight at
    all. Equal counts keep the word that comes first.
    """
    words = [each for each in found if not each.phrase and counts.get(each, 0) > 0]
    ranked = sorted(words, key=lambda each: counts[each])[:most]
    sums = itertools.accumulate(counts[each] for each in ranked)
    kept = {
        each
        for number, (each, total) in enumerate(zip(ranked, sums, strict=True))
        if number < FEWEST or total <= places
    }
    return [each for each in found if each.phrase or each in kept]


def write_expression(some: Iterable[Term]) -> str:
    """Return the expression that finds whatever holds at least one of the terms."""
    return " OR ".join(each.written for each in some)


def _word(text: str) -> Term:
    """Return a word as a term, by its beginning where its script has no spaces."""
    prefix = any(a <= ord(each) <= b for each in text if each > "~" for a, b in _UNSEGMENTED)
    return Term(text, prefix=prefix)


def _is_word(letter: str) -> bool:
    """Tell whether a letter is part of a word; the tokeniser has the last word on it."""
    category = unicodedata.category(letter)
    return category[0] in _WORD or category == _PRIVATE_USE


#: Tags that one thing may have, and characters that each may have.
MOST, LONGEST = 32, 64

#: What is no part of a tag: control and format characters, halves of a pair, unassigned ones.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Cn"})


def normalise_tags(given: object, *, name: str = "tags") -> tuple[str, ...]:
    """Return tags in their one form; raises `BadInput` for what is no list of tags, or too many."""
    found = tuple(dict.fromkeys(_tag(each, name) for each in read_words(given, name=name)))
    if len(found) > MOST:
        raise BadInput(f"{len(found)} {name} were given, at most {MOST} are taken; leave some out")
    return found


def read_words(given: object, *, name: str) -> tuple[str, ...]:
    """Return a list of words, each once; raises `BadInput` for anything else."""
    some = read_list(given, name=name)
    for each in some:
        if not isinstance(each, str):
            raise BadInput(f"{name} must be words, and {format_given(each)} is none")
    return tuple(dict.fromkeys(map(str, some)))


def read_list(given: object, *, name: str) -> Sequence[object]:
    """Return a list; raises `BadInput` for anything else."""
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise BadInput(f"{name} must be a list of words, not {format_given(given)}")
    return given


def _tag(given: str, name: str) -> str:
    """Return one tag in its form."""
    found = " ".join(unicodedata.normalize("NFC", given).lower().split())
    is_unseen = any(unicodedata.category(letter) in _HIDDEN for letter in found)
    if not found or is_unseen or find_hidden(found):
        raise BadInput(
            f"{format_given(given)} cannot be one of {name}: it holds nothing that can be read"
        )
    if len(found) > LONGEST:
        raise BadInput(
            f"{format_given(given)} is too long for one of {name}: {LONGEST} characters at most"
        )
    return found


#: The first moment, from which microseconds are counted.
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)

_MICROSECOND: Final = timedelta(microseconds=1)

#: The latest moment that is understood: the end of the year 9999.
LATEST: Final = (datetime(9999, 12, 31, tzinfo=UTC) - _FIRST) // _MICROSECOND

#: Seconds of each unit of a span.
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

#: How units are written.
_WORDS: Final = {
    **{unit: unit for unit in _UNITS},
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "minute", "minutes"), "m"),
    **dict.fromkeys(("hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("week", "weeks"), "w"),
}

_SPAN: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([a-z]+)(?:\s+ago)?", re.ASCII)

#: Microseconds as text: more digits than a date has.
_DIGITS: Final = re.compile(r"\d{9,20}", re.ASCII)

#: What is said of what is none of these.
_FORMS: Final = 'give a date (2026-03-01), a time (2026-03-01T09:30:00Z) or a span ("7d", "2h ago")'


def parse_moment(value: object, now: int, *, name: str) -> int:
    """Return a moment in UTC microseconds; `now` is the one that spans are counted from.

    Whole numbers are microseconds already. Raises `BadInput` that says which `name` is wrong, for
    anything else and for what lies before 1970 or after 9999.
    """
    found = value if isinstance(value, int) else _text(str(value).strip(), now)
    if found is None or isinstance(value, bool) or not isinstance(value, int | str):
        raise BadInput(f"{name} {format_given(value)} is no moment: {_FORMS}")
    if not 0 <= found <= LATEST:
        raise BadInput(f"{name} {format_given(value)} lies before 1970 or after 9999: {_FORMS}")
    return found


def _text(text: str, now: int) -> int | None:
    """Return what a text means; None for nothing that is understood."""
    if _DIGITS.fullmatch(text):
        return int(text)
    span = _SPAN.fullmatch(text.lower())
    if span and span[2] in _WORDS:
        return now - round(float(span[1]) * _UNITS[_WORDS[span[2]]] * 1_000_000)
    try:
        return parse_iso(text)
    except ValueError:
        return None


def parse_iso(text: str) -> int:
    """Return an ISO 8601 time in UTC microseconds, in UTC without a zone; raises `ValueError`."""
    found = datetime.fromisoformat(text)
    # Without a zone it is UTC's.
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return (found - _FIRST) // _MICROSECOND


#: A run of letters, digits and marks.
_RUN = re.compile(r"[^\W_]+")


def find_matches(text: str, question: str) -> list[tuple[int, int]]:
    """Return where words of a question are in a text, in any form: (start, end) of each.

    Stop words count only where the question has no others, as in a search.
    """
    stems = {stem(word) for term in find_terms(question) for word in split_words(term.text)}
    return [each.span() for each in _RUN.finditer(text) if stem(each[0].lower()) in stems]


def parse_word(kind: type[E], given: object, *, name: str) -> E:
    """Return a word of a closed set, in any case; raises `BadInput` naming those there are."""
    for each in kind:
        if isinstance(given, str) and given.strip().lower() == each.lower():
            return each
    raise BadInput(f"there is no {name} {format_given(given)}; there are {', '.join(kind)}")
