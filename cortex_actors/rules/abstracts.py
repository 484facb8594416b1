"""A text in short, without a model: its first sentence, and the two that say most of it. Pure.

Sentences are found as people write them: a line of a list is one, what stands in backticks is none,
and neither is an abbreviation. Joined with spaces they are the text.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from cortex_actors.rules.stopwords import STOP_WORDS

#: Letters of an abstract at most: a line of a list.
ABSTRACT: Final = 120

#: Sentences of a summary.
SUMMARY: Final = 2

#: Letters of a summary at most, however long its sentences are.
LONGEST: Final = 1_000

#: What may end a sentence, and code, which hides an end.
_END = re.compile(
    r"`[^`\n]*`"
    r"|(?P<end>[.!?\u2026]+[\"'\u201d\u2019)\]*_]{0,3}[ \t]+"
    r"(?=[\"'\u201c\u2018(\[*_`-]{0,3}[^\W_a-z])"
    r"|[\u3002\uff01\uff1f]+[\u300d\u300f\uff09)]{0,2}[ ]*|[ \t]*\n\s*)"
)

#: Words that end in a dot and end no sentence; single letters and the numbers of a list are none.
_SHORT = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|approx|incl|esp|resp|fig|no|dr|mr|mrs|ms|st|etc|\w|\d+)\.$",
    re.IGNORECASE,
)

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")

_ELLIPSIS = "\u2026"


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text in their order, without the space around them. Linear."""
    found, begin = [], 0
    for match in _END.finditer(text):
        if match["end"] is None:
            continue
        before = text[max(begin, match.start() - 8) : match.start() + 1]
        if "\n" not in match["end"] and _SHORT.search(before):
            continue
        found.append(text[begin : match.end()].strip())
        begin = match.end()
    found.append(text[begin:].strip())
    return tuple(each for each in found if each)


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in small letters, without signs."""
    return tuple(_WORD.findall(text.casefold().replace("\u2019", "'")))


def abstract(text: str) -> str:
    """Return the first sentence, at most 120 letters of it; a longer one ends at a word."""
    first = next(iter(sentences(text)), "")
    return _cut(" ".join(first.split()), ABSTRACT)


def summary(text: str) -> str:
    """Return the two sentences that share most words with the whole, in their order."""
    found = [" ".join(each.split()) for each in dict.fromkeys(sentences(text))]
    telling = [_telling(each) for each in found]
    counts = Counter(word for some in telling for word in some)
    # The mean, so that a long sentence does not win by its length; of equals the first one counts.
    worth = [sum(counts[word] for word in some) / max(len(some), 1) for some in telling]
    best = sorted(range(len(found)), key=lambda place: (-worth[place], place))[:SUMMARY]
    return _cut(" ".join(found[each] for each in sorted(best)), LONGEST)


def _telling(sentence: str) -> set[str]:
    """Return the words of a sentence that say something."""
    return set(words(sentence)) - STOP_WORDS


def _cut(text: str, most: int) -> str:
    """Return a text of at most so many letters; what is left out leaves an ellipsis."""
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    at_word = kept.rpartition(" ")[0]
    return f"{(at_word or kept).rstrip()}{_ELLIPSIS}"
