"""A question in plain words as terms of a full-text search; any text at all makes a valid one.

What stands in double quotes is searched as a phrase, everything else word by word. Nothing a
person types reaches the search as syntax: `AND`, `NEAR(`, `*`, `^`, `:` and lone quotes are
separators or plain words here, and each term is quoted again when the expression is written.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.errors import BadInput
from cortex_actors.rules.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Words of a question that are looked at: a page that is pasted has said by then what it is about.
WORDS_LIMIT = 100

#: Phrases of a question that are searched.
PHRASES_LIMIT = 16

#: Words of a phrase that are searched: SQLite looks for a longer one for seconds, where nobody can
#: break it off (21 s for 2,000 common words at 100,000 texts, 0.1 s for 32).
PHRASE_WORDS = 16

#: Words that are searched however common they are: with fewer a question would lose its subject.
FEWEST = 3

#: What stands between two double quotes on one page, or typographic ones.
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
    #: Words in a row, as somebody quoted them: never left out for being common.
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


def terms(question: str) -> list[Term]:
    """Return the terms of a question in its order, each once; stop words only if all are.

    At most `PHRASES_LIMIT` phrases, of a longer one the first `PHRASE_WORDS` words, and
    `WORDS_LIMIT` words. Raises `BadInput` for half of a surrogate pair, which has no UTF-8 form.
    """
    _require_unicode(question)
    quoted = [_first(match.groups()) for match in _PHRASE.finditer(question)]
    phrases = [Term(" ".join(split(each)[:PHRASE_WORDS]), phrase=True) for each in quoted]
    words = _without_stop_words(split(_PHRASE.sub(" ", question)), keep_one=not quoted)
    some = [each for each in dict.fromkeys(phrases) if each.text][:PHRASES_LIMIT]
    return some + [_word(each) for each in dict.fromkeys(words)][:WORDS_LIMIT]


def split(text: str) -> list[str]:
    """Return the words of a text: its runs of letters, digits and marks, in lower case."""
    kept = (letter if _is_word(letter) else " " for letter in text.lower())
    return "".join(kept).split()


def rarest(
    found: Sequence[Term], counts: Mapping[Term, int], *, most: int, places: int
) -> list[Term]:
    """Return the terms worth searching, in their order: phrases, and the rarest words.

    A word's count is in how many texts it stands; one that stands in none is left out. Of the
    others the rarest are kept, at most `most`, and together in at most `places` texts, but for the
    first `FEWEST`: what a search costs are the texts in which its words stand. Common words cost
    the most and say the least: BM25 gives a word that stands in half of the texts no weight at
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


def written(some: Iterable[Term]) -> str:
    """Return the expression that finds whatever holds at least one of the terms."""
    return " OR ".join(each.written for each in some)


def _without_stop_words(words: list[str], *, keep_one: bool) -> list[str]:
    """Return the words that say something; all of them when none does and they are all there is."""
    telling = [each for each in words if each not in STOP_WORDS]
    return words if keep_one and not telling else telling


def _word(text: str) -> Term:
    """Return a word as a term, by its beginning where its script has no spaces."""
    return Term(text, prefix=any(_is_unsegmented(letter) for letter in text))


def _is_word(letter: str) -> bool:
    """Tell whether a letter is part of a word; the tokeniser has the last word on it."""
    category = unicodedata.category(letter)
    return category[0] in _WORD or category == _PRIVATE_USE


def _is_unsegmented(letter: str) -> bool:
    """Tell whether a letter's script puts no spaces between words."""
    return any(first <= ord(letter) <= last for first, last in _UNSEGMENTED)


def _first(groups: Sequence[str | None]) -> str:
    """Return the group that matched."""
    return next((each for each in groups if each is not None), "")


def _require_unicode(text: str) -> None:
    """Raise `BadInput` for text that has no UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"cannot search: the question is not valid Unicode at character {error.start + 1}; "
            "decode it again from its bytes, or take the character out"
        ) from error
