from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.errors import ActorAway, DeadlineExceeded, IndexDown
from cortex_actors.storage import indexing, search
from cortex_actors.storage.search import Search
from tests.storage.support import HARBOR, MODEL, id_of, unit

if TYPE_CHECKING:
    from cortex_actors.domain.hit import Hit
    from cortex_actors.storage.indexing import Matrix
    from tests.storage.support import Store

HERE = "/projects/atlas/CLAUDE.md"
THERE = "/projects/harbor/CLAUDE.md"


class Index:
    """An index in memory that holds what it was told, or is away."""

    def __init__(self) -> None:
        self.rows: dict[str, Matrix] = {}
        self.error: Exception | None = None
        self.asked: list[int] = []

    async def tell(self, store: Store) -> None:
        """Be told everything that waits."""
        for change in await store.read(lambda c: indexing.changes(c, MODEL, 1_000)):
            if change.vector is None:
                self.rows.pop(change.item_id, None)
            else:
                self.rows[change.item_id] = change.vector
            await store.write(partial(indexing.applied, told=[change]))

    async def __call__(
        self, collection: str, vector: Matrix, limit: int
    ) -> list[tuple[str, float]]:
        """Return the nearest."""
        self.asked.append(limit)
        if self.error is not None:
            raise self.error
        near = [(each, float(row @ vector)) for each, row in self.rows.items()]
        return sorted(near, key=lambda pair: -pair[1])[:limit]


@pytest.fixture
async def index(store: Store) -> Index:
    """Give an index that was told what two projects say."""
    await store.says(HERE, "x", "xy", "y")
    await store.says(THERE, "z", "x", project=HARBOR)
    await store.embed(x=[1, 0, 0], xy=[1, 1, 0], y=[0, 1, 0], z=[-1, 0, 0.1], new=[1, 0.1, 0])
    index = Index()
    await index.tell(store)
    return index


async def ask(
    store: Store, index: Index, *vector: float, limit: int = 10, project_id: str | None = None
) -> list[Hit]:
    """Search."""
    found = Search(store.records, index, MODEL)
    return await found.insights(unit(*vector), limit=limit, project_id=project_id)


class TestBroad:
    async def test_by_index(self, store: Store, index: Index) -> None:
        """A broad question is answered from the index, best first, with provenance."""
        hits = await ask(store, index, 1, 0, 0)
        best = hits[0]

        assert ["x", "xy"] == [hit.text for hit in hits[:2]]
        assert {"index"} == {hit.extra["found_by"] for hit in hits}
        assert pytest.approx(1.0) == best.score
        assert ("atlas", HERE, 1, "cortex_insights") == (
            best.project,
            best.path,
            best.line_start,
            best.store,
        )
        assert [f"{THERE}:4"] == best.extra["also"]
        assert ["atlas", "harbor"] == best.extra["projects"]

    async def test_opposite(self, store: Store, index: Index) -> None:
        """What points away has the score 0 and comes last."""
        hits = await ask(store, index, 1, 0, 0)

        assert ("z", 0.0) == (hits[-1].text, hits[-1].score)

    async def test_limit(self, store: Store, index: Index) -> None:
        """No more is returned than asked for."""
        assert ["y"] == [hit.text for hit in await ask(store, index, 0, 1, 0, limit=1)]

    async def test_ties(self, store: Store, index: Index) -> None:
        """Equal scores come in the order of their ids."""
        ids = [hit.id for hit in await ask(store, index, 0, 0, 1)]

        assert id_of("z") == ids[0]
        assert sorted([id_of("x"), id_of("xy"), id_of("y")]) == ids[1:]

    async def test_same_either_way(self, store: Store, index: Index) -> None:
        """The index and the exact comparison give the same answer."""
        by_index = await ask(store, index, 0.3, 0.8, 0.1)
        index.error = IndexDown("away")
        exact = await ask(store, index, 0.3, 0.8, 0.1)

        assert [hit.id for hit in by_index] == [hit.id for hit in exact]
        assert np.allclose([hit.score for hit in by_index], [hit.score for hit in exact])

    @pytest.mark.parametrize("error", [IndexDown("x"), ActorAway("x"), DeadlineExceeded("x")])
    async def test_index_away(self, store: Store, index: Index, error: Exception) -> None:
        """While the index is away every vector is compared."""
        index.error = error
        hits = await ask(store, index, 1, 0, 0)

        assert {"exact"} == {hit.extra["found_by"] for hit in hits}
        assert 4 == len(hits)


class TestReadYourWrites:
    async def test_not_yet_told(self, store: Store, index: Index) -> None:
        """What was committed before the question is found although the index has not heard."""
        await store.says(HERE, "x", "xy", "y", "new")
        hits = await ask(store, index, 1, 0.1, 0, limit=1)

        assert ["new"] == [hit.text for hit in hits]

    async def test_withdrawn(self, store: Store, index: Index) -> None:
        """What nobody says any more is not shown, although the index still returns it."""
        await store.says(HERE, "xy")
        hits = await ask(store, index, 0, 1, 0)

        assert id_of("y") in index.rows
        assert "y" not in [hit.text for hit in hits]

    async def test_withdrawn_do_not_crowd_out(self, store: Store, index: Index) -> None:
        """Withdrawn neighbours cost no place: as many hits come as were asked for."""
        texts = [f"old {n}" for n in range(40)]
        await store.says("/projects/atlas/old.md", *texts)
        await store.embed(**{text: [1, 0, 0.001 * n] for n, text in enumerate(texts, 1)})
        await index.tell(store)
        await store.says("/projects/atlas/old.md")
        hits = await ask(store, index, 1, 0, 0, limit=3)

        assert ["x", "xy"] == [hit.text for hit in hits[:2]]
        assert 3 == len(hits)

    async def test_not_embedded(self, store: Store, index: Index) -> None:
        """What has no vector yet is not found and harms nothing."""
        await store.says(HERE, "x", "xy", "y", "no vector")

        assert 4 == len(await ask(store, index, 1, 0, 0))

    async def test_index_far_behind(
        self, store: Store, index: Index, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An index that is too far behind is not asked at all."""
        monkeypatch.setattr(search, "EXACT_LIMIT", 0)
        await store.says(HERE, "x", "xy", "y", "new")
        hits = await ask(store, index, 1, 0, 0)

        assert [] == index.asked
        assert 5 == len(hits)


class TestFiltered:
    async def test_project(self, store: Store, index: Index) -> None:
        """A project's question sees what that project says, its own place first, exactly."""
        hits = await ask(store, index, 1, 0, 0, project_id=HARBOR.id)

        assert ["x", "z"] == [hit.text for hit in hits]
        assert ("harbor", THERE) == (hits[0].project, hits[0].path)
        assert [] == index.asked

    async def test_unknown_project(self, store: Store, index: Index) -> None:
        """A project that says nothing has no answers."""
        assert [] == await ask(store, index, 1, 0, 0, project_id="prj_none")

    async def test_empty_ledger(self, store: Store) -> None:
        """A ledger that knows nothing answers nothing."""
        assert [] == await ask(store, Index(), 1, 0, 0)
