"""Answers of stores, made up: `mem 3` is a store of three hits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from cortex_actors.domain.hit import REMOTE, RankedHit
from cortex_actors.rules.ranking.fusion import Listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.rules.ranking.fusion import FusedHit

#: How related a hit is where nothing depends on it: no two stores stand off from their second.
LEVEL = 0.5

#: What is drawn: how related hits are, with those that decide something, and weights.
BASES, WEIGHTS = (0.0, 0.3, 0.465, LEVEL, 0.9, 0.998, 0.999, 1.0), (0.5, 1.0, 2.0, 3.0)


def hit(
    id_: str, base: float = LEVEL, *, store: str = "a", text: str = "text", score: float = 0.0
) -> RankedHit:
    """Return one hit."""
    return RankedHit(id_, text, score, store, base_relevance=base)


def listed(
    store: str,
    ids: str,
    *bases: float,
    weight: float = 1.0,
    floor: float = 0.0,
    capped: bool = True,
) -> Listed:
    """Return a store's answer; ids are separated by blanks, and bases go with them in order."""
    names = ids.split()
    given = [*bases, *([LEVEL] * (len(names) - len(bases)))]
    hits = [hit(id_, base, store=store) for id_, base in zip(names, given, strict=True)]
    return Listed(store, hits, weight, floor, capped)


def cost(hit: RankedHit) -> int:
    """Return what a hit costs where nothing depends on how it is printed: its text and 1."""
    return max(math.ceil(len(hit.text) / 4), 1) + 1


def theirs(store: str, ids: str, *, weight: float = 1.0) -> Listed:
    """Return another program's answer."""
    ours = listed(store, ids, weight=weight)
    return replace(ours, hits=[replace(each, trust=REMOTE) for each in ours.hits])


def ids(placed: Sequence[FusedHit]) -> list[str]:
    """Return the ids in their order."""
    return [one.hit.id for one in placed]


def answers(*, least: int = 0) -> st.SearchStrategy[list[Listed]]:
    """Draw the answers of up to five stores, of up to six hits each, with their weights."""
    hits = st.lists(st.sampled_from(BASES), max_size=6)
    drawn = st.lists(st.tuples(st.sampled_from(WEIGHTS), hits), min_size=least, max_size=5)
    return drawn.map(_named)


def _named(drawn: list[tuple[float, list[float]]]) -> list[Listed]:
    """Return what was drawn as answers of stores with names."""
    return [
        Listed(name, [hit(f"{name}{n}", base, store=name) for n, base in enumerate(bases)], weight)
        for name, (weight, bases) in zip("abcde", drawn, strict=False)
    ]
