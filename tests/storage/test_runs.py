from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.storage import projects
from cortex_actors.storage.projects import PipelineRun

if TYPE_CHECKING:
    from tests.storage.support import Store


class TestRuns:
    async def test_round_trip(self, store: Store) -> None:
        """A run comes back as it was written."""
        run = PipelineRun(
            "run_1", "accumulator", 1, 2, "failed", "prj_1", "/a", {"fragments": 3}, "why"
        )
        await store.write(lambda c: projects.record(c, run))

        assert [run] == await store.read(lambda c: projects.list_latest(c, "accumulator"))

    async def test_latest(self, store: Store) -> None:
        """An actor's newest runs come first, up to the limit, and nobody else's."""
        for number, kind in enumerate(["a", "a", "b", "a"]):
            run = PipelineRun(f"run_{number}", kind, 0, number)
            await store.write(partial(projects.record, run=run))
        found = await store.read(lambda c: projects.list_latest(c, "a", 2))

        assert ["run_3", "run_1"] == [run.id for run in found]

    async def test_twice(self, store: Store) -> None:
        """A run is written once: a second transaction with its id is undone."""
        run = PipelineRun("run_1", "a", 0, 1)
        await store.write(lambda c: projects.record(c, run))
        with pytest.raises(Exception, match="UNIQUE"):
            await store.write(lambda c: projects.record(c, run))
