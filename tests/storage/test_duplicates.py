"""Pairs of memories that say nearly the same: all of them, once, the nearest first."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.storage import embeddings
from cortex_actors.storage.memory import memory_lists
from cortex_actors.storage.memory.memory_lists import ComparedMemories, PairSearch

if TYPE_CHECKING:
    import pytest

    from cortex_actors.storage.embeddings import Matrix

#: Numbers of a vector here.
WIDE = 12


def some_texts(seed: int, count: int) -> ComparedMemories:
    """Return texts in a few heaps, some of them twice."""
    random = np.random.default_rng(seed)
    heaps = random.standard_normal((max(1, count // 4), WIDE))
    rows = heaps[random.integers(0, len(heaps), count)]
    rows = rows + random.choice([0.0, 0.1, 0.3], (count, 1)) * random.standard_normal((count, WIDE))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return texts([f"mem_{each:05d}" for each in range(count)], unit.astype(np.float32))


def texts(ids: list[str], rows: Matrix, projects: str = "") -> ComparedMemories:
    """Return memories with their vectors, of no project, or each of the next in that order."""
    return ComparedMemories(ids, rows, list(projects) or [""] * len(ids))


def search(
    some: ComparedMemories, *, limit: int, threshold: float = 0.95, apart: object = ()
) -> PairSearch:
    """Return a search that has looked at everything."""
    found = PairSearch(some, threshold=threshold, limit=limit, apart=frozenset(apart))  # type: ignore[call-overload]
    for start in found.list_steps():
        found.step(start)
    return found


class TestSearch:
    @settings(max_examples=50)
    @given(seed=st.integers(0, 10_000), count=st.integers(0, 40), limit=st.integers(1, 30))
    def test_every_pair(self, seed: int, count: int, limit: int) -> None:
        """It finds what comparing each with each finds, in that order."""
        some = some_texts(seed, count)
        rows = some.rows.astype(np.float64)
        all_pairs = [
            (-float(np.einsum("i,i->", rows[one], rows[other])), some.ids[one], some.ids[other])
            for one, other in combinations(range(count), 2)
        ]
        near = sorted(each for each in all_pairs if -each[0] >= 0.95)
        pairs, total = search(some, limit=limit).list_pairs()

        assert len(near) == total
        assert len(pairs) == min(limit, total)
        assert [round(min(-each[0], 1.0), 12) for each in near[:limit]] == [
            round(each.cosine, 12) for each in pairs
        ]
        assert all(each.left < each.right for each in pairs)

    def test_many_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the blocks end makes no difference."""
        some = some_texts(7, 300)
        whole = search(some, limit=50).list_pairs()
        monkeypatch.setattr(memory_lists, "_ROWS", 7)
        monkeypatch.setattr(memory_lists, "_BLOCK", 11)

        assert whole == search(some, limit=50).list_pairs()
        assert whole[1] > 50

    def test_equal(self) -> None:
        """Equal texts have 1, and no more, whatever rounding says; ties go by their ids."""
        row = np.full((3, WIDE), WIDE**-0.5, np.float32)
        pairs, total = search(texts(["a", "b", "c"], row), limit=2).list_pairs()

        assert (3, [("a", "b"), ("a", "c")]) == (total, [(each.left, each.right) for each in pairs])
        assert {1.0} == {min(1.0, round(each.cosine, 6)) for each in pairs}

    def test_apart(self) -> None:
        """What somebody has taken apart is no pair, and takes nobody's place."""
        row = np.full((3, WIDE), WIDE**-0.5, np.float32)
        apart = {("a", "b"), ("a", "gone")}
        pairs, total = search(texts(["a", "b", "c"], row), limit=1, apart=apart).list_pairs()

        assert 2 == total
        assert ("a", "c") == pairs[0][:2]

    def test_projects(self) -> None:
        """Two of different projects, or of one and none, are no pair, and take nobody's place."""
        row = np.full((6, WIDE), WIDE**-0.5, np.float32)
        pairs, total = search(texts(list("abcdef"), row, "pq qp "), limit=5).list_pairs()

        assert (3, {("a", "e"), ("b", "d"), ("c", "f")}) == (
            total,
            {(each.left, each.right) for each in pairs},
        )

    def test_nothing(self) -> None:
        """Of no texts there are no pairs."""
        assert ([], 0) == search(ComparedMemories(), limit=5).list_pairs()


class TestTexts:
    def test_damaged(self) -> None:
        """A vector that was changed on the disk counts for none; the others go by their ids."""
        good = embeddings.to_bytes(np.full(WIDE, WIDE**-0.5, np.float32))
        found = memory_lists.sort_vectors([("c", good, ""), ("a", good, "p"), ("b", good[:-4], "")])

        assert (["a", "c"], ["p", ""]) == (found.ids, found.projects)
        assert (2, WIDE) == found.rows.shape

    def test_none(self) -> None:
        """Without any vector there is nothing to compare."""
        assert [] == memory_lists.sort_vectors([]).ids
