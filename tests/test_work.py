"""The verbs about work: what is asked for is done, and the audit says what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import BadInput, NotFound, UnknownProject
from cortex_actors.testing import settled
from tests.flow.support import copied, follow, grown

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


class TestWork:
    async def test_is_done_and_told(self, tmp_home: Path, tmp_path: Path) -> None:
        """What was read, weighed and distilled is in the audit, by kind, project and outcome."""
        async with grown(tmp_home) as tree:
            cortex = tree.cortex
            await follow(tree, *copied(tmp_path, "atlas-api"))
            for ask in (cortex.reconcile, cortex.organise):
                await ask()
            await cortex.reconcile(full=True)
            await settled(tree)
            all_of_them = await cortex.runs(limit=1_000)
            read = await cortex.runs(kind="accumulator", project="atlas-api")
            failed = await cortex.runs(failed=True)

            assert {"accumulator", "reconciler", "organiser"} <= set(all_of_them["kinds"])
            assert {"atlas-api"} == {run["project"] for run in read["runs"]}
            assert [] == failed["runs"]
            ids = [run["id"] for run in all_of_them["runs"]]
            assert sorted(ids, reverse=True) == ids
            with pytest.raises(NotFound, match="no run of tea; there are runs of accumulator"):
                await cortex.runs(kind="tea")
            with pytest.raises(BadInput, match="ask for 1 or more"):
                await cortex.runs(limit=0)
            with pytest.raises(UnknownProject):
                await cortex.runs(project="/nowhere")

    async def test_rescan(self, tmp_home: Path, tmp_path: Path) -> None:
        """A hook's folder means the project that holds it and those below it, and no other."""
        roots = copied(tmp_path, "atlas-api", "harbor-web")
        (roots[0] / "src").mkdir()
        async with grown(tmp_home) as tree:
            for root in roots:
                await tree.cortex.add_project(str(root))
            found = [
                (await tree.cortex.rescan(str(each)))["projects"]
                for each in (tmp_path, roots[0], roots[0] / "src", tmp_home)
            ]
            with pytest.raises(BadInput, match="give an absolute path"):
                await tree.cortex.rescan("/a\udcff")

        assert [["atlas-api", "harbor-web"], ["atlas-api"], ["atlas-api"], []] == found


class TestSchedule:
    async def test_through_the_tree(self, tmp_home: Path) -> None:
        """The table of jobs is there at once, and one of them is done when somebody asks."""
        async with grown(tmp_home) as tree:
            done = await tree.cortex.run_job("backup")
            jobs = {job["name"]: job for job in (await tree.cortex.schedule())["jobs"]}
            with pytest.raises(NotFound, match="no job is called so"):
                await tree.cortex.run_job("tea")

        assert done["said"].startswith("cortex-")
        assert "done" == jobs["backup"]["state"]
        assert 0 < jobs["scan"]["due_in_s"] <= 87_000
