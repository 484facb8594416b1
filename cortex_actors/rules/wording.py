"""A statement's words as rules compare them: without markup, in lower case, by their stems.

What stands in backticks is code: its words keep their spelling and count as names. Everything here
is linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Characters of a statement that are read: a rule is said by then, and pages are not compared.
MOST = 2_000

#: What is written differently and means the same: typographic letters, marks of lists, shorter
#: forms. In this order.
_PLAIN = (
    (re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\s]{0,500}\)"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^<>\n]{0,100}>"), " "),
    (re.compile("[\u2018\u2019\u02bc]"), "'"),
    (re.compile("[\u201c\u201d\u201e\u00ab\u00bb]"), '"'),
    (re.compile("[\u2010\u2011]|(?<=\\d) ?\u2013 ?(?=\\d)"), "-"),
    (re.compile("\\s*[\u2012-\u2015]\\s*| -{1,2} "), " \u2014 "),
    (re.compile("[\u2705\u2714\u2611\U0001f44d]\ufe0f?"), " do: "),
    (re.compile("[\u274c\u2716\u2717\u2718\U0001f6ab\u26d4\U0001f44e]\ufe0f?"), " don't: "),
    (re.compile("[\u2264]\\s*"), "at most "),
    (re.compile("[\u2265]\\s*"), "at least "),
    (re.compile("\u2192|=>|->"), " \u2192 "),
    (re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)"), ""),
    (re.compile(r"(?i)\bend[ -]to[ -]end\b"), "e2e"),
    (re.compile(r"(?i)\b(ca)n't\b"), "cannot"),
    (re.compile(r"(?i)\b(wo)n't\b"), "will not"),
    (re.compile(r"(?i)n't\b"), " not"),
    (re.compile(r"(?i)\b(do|does|should|must|is|are)nt\b"), r"\1 not"),
    (re.compile(r"(?i)\bcannot\b"), "can not"),
)

_CODE = re.compile(r"(`{1,3})(.+?)\1")

#: A word: letters and digits, with the dots, dashes and signs of names, versions and options.
_WORD = re.compile(
    r"[@#$]?[^\W_](?:[\w.+#/@:-]*[\w+#])?|--?[a-zA-Z][\w-]*|[^\w\s]",
)

#: Endings that inflect a word, the longest first: (ending, what stands there instead).
_ENDINGS = (
    ("ations", ""),
    ("ation", ""),
    ("ating", ""),
    ("ated", ""),
    ("ates", ""),
    ("ate", ""),
    ("ingly", ""),
    ("ments", "ment"),
    ("ities", "ity"),
    ("ies", "y"),
    ("ied", "y"),
    ("ying", "y"),
    ("ings", ""),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("ing", ""),
    ("edly", ""),
    ("ers", "er"),
    ("ed", ""),
    ("ly", ""),
    ("es", "e"),
    ("s", ""),
)

#: Signs after which a capital says nothing.
_OPENING = frozenset('.:!?;()\u2014|"*-')

#: Letters that a stem keeps at least.
_SHORTEST = 3

#: Words whose stems are remembered: those of a language that are said often; and texts whose words
#: are: a text is compared with several others, by more than one rule.
_STEMS, _TEXTS = 20_000, 256


@dataclass(frozen=True, slots=True)
class Word:
    """One word or sign of a text, with where it stands in the plain text."""

    text: str
    stem: str
    start: int
    end: int
    #: Which of the text's backticked spans it stands in, from 1; 0 for prose.
    code: int = 0
    #: Whether it is written as names are: a capital within a sentence, or inside the word.
    proper: bool = False

    @property
    def is_word(self) -> bool:
        """Whether it is more than a sign."""
        return len(self.text) > 1 or self.text.isalnum()


@dataclass(frozen=True, slots=True)
class Wording:
    """A text without its markup but the backticks of code, and its words."""

    plain: str
    words: tuple[Word, ...]

    @property
    def spoken(self) -> tuple[Word, ...]:
        """The words without the signs."""
        return tuple(word for word in self.words if word.is_word)


def wording(text: str) -> Wording:
    """Return the words of a text, at most the first `MOST` characters of it."""
    return _wording(text[:MOST])


@lru_cache(maxsize=_TEXTS)
def _wording(text: str) -> Wording:
    """Return the words of a text."""
    pieces, code = _pieces(text)
    cased = "".join(pieces)
    plain = cased.lower()
    if len(plain) != len(cased):
        plain = "".join(map(_lower, cased))
    return Wording(plain, tuple(_words(plain, cased, code)))


@lru_cache(maxsize=_STEMS)
def stem(word: str) -> str:
    """Return a word without its inflection: tests, tested and testing have one stem.

    It is no dictionary: what matters is that forms of one word meet and different words do not.
    """
    if not word.isalpha() or len(word) <= _SHORTEST:
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            if ending in {"s", "es"} and word.endswith(("ss", "us", "is")):
                return word
            return _undoubled(word[: -len(ending)] + instead)
    return _undoubled(word)


def _undoubled(word: str) -> str:
    """Return a stem without a final e and without a doubled consonant: writ(e), commit(t)."""
    if len(word) > _SHORTEST and word.endswith("e"):
        word = word[:-1]
    if len(word) > _SHORTEST and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word


def _pieces(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the plain pieces of a text, and the ranges of them that are code."""
    pieces: list[str] = []
    code: list[tuple[int, int]] = []
    at = length = 0
    for match in _CODE.finditer(text):
        before = _plain(text[at : match.start()])
        inside = f"`{' '.join(match[2].split())}`"
        code.append((length + len(before), length + len(before) + len(inside)))
        pieces += [before, inside]
        length += len(before) + len(inside)
        at = match.end()
    pieces.append(_plain(text[at:]))
    return pieces, code


def _plain(text: str) -> str:
    """Return prose without markup, one space between words."""
    for pattern, instead in _PLAIN:
        text = pattern.sub(instead, text)
    return re.sub(r"\s+", " ", text)


def _lower(letter: str) -> str:
    """Return a letter in lower case, as one letter, so that places stay the same."""
    small = letter.lower()
    return small if len(small) == 1 else letter


def _words(plain: str, cased: str, code: list[tuple[int, int]]) -> Iterator[Word]:
    """Yield the words of a plain text with their places."""
    number, opens = 0, True
    for match in _WORD.finditer(plain):
        while number < len(code) and code[number][1] <= match.start():
            number += 1
        inside = number < len(code) and code[number][0] <= match.start()
        text = match[0]
        if text == "`":
            continue
        known = text if inside else stem(text)
        proper = not inside and _is_proper(cased[match.start() : match.end()], opens=opens)
        opens = text in _OPENING
        yield Word(
            text, known, match.start(), match.end(), number + 1 if inside else 0, proper=proper
        )


def _is_proper(word: str, *, opens: bool) -> bool:
    """Whether a word is written as a name; capitals throughout only stress it."""
    if word.isupper() and word.isalpha():
        return False
    return any(map(str.isupper, word[1:])) or (word[0].isupper() and not opens)
