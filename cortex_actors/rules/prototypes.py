"""A second opinion where keywords are silent: the category of the examples a text lies nearest to.

Nearly half of the statements in real instruction files hold no keyword of any category. Of 300 such
statements the opinion spoke about 39 and was right about 27, read by hand (all-MiniLM-L6-v2); so it
is never surer than a keyword. A domain is not guessed like this: at its best that spoke about one
text in six, and was wrong about one of five of those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.domain.insight import Category

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Row = npt.NDArray[np.float32]

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
