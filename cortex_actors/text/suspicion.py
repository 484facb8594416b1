"""Whether a text reads as if it were meant to take an agent over.

Knowledge that flows between projects is a path for poison: one poisoned file would speak in all of
them. No list of phrases stops a determined author; this one sees that the usual ones wait for a
person. A false alarm costs a look, so it asks for the shape of an attack (an order to disregard
orders, a download that is run, a credential that is sent somewhere), never for a word alone, and
lets rules that forbid such things pass.

Why a text is never spread to other projects before a person has said that it may be.

Quarantine keeps back what looks like an attack (`suspicion`). This is asked once more where a text
would become a principle, speak in every project, and be read by every agent, and it is told more
easily: it holds for whatever is dangerous when it is wrong (credentials that are moved, programs
that are fed from a pipe, addresses that are obeyed, markup, code that breaks its reader). A false
alarm costs one look; a rule that forbids such things passes. What a person approved for use in one
project has to be approved for all of them as well.

Whether a text is what tools and templates write into every instruction file.

"This file provides guidance to Claude Code (claude.ai/code) when working with code in this
repository." stands in every fifth one: it is true wherever it stands and says nothing. Kept like
any other text, but its evidence weighs little, or it would be what most projects agree on.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from cortex_actors.text.credentials import mask_secrets
from cortex_actors.text.hazards import hidden
from cortex_actors.text.lexicon import expression, patterns, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


#: Letters of a text that are looked at: a longer statement is no rule anybody wrote.
LOOKED_AT = 20_000

#: Letters before a match in which a word that forbids it is looked for.
_BEFORE = 90

#: What turns an order into its opposite: "never send tokens to ...", "do not run `curl | sh`".
_FORBIDS = patterns("attacks")["forbids"]


class Sign(NamedTuple):
    """One shape of an attack, and what a person is told of it."""

    told: str
    pattern: re.Pattern[str]
    #: What a line must hold, one of them, before the pattern is tried at all.
    anchors: tuple[str, ...]
    #: Whether a word before it that forbids it makes it a rule like any other.
    may_be_forbidden: bool


def _signs(name: str) -> tuple[Sign, ...]:
    """Return the signs of a table, in the order in which they are asked."""
    parts = table(name)["parts"]
    return tuple(
        Sign(
            each["told"],
            re.compile("|".join(expression(some, parts) for some in each["patterns"])),
            tuple(each["anchors"].split()) if "anchors" in each else ("",),
            each.get("may_be_forbidden", True),
        )
        for each in table(name)["sign"]
    )


#: The first that is met is told.
SIGNS = _signs("attacks")


def suspicion(text: str) -> str | None:
    """Return what makes a text look like an attack, as a person reads it; None for any other.

    Letters that only look different (full width, ligatures) count as what they look like. Cost is
    linear in the text.
    """
    lines = [line.replace("...", "\u2026") for line in _lines(text)]

    def is_forbidden(line: str, at: int) -> bool:
        return _FORBIDS.search(line, max(0, at - _BEFORE), at) is not None

    return _first_sign(SIGNS, lines, is_forbidden=is_forbidden)


def _lines(text: str) -> list[str]:
    """Return a text line by line, where commands stand, and once as a reader takes it in."""
    plain = unicodedata.normalize("NFKC", text[:LOOKED_AT]).lower().replace("\u2019", "'")
    lines = [" ".join(line.split()) for line in plain.splitlines()]
    return [*lines, " ".join(lines)] if len(lines) > 1 else lines


def _first_sign(
    some: Iterable[Sign], lines: Sequence[str], *, is_forbidden: Callable[[str, int], bool]
) -> str | None:
    """Return what is told of the first sign that a line has and does not forbid."""
    for sign in some:
        for line in lines:
            if any(anchor in line for anchor in sign.anchors) and any(
                not (sign.may_be_forbidden and is_forbidden(line, match.start()))
                for match in sign.pattern.finditer(line)
            ):
                return sign.told
    return None


#: Texts of which the answer is remembered: each run asks about the same ones (some MB).
_REMEMBERED = 8_192

#: What forbids the words behind it, and what turns such a word into its opposite, or begins another
#: thought.
_WARNS, _TURNS = patterns("wary")["warns"], patterns("wary")["turns"]

#: The first that is met is told.
_SIGNS = _signs("wary")


@lru_cache(maxsize=_REMEMBERED)
def wary(text: str) -> str | None:
    """Return why a person has to approve a text before it may become a principle; None if not.

    Letters that only look different count as what they look like. Cost is linear in the text.
    """
    if hidden(text):
        return _SIGNS[0].told
    if mask_secrets(text).secrets:
        return "it holds what looks like a secret"
    if (why := suspicion(text)) is not None:
        return why
    return _first_sign(_SIGNS, _lines(text), is_forbidden=_is_forbidden)


def _is_forbidden(line: str, at: int) -> bool:
    """Tell whether the words before a place forbid what stands there, and nothing turns that."""
    found = _WARNS.search(line, max(0, at - _BEFORE), at)
    return found is not None and _TURNS.search(found["between"]) is None


#: Letters of the longest text that is looked at: templates are short, and a long text has
#: something of its own to say.
LONGEST = 400

#: Decoration that is no part of the words: quotes, emphasis, list and heading marks.
_DECORATION = re.compile(r"(?:^[\s>#*+-]+)|[*_`\"\u201c\u201d]")
_SPACES = re.compile(r"\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")

#: Sentences that say nothing of a project, in lower case and without decoration.
_EMPTY = tuple(
    re.compile(expression(each, table("boilerplate")["parts"]))
    for each in table("boilerplate")["empty"]
)


def is_boilerplate(text: str) -> bool:
    """Tell whether every sentence of a text says only that, and for whom, the file is there.

    A sentence that goes on to say something (after a colon, a semicolon) is none.
    """
    if len(text) > LONGEST:
        return False
    plain = _SPACES.sub(" ", _DECORATION.sub("", text)).strip().lower()
    sentences = [each.rstrip(".! ") for each in _SENTENCE.split(plain)]
    return bool(plain) and all(
        any(pattern.fullmatch(sentence) for pattern in _EMPTY) for sentence in sentences
    )
