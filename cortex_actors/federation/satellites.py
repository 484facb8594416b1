"""Satellites: what a store itself has put around a hit, shown beside it.

A store may say with a hit what was noted about it since, and what it took the place of
(`extra["surroundings"]`). That is no answer to the question, so it takes nobody's place.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.hit import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: What a store calls an edge -> what the answer calls it.
EDGES = {"satellite": "satellite-edge", "supersedes": "supersedes-edge"}

#: Where adapters put what stands around a hit.
SURROUNDINGS = "surroundings"


def satellites(hits: Sequence[Hit], budget: int) -> list[Hit]:
    """Return at most so many of what stands around some hits: of each one, then a second of each.

    What is among the hits itself is left out, and so is what stands around two of them the second
    time.
    """
    known = {(hit.store, hit.id) for hit in hits}
    found: dict[tuple[str, str], Hit] = {}
    for each in chain.from_iterable(zip_longest(*(_around(hit) for hit in hits))):
        if len(found) >= budget:
            break
        if each is not None and (each.store, each.id) not in known:
            found.setdefault((each.store, each.id), each)
    return list(found.values())


def bare(hit: Hit) -> Hit:
    """Return a hit without what stands around it, which an answer has beside it, if at all."""
    if SURROUNDINGS not in hit.extra:
        return hit
    return replace(hit, extra={n: v for n, v in hit.extra.items() if n != SURROUNDINGS})


def _around(hit: Hit) -> Iterator[Hit]:
    """Return what stands around one hit, in its store's order."""
    some = hit.extra.get(SURROUNDINGS)
    for each in some if isinstance(some, list) else ():
        if isinstance(each, dict) and each.get("edge") in EDGES:
            yield _satellite(hit, each)


def _satellite(hit: Hit, said: dict[str, Any]) -> Hit:
    """Return one of them as a hit, which says around what it stands."""
    metadata = said.get("metadata")
    return Hit(
        id=str(said.get("id") or ""),
        text=str(said.get("text") or ""),
        score=0.0,
        store=hit.store,
        base_relevance=0.0,
        trust=hit.trust,
        extra={
            "source": EDGES[str(said["edge"])],
            "around": hit.id,
            "metadata": metadata if isinstance(metadata, dict) else {},
        },
    )
