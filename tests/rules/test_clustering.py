"""Who stands for whom, and what is one cluster: functions of texts, not of their order."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.rules.clustering import (
    Cluster,
    find_clusters,
    find_components,
    find_leaders,
    make_pair,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Numbers of a vector.
DIMENSION = 6


def row(*numbers: float) -> NDArray[np.float32]:
    """Return a unit vector that begins with those numbers."""
    found = np.zeros(DIMENSION)
    found[: len(numbers)] = numbers
    return (found / np.linalg.norm(found)).astype(np.float32)


def edges(rows: dict[str, NDArray[np.float32]], least: float) -> dict[tuple[str, str], float]:
    """Return the pairs that are at least so near."""
    pairs = itertools.combinations(sorted(rows.items()), 2)
    near = {(one, other): float(left @ right) for (one, left), (other, right) in pairs}
    return {edge: score for edge, score in near.items() if score >= least}


def members(found: list[Cluster]) -> list[tuple[str, ...]]:
    """Return who is in each cluster."""
    return [each.members for each in found]


class TestLeaders:
    def test_first(self) -> None:
        """The first in the order stands for all that are like it."""
        alike = {"a": {"b", "c"}, "b": {"a"}, "c": {"a"}}

        assert {"a": "a", "b": "a", "c": "a"} == find_leaders("abc", alike)

    def test_chain(self) -> None:
        """Who is like a follower only stands for itself: nobody counts for one it is not like."""
        alike = {"a": {"b"}, "b": {"a", "c"}, "c": {"b"}}

        assert {"a": "a", "b": "a", "c": "c"} == find_leaders("abc", alike)

    def test_unknown(self) -> None:
        """Who is not in the order is nobody's leader and nobody's follower."""
        assert {"a": "a"} == find_leaders("a", {"a": {"x"}, "x": {"a"}})

    def test_follower_leaves(self) -> None:
        """Taking away who leads nobody changes nothing for the others, whatever the graph."""
        seed = random.randrange(2**32)
        dice = random.Random(seed)
        items = [f"{n:02}" for n in range(30)]
        alike: dict[str, set[str]] = {each: set() for each in items}
        for _ in range(60):
            one, other = dice.sample(items, 2)
            alike[one].add(other)
            alike[other].add(one)
        before = find_leaders(items, alike)
        gone = dice.choice([each for each in items if each not in before.values()] or items[:1])
        after = find_leaders([each for each in items if each != gone], alike)

        assert gone == before[gone] or after == {
            each: lead for each, lead in before.items() if each != gone
        }, f"seed {seed}"


class TestComponents:
    def test_parts(self) -> None:
        """What is connected is one part, what is connected with nothing one of its own."""
        found = find_components("dcba", [make_pair("b", "a"), make_pair("c", "b")])

        assert [("a", "b", "c"), ("d",)] == found


class TestClusters:
    def test_one(self) -> None:
        """Texts that are near each other are one cluster, with the one in their middle."""
        rows = {"a": row(1, 0.2), "b": row(1, 0), "c": row(1, -0.2)}
        (found,) = find_clusters(edges(rows, 0.75), rows)

        assert (("a", "b", "c"), "b") == (found.members, found.medoid)
        assert np.mean([*edges(rows, -1).values()]) == pytest.approx(found.coherence, abs=1e-6)
        assert 1.0 == pytest.approx(float(np.linalg.norm(found.centroid)), abs=1e-6)

    def test_chain(self) -> None:
        """A chain whose ends have nothing to do with each other does not become one cluster."""
        angles = [n * 0.5 for n in range(7)]
        rows = {f"{n}": row(np.cos(each), np.sin(each)) for n, each in enumerate(angles)}
        rows["3"] = row(np.cos(1.35), np.sin(1.35))
        found = find_clusters(edges(rows, 0.75), rows)

        assert 1 < len(found)
        assert all(each.coherence >= 0.6 for each in found)

    def test_alone(self) -> None:
        """Who is near nobody is in no cluster."""
        assert [] == find_clusters({}, {"a": row(1)})

    def test_order(self) -> None:
        """Clusters do not depend on the order in which edges come."""
        seed = random.randrange(2**32)
        numbers = np.random.default_rng(seed)
        centres = numbers.normal(size=(4, DIMENSION))
        rows = {
            f"{n:02}": row(*(centres[n % 4] + 0.4 * numbers.normal(size=DIMENSION)))
            for n in range(24)
        }
        some = list(edges(rows, 0.75).items())
        first = find_clusters(dict(some), rows)
        random.Random(seed).shuffle(some)

        assert members(first) == members(find_clusters(dict(some), rows)), f"seed {seed}"

    def test_partition(self) -> None:
        """Nobody is in two clusters."""
        seed = random.randrange(2**32)
        numbers = np.random.default_rng(seed)
        rows = {f"{n:02}": row(*numbers.normal(size=3)) for n in range(30)}
        found = find_clusters(edges(rows, 0.75), rows)
        everybody = [each for one in found for each in one.members]

        assert len(everybody) == len(set(everybody)), f"seed {seed}"
