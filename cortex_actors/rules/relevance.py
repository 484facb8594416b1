"""How much a principle matters to a file: nearness, rank and common domains (Cerno's retriever).

    score = .5 * max(cosine, 0) + .3 * rank + .2 * share of the principle's domains that are its

Where the file or the principle has no vector, what is left stands for all of it:
(.3 * rank + .2 * share) / .5. The domains of a file are the three that most of its paragraphs are
about. The weights may be others; only how they stand to each other counts.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cortex_actors.rules.classification import classify

if TYPE_CHECKING:
    from collections.abc import Collection

#: Characters of a file that stand for all of it in vector space (Cerno).
FILE_CHARACTERS: Final = 8_000

#: Domains that a file is of, at most (Cerno).
FILE_DOMAINS: Final = 3

_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts how much; not all of rank and domain are 0, for without a model they are all."""

    semantic: float = 0.5
    rank: float = 0.3
    domain: float = 0.2


#: The document's.
DOCUMENT: Final = Weights()


def score(cosine: float | None, rank: float, *, share: float, weights: Weights = DOCUMENT) -> float:
    """Return how much a principle matters to a file, 0 to 1; `cosine` is None without vectors.

    A principle that points away from the file is worth no less than one that has nothing to do
    with it.
    """
    known = weights.rank * rank + weights.domain * share
    if cosine is None:
        return known / (weights.rank + weights.domain)
    whole = weights.semantic + weights.rank + weights.domain
    return (weights.semantic * max(cosine, 0.0) + known) / whole


def share(of_principle: Collection[str], of_file: Collection[str]) -> float:
    """Return the share of a principle's domains that are the file's; of none it is 0."""
    if not of_principle:
        return 0.0
    return len(set(of_principle) & set(of_file)) / len(set(of_principle))


def file_domains(text: str) -> tuple[str, ...]:
    """Return the domains that most paragraphs of a file are about, ties by the alphabet."""
    found = Counter(
        domain for each in paragraphs(text) if (domain := classify(each).domain) is not None
    )
    order = sorted(found, key=lambda domain: (-found[domain], domain))
    return tuple(order[:FILE_DOMAINS])


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text: what blank lines stand between."""
    return [each for each in _BLANK.split(text.strip()) if each]
