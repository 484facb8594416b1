"""Which texts stand together: one for all that say the same, clusters of what is nearly the same.

Both are functions of the texts, the likenesses between them and an order, never of what came first:
whoever looks again at a part of the graph that is connected to nothing else finds what looking at
all of it would find.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

#: Least mean cosine between the members of a cluster. Below it they are a chain, in which each is
#: near the next and the ends have nothing to do with each other: it is cut where it is weakest.
COHERENCE = 0.6

#: By how much more alike two have to be at each cut of a chain.
STEP = 0.02

#: An edge of the graph: two items, the lesser first.
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Texts that say nearly the same.

    Attributes:
        members: their ids, in order; at least two.
        medoid: the member nearest to the centre, the least id where several are.
        centroid: the mean of their vectors, of length 1.
        coherence: the mean cosine of two members.

    """

    members: tuple[str, ...]
    medoid: str
    centroid: NDArray[np.float32]
    coherence: float


def pair(left: str, right: str) -> Pair:
    """Return an edge."""
    return (left, right) if left < right else (right, left)


def leaders(order: Sequence[str], alike: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return for each item the one that stands for it.

    The first in the order leads, and all that are like it count for it; then the first of the
    others. So everybody is like who stands for it, and nobody who leads is like another one who
    does. Taking away somebody who leads nobody changes nothing for the rest.
    """
    known, found = set(order), dict[str, str]()
    for each in order:
        if each not in found:
            found[each] = each
            for other in alike.get(each, ()):
                if other in known:
                    found.setdefault(other, each)
    return found


def components(items: Iterable[str], edges: Iterable[Pair]) -> list[tuple[str, ...]]:
    """Return the connected parts of a graph, each in order, by their first items."""
    near: dict[str, list[str]] = {each: [] for each in items}
    for left, right in edges:
        near[left].append(right)
        near[right].append(left)
    found: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for each in sorted(near):
        if each not in seen:
            part = _reached(each, near)
            seen |= part
            found.append(tuple(sorted(part)))
    return found


def clusters(
    edges: Mapping[Pair, float],
    rows: Mapping[str, NDArray[np.float32]],
    *,
    least: float = COHERENCE,
) -> list[Cluster]:
    """Return the clusters of a graph whose edges are cosines; an item without edges is in none.

    Takes the time of the edges, and for a chain that of each cut.
    """
    found: list[Cluster] = []
    waiting: list[tuple[Mapping[Pair, float], float]] = [(edges, -1.0)]
    while waiting:
        some, level = waiting.pop()
        for members in components({each for edge in some for each in edge}, some):
            made = _cluster(members, rows)
            if made.coherence >= least:
                found.append(made)
                continue
            inside = set(members)
            within = {edge: cosine for edge, cosine in some.items() if edge[0] in inside}
            level = max(level, min(within.values())) + STEP
            waiting.append(({e: c for e, c in within.items() if c >= level}, level))
    return sorted(found, key=lambda each: each.members)


def _reached(start: str, near: Mapping[str, Sequence[str]]) -> set[str]:
    """Return everything that an item is connected with."""
    seen, waiting = {start}, [start]
    while waiting:
        for other in near[waiting.pop()]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def _cluster(members: tuple[str, ...], rows: Mapping[str, NDArray[np.float32]]) -> Cluster:
    """Return members as a cluster; their order is that of their ids, and so is the rounding."""
    matrix = np.stack([rows[each] for each in members]).astype(np.float64)
    total = matrix.sum(axis=0)
    count = len(members)
    # The sum of all cosines is the square of the summed vectors' length, with each one's own in it.
    own = float(np.einsum("ij,ij->", matrix, matrix))
    mean = (float(np.dot(total, total)) - own) / (count * (count - 1))
    length = float(np.linalg.norm(total)) or 1.0
    nearest = int(np.argmax(np.round(matrix @ total, 9)))
    centroid = (total / length).astype(np.float32)
    return Cluster(members, members[nearest], centroid, min(max(mean, -1.0), 1.0))
