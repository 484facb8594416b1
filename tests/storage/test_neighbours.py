"""Neighbours: the insights nearest to a vector, in memory or read from the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.domain.project import Project
from cortex_actors.storage import embeddings, projects
from cortex_actors.storage.pipeline import insights
from cortex_actors.storage.search.matrix import Near, Neighbours, VectorMatrix, cosine
from tests.pipeline.histories import DIMENSION, MODEL, ids, said, unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from tests.storage.support import Store

PATH = "/somewhere/atlas/CLAUDE.md"

#: Megabytes in which every row fits, and in which none does.
ROOMY, TIGHT = 64, 0


def planted(count: int) -> dict[str, NDArray[np.float32]]:
    """Return statements with random vectors."""
    rows = np.random.default_rng(5).normal(size=(count, DIMENSION))
    return {f"Statement {n} says this.": unit(row) for n, row in enumerate(rows)}


async def learn(store: Store, rows: dict[str, NDArray[np.float32]]) -> None:
    """Have a file say statements that have those vectors."""
    project = Project.from_root("/somewhere/atlas", 1)
    found = [said(text, PATH, revision="r1", ordinal=n) for n, text in enumerate(rows)]
    vectors = {each.text_hash: row for each, row in zip(found, rows.values(), strict=True)}

    def unit_(connection: Connection) -> None:
        projects.add(connection, project)
        insights.learn(connection, found, project_id=project.id, path=PATH, at=1)
        embeddings.keep_vectors(connection, MODEL, vectors)

    await store.write(unit_)


def slowly(
    rows: dict[str, NDArray[np.float32]], asked: NDArray[np.float32], floor: float
) -> list[str]:
    """Return who is near enough, by comparing each."""
    near = [(cosine(asked, row), ids(text)[0]) for text, row in rows.items()]
    return [each for score, each in sorted(near, key=lambda e: (-e[0], e[1])) if score >= floor]


class TestNearest:
    @pytest.mark.parametrize("most_mb", [ROOMY, TIGHT])
    async def test_exact(self, store: Store, most_mb: int) -> None:
        """What is found is what comparing each would find, in memory and from the ledger."""
        rows = planted(300)
        await learn(store, rows)
        neighbours = Neighbours(VectorMatrix(MODEL, most_mb))
        asked = np.stack([unit(np.random.default_rng(9).normal(size=DIMENSION)), *rows.values()])
        asked = asked[:40].astype(np.float32)
        found: Sequence[list[Near]] = await store.read(
            lambda c: neighbours.find_nearest(c, asked, floor=0.3, most=50)
        )

        for row, near in zip(asked, found, strict=True):
            assert slowly(rows, row, 0.3) == [each.insight_id for each in near]

    async def test_most(self, store: Store) -> None:
        """No more are named than are asked for, the nearest first."""
        rows = planted(50)
        await learn(store, rows)
        neighbours = Neighbours(VectorMatrix(MODEL, ROOMY))
        asked = np.stack(list(rows.values())[:1])
        (own,) = ids(next(iter(rows)))
        (first,) = await store.read(lambda c: neighbours.find_nearest(c, asked, floor=-1.0, most=3))

        assert [own] == [each.insight_id for each in first][:1]
        assert 3 == len(first)

    async def test_gone(self, store: Store) -> None:
        """What is no longer said, or counts for another text, is not named."""
        rows = planted(3)
        await learn(store, rows)
        neighbours = Neighbours(VectorMatrix(MODEL, ROOMY))
        asked = np.stack(list(rows.values()))
        await store.read(lambda c: neighbours.find_nearest(c, asked, floor=-1.0, most=9))
        one, two, three = ids(*rows)
        await store.write(lambda c: insights.assign(c, {one: None, two: one}))
        (found, *_) = await store.read(
            lambda c: neighbours.find_nearest(c, asked, floor=-1.0, most=9)
        )

        assert {one, three} == {each.insight_id for each in found}


class TestTexts:
    async def test_merged(self, store: Store) -> None:
        """Texts that count for another one are compared, too."""
        rows = planted(3)
        await learn(store, rows)
        neighbours = Neighbours(VectorMatrix(MODEL, ROOMY))
        one, two, _ = ids(*rows)
        await store.write(lambda c: insights.assign(c, {one: None, two: one}))
        held = await store.read(neighbours.load_texts)
        (found,) = held.find_near(np.stack(list(rows.values())[1:2]), 0.999)

        assert [two] == [each.insight_id for each in found]

    async def test_one_value(self, store: Store) -> None:
        """A cosine is the same number whoever asks, among however many others."""
        rows = planted(200)
        await learn(store, rows)
        neighbours = Neighbours(VectorMatrix(MODEL, ROOMY))
        held = await store.read(neighbours.load_texts)
        every = np.stack(list(rows.values()))
        together = held.find_near(every, 0.0)
        alone = [held.find_near(every[n : n + 1], 0.0)[0] for n in range(len(every))]
        stored = await store.read(lambda c: neighbours.load_rows(c, ids(*rows)))

        assert [sorted(each) for each in alone] == [sorted(each) for each in together]
        for own, near in zip(ids(*rows), together, strict=True):
            assert all(score == cosine(stored[own], stored[other]) for other, score in near)
