"""What kind of thing a text says, what it is about, and in which field: by keywords.

The category with the most keywords wins, and so does the domain; a tie goes to the first in the
alphabet. (Cerno's own ties followed the order of a map, which is the alphabet's up to OTP 25 and
undefined since.) Where no keyword speaks, the text is a fact without a decision:
the second opinion below may then speak.

A second opinion where keywords are silent: the category of the examples a text lies nearest to.

Nearly half of the statements in real instruction files hold no keyword of any category. Of 300 such
statements the opinion spoke about 39 and was right about 27, read by hand (all-MiniLM-L6-v2); so it
is never surer than a keyword. A domain is not guessed like this: at its best that spoke about one
text in six, and was wrong about one of five of those.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.domain.insight import Category
from cortex_actors.text import lexicon

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    Row = npt.NDArray[np.float32]

#: Tags kept of one text.
MAX_TAGS = 5

#: What separates the headings above a statement, outermost first.
BETWEEN = " > "

#: Characters of a heading that may be a tag, where several are above a statement: the innermost
#: may be a whole sentence that leads in a list.
TITLE_LIMIT = 40

_NOT_IN_TAG = re.compile(r"[^a-z0-9 -]")


class ClassifiedBy(StrEnum):
    """Who said of which category a text is."""

    KEYWORDS = "keywords"
    #: The example that it lies nearest to, because no keyword spoke.
    PROTOTYPES = "prototypes"
    #: Not decided: it is a fact because something it must be.
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Classification:
    """What a text is taken for.

    Attributes:
        domain: None where no keyword tells.
        confidence: how sure the category is, 0 to 1; see `compute_confidence`.

    """

    category: Category
    tags: tuple[str, ...]
    domain: str | None
    confidence: float = 0.0
    decided_by: ClassifiedBy = ClassifiedBy.NOBODY


@dataclass(frozen=True, slots=True)
class Count:
    """The keywords that speak for one category, domain or tag."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why a text was taken for what it was: what spoke for what, most words first."""

    categories: tuple[Count, ...]
    domains: tuple[Count, ...]
    tags: tuple[Count, ...]


def classify(content: str, heading: str | None = None) -> Classification:
    """Return category, tags and domain of a text; without any keyword it is a fact.

    Tags are in the order of the alphabet, the heading last, at most `MAX_TAGS`. Of several headings
    only the innermost counts: a title such as "Atlas API" would make all of a file about an API.
    """
    found = find_grounds(content, heading)
    tags = [each.name for each in found.tags]
    domain = found.domains[0].name if found.domains else None
    title = _innermost(heading)
    is_title = BETWEEN not in (heading or "") or len(title) <= TITLE_LIMIT
    # The tags, then the heading in plain letters.
    plain = _NOT_IN_TAG.sub("", title.lower()).strip() if is_title else ""
    tagged = tuple(dict.fromkeys([*tags, plain] if plain else tags))[:MAX_TAGS]
    if not found.categories:
        return Classification(Category.FACT, tagged, domain)
    return Classification(
        category=Category(found.categories[0].name),
        tags=tagged,
        domain=domain,
        confidence=compute_confidence(found.categories),
        decided_by=ClassifiedBy.KEYWORDS,
    )


def find_grounds(content: str, heading: str | None = None) -> Grounds:
    """Return which keywords of a text and its heading speak for what."""
    found = lexicon.find_keywords(f"{content} {_innermost(heading)}")
    return Grounds(
        categories=_counted(lexicon.CATEGORIES, found),
        domains=_counted(lexicon.DOMAINS, found),
        tags=tuple(sorted(_counted(lexicon.TAGS, found), key=lambda each: each.name)),
    )


def compute_confidence(counts: Iterable[Count]) -> float:
    """Return how sure the first of those is, against the second: (n + 1) / (n + m + 2).

    That is Laplace's rule of succession over the keywords of the two: one word alone makes 0.67,
    two 0.75, three 0.8; two words against one 0.6, and a tie 0.5.
    """
    sizes = [len(each.words) for each in counts]
    if not sizes:
        return 0.0
    first, second = sizes[0], sizes[1] if len(sizes) > 1 else 0
    return (first + 1) / (first + second + 2)


def _innermost(heading: str | None) -> str:
    """Return the last of the headings above a text; nothing where there is none."""
    return (heading or "").rpartition(BETWEEN)[2]


def _counted(table: Mapping[str, Iterable[str]], found: set[str]) -> tuple[Count, ...]:
    """Return the entries of which keywords were found, most first, then by the alphabet."""
    spoken = [
        Count(name, tuple(w for w in words if w in found))
        for name, words in table.items()
        # Of most entries there is none, which is found out at a tenth of the cost.
        if not found.isdisjoint(words)
    ]
    return tuple(sorted(spoken, key=lambda each: (-len(each.words), each.name)))


#: Examples of a category that are averaged: one alone may be near by a word they share.
NEAREST = 2

#: Least mean cosine with those, and by how much it has to exceed that of the next category.
LEAST = 0.36
MARGIN = 0.05

#: An opinion is never surer than a tie of keywords.
MOST_SURE = 0.5

#: What each category sounds like when it uses none of its keywords.
EXAMPLES: Mapping[Category, tuple[str, ...]] = {
    Category(name): tuple(some) for name, some in lexicon.load_table("examples").items()
}


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near a text is to the examples of a category: the mean cosine of the nearest."""

    category: Category
    cosine: float
    #: The example that is nearest of all.
    example: str


def list_examples() -> tuple[str, ...]:
    """Return every example, in the order in which `rank_categories` wants their vectors."""
    return tuple(text for examples in EXAMPLES.values() for text in examples)


def rank_categories(row: Row, examples: Row) -> tuple[Nearness, ...]:
    """Return how near a text is to each category, nearest first.

    `row` is the text's unit vector, `examples` those of `list_examples()`, all of one model.
    """
    cosines = examples @ row
    found, begun = [], 0
    for category, said in EXAMPLES.items():
        own = cosines[begun : begun + len(said)]
        begun += len(said)
        mean = float(np.sort(own)[-NEAREST:].mean())
        found.append(Nearness(category, mean, said[int(own.argmax())]))
    return tuple(sorted(found, key=lambda each: (-each.cosine, each.category)))


def choose_category(row: Row, examples: Row) -> Nearness | None:
    """Return the category that the nearest examples tell; None where they do not.

    Its cosine is at most `MOST_SURE`. Only for texts on which no keyword speaks.
    """
    best, other = rank_categories(row, examples)[:2]
    if best.cosine < LEAST or best.cosine - other.cosine < MARGIN:
        return None
    return replace(best, cosine=min(best.cosine, MOST_SURE))
