"""What kind of thing a text says, what it is about, and in which field: by keywords.

The category with the most keywords wins, and so does the domain; a tie goes to the first in the
alphabet. (Cerno's own ties followed the order of a map, which is the alphabet's up to OTP 25 and
nobody's since.) Where no keyword speaks, the text is a fact and nobody vouches for that:
`rules/prototypes.py` may then have a second opinion.

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
    from collections.abc import Collection, Iterable, Mapping

    import numpy.typing as npt

    Row = npt.NDArray[np.float32]

#: Tags kept of one text.
MAX_TAGS = 5

#: What stands between the headings above a statement, outermost first.
BETWEEN = " > "

#: Characters of a heading that may be a tag, where several stand above a statement: the innermost
#: may be a whole sentence that leads in a list.
TITLE_LIMIT = 40

_NOT_IN_TAG = re.compile(r"[^a-z0-9 -]")


class ClassifiedBy(StrEnum):
    """Who said of which category a text is."""

    KEYWORDS = "keywords"
    #: The example that it lies nearest to, because no keyword spoke.
    PROTOTYPES = "prototypes"
    #: Nobody: it is a fact because something it must be.
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Classification:
    """What a text is taken for.

    Attributes:
        domain: None where no keyword tells.
        confidence: how sure the category is, 0 to 1; see `confidence`.

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
    found = grounds(content, heading)
    tags = [each.name for each in found.tags]
    domain = found.domains[0].name if found.domains else None
    title = _innermost(heading)
    is_title = BETWEEN not in (heading or "") or len(title) <= TITLE_LIMIT
    tagged = _tagged(tags, title if is_title else "")
    if not found.categories:
        return Classification(Category.FACT, tagged, domain)
    return Classification(
        category=Category(found.categories[0].name),
        tags=tagged,
        domain=domain,
        confidence=confidence(found.categories),
        decided_by=ClassifiedBy.KEYWORDS,
    )


def grounds(content: str, heading: str | None = None) -> Grounds:
    """Return which keywords of a text and its heading speak for what."""
    found = lexicon.occurring(f"{content} {_innermost(heading)}")
    return Grounds(
        categories=_counted(lexicon.CATEGORIES, found),
        domains=_counted(lexicon.DOMAINS, found),
        tags=tuple(sorted(_counted(lexicon.TAGS, found), key=lambda each: each.name)),
    )


def confidence(counts: Iterable[Count]) -> float:
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


def _counted(table: Mapping[str, Iterable[str]], found: Collection[str]) -> tuple[Count, ...]:
    """Return the entries of which keywords were found, most first, then by the alphabet."""
    told = [Count(name, tuple(w for w in words if w in found)) for name, words in table.items()]
    spoken = [each for each in told if each.words]
    return tuple(sorted(spoken, key=lambda each: (-len(each.words), each.name)))


def _tagged(tags: list[str], heading: str) -> tuple[str, ...]:
    """Return the tags, then the heading in plain letters."""
    title = _NOT_IN_TAG.sub("", heading.lower()).strip()
    return tuple(dict.fromkeys([*tags, title] if title else tags))[:MAX_TAGS]


#: Examples of a category that are averaged: one alone may be near by a word they share.
NEAREST = 2

#: Least mean cosine with those, and by how much it has to exceed that of the next category.
LEAST = 0.36
MARGIN = 0.05

#: An opinion is never surer than a tie of keywords.
MOST_SURE = 0.5

#: What each category sounds like when it uses none of its keywords.
EXAMPLES: Mapping[Category, tuple[str, ...]] = {
    Category.CONVENTION: (
        "Name test files after the module they test, with the suffix _test.",
        "Write commit messages in the imperative mood, one line, no full stop.",
        "Keep functions short and put one class in each file.",
        "Indent with two spaces and end each line with a semicolon.",
        "Put shared components in src/components and export them from an index file.",
        "New features need tests, and every pull request needs a changelog entry.",
        "Write comments in English and explain why, not what.",
        "Sort imports and group them: standard library, third party, own.",
    ),
    Category.FACT: (
        "The server listens on port 8080 and serves the web page.",
        "src/main.py is the entry point of the application.",
        "The package is published on npm and needs Node 20.",
        "config.yaml holds the settings; logs are written to /var/log.",
        "The backend is written in Go and talks to PostgreSQL.",
        "GET /users returns the list of users as JSON.",
        "The timeout is 30 seconds and the limit is 100 requests a minute.",
        "getUser(id): returns one user, or null if there is none.",
    ),
    Category.PATTERN: (
        "Each feature is a folder with its own components, hooks and tests.",
        "Requests go from the controller through the service to the repository.",
        "The domain knows nothing of the web framework; adapters sit at the edges.",
        "State lives in a store, and components subscribe to it.",
        "Plugins register themselves in a registry and are loaded when the application starts.",
        "The frontend, the backend and the shared types are packages of one monorepo.",
        "Events are published on a bus and handled by independent consumers.",
        "Commands and queries are kept apart, each with a handler.",
    ),
    Category.PREFERENCE: (
        "Composition is better than inheritance.",
        "We like small pull requests more than large ones.",
        "Choose named exports over default exports where you can.",
        "Functional components are better than class components here.",
        "When in doubt, pick the simpler solution.",
        "Ideally use early returns, not deep nesting.",
        "Async functions are nicer than callbacks.",
        "It is better to write a table than a chain of conditions.",
    ),
    Category.PRINCIPLE: (
        "Make it work, make it right, make it fast.",
        "Simplicity comes before cleverness.",
        "Every change should leave the code better than it was.",
        "Correctness matters more than speed.",
        "Readable code is worth more than short code.",
        "Ask when something is unclear; do not guess.",
        "Users come first: their data is never lost.",
        "Do the smallest thing that solves the problem.",
    ),
    Category.TECHNIQUE: (
        "Run make test to run the tests.",
        "To start the development server, run npm run dev.",
        "First install the dependencies, then build the image, then push it.",
        "To debug, set a breakpoint and attach to the process.",
        "To add a language, copy the template file and translate it.",
        "Use git bisect to find the commit that broke it.",
        "Create a branch, make the change, open a pull request.",
        "python scripts/build.py --release builds the package.",
    ),
    Category.WARNING: (
        "This deletes all data and cannot be undone.",
        "Committing a password or a token is a serious mistake.",
        "The build breaks when this file is edited by hand.",
        "Nobody may push to the main branch.",
        "Beware of race conditions when two workers write the same row.",
        "Watch out: the order of these calls matters, and the wrong one corrupts the file.",
        "This fails silently on Windows.",
        "Refuse to run destructive commands without asking first.",
    ),
}


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near a text is to the examples of a category: the mean cosine of the nearest."""

    category: Category
    cosine: float
    #: The example that is nearest of all.
    example: str


def texts() -> tuple[str, ...]:
    """Return every example, in the order in which `nearest` wants their vectors."""
    return tuple(text for examples in EXAMPLES.values() for text in examples)


def nearest(row: Row, examples: Row) -> tuple[Nearness, ...]:
    """Return how near a text is to each category, nearest first.

    `row` is the text's unit vector, `examples` those of `texts()`, all of one model.
    """
    cosines = examples @ row
    found, begun = [], 0
    for category, said in EXAMPLES.items():
        own = cosines[begun : begun + len(said)]
        begun += len(said)
        mean = float(np.sort(own)[-NEAREST:].mean())
        found.append(Nearness(category, mean, said[int(own.argmax())]))
    return tuple(sorted(found, key=lambda each: (-each.cosine, each.category)))


def telling(row: Row, examples: Row) -> Nearness | None:
    """Return the category that the nearest examples tell; None where they do not.

    Its cosine is at most `MOST_SURE`. Only for texts on which no keyword speaks.
    """
    best, other = nearest(row, examples)[:2]
    if best.cosine < LEAST or best.cosine - other.cosine < MARGIN:
        return None
    return replace(best, cosine=min(best.cosine, MOST_SURE))
