from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.api import shapes
from cortex_actors.clock import DAY
from cortex_actors.domain.project import Project
from cortex_actors.errors import LedgerDown
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline import insights
from cortex_actors.storage.pipeline.insight_lists import InsightFilter, list_insights
from cortex_actors.testing import EPOCH
from tests.storage import support
from tests.storage.support import ATLAS, HARBOR, findings, id_of

if TYPE_CHECKING:
    from cortex_actors.domain.insight import Insight, InsightSource
    from tests.storage.support import Store

HERE = "/projects/atlas/CLAUDE.md"
THERE = "/projects/harbor/CLAUDE.md"


async def active(store: Store, project: Project | None = None) -> dict[str, Insight]:
    """Return active insights by content."""
    project_id = project.id if project else None
    found = await store.read(lambda c: support.active(c, project_id=project_id))
    return {each.content: each for each in found}


async def places(store: Store, content: str, first: str | None = None) -> list[InsightSource]:
    """Return where something is said."""
    found = await store.read(lambda c: insights.load_sources(c, [id_of(content)], first=first))
    return found.get(id_of(content), [])


class TestLearn:
    async def test_new(self, store: Store) -> None:
        """What a file says for the first time is an active insight with its place."""
        changed = await store.says(HERE, "use ruff", "run make test")
        found = await active(store)
        (place,) = await places(store, "run make test")

        assert sorted([id_of("use ruff"), id_of("run make test")]) == changed
        assert {"use ruff", "run make test"} == found.keys()
        assert (HERE, "atlas", 4, 6) == (
            place.path,
            place.project,
            place.line_start,
            place.line_end,
        )
        assert (1, ("atlas",), 0.5) == (
            found["use ruff"].observation_count,
            found["use ruff"].projects,
            found["use ruff"].confidence,
        )

    async def test_replay(self, store: Store) -> None:
        """Reading the same revision again changes nothing and inflates no count."""
        await store.says(HERE, "use ruff")
        before = await active(store)
        changed = [await store.says(HERE, "use ruff") for _ in range(3)]

        assert [[], [], []] == changed
        assert before == await active(store)

    async def test_revision(self, store: Store) -> None:
        """Each day on which a new revision of a file says it is one observation."""
        for day, revision in ((0, "1"), (0, "2"), (1, "3"), (2, "3"), (3, "4")):
            await store.says(HERE, "use ruff", at=EPOCH + day * DAY, revision=revision)

        assert 3 == (await active(store))["use ruff"].observation_count

    async def test_moved(self, store: Store) -> None:
        """A section that moved within its file is the same source at other lines."""
        await store.says(HERE, "use ruff", "new")
        changed = await store.says(HERE, "new", "use ruff")
        (place,) = await places(store, "use ruff")

        assert [] == changed
        assert (4, 6) == (place.line_start, place.line_end)

    async def test_seen_again(self, store: Store) -> None:
        """When it was last seen moves on with each new revision, and never back."""
        for at, revision in ((10, "a"), (30, "b"), (20, "c"), (40, "b")):
            await store.says(HERE, "use ruff", at=EPOCH + at, revision=revision)
        found = (await active(store))["use ruff"]

        assert (EPOCH + 10, EPOCH + 30) == (found.first_seen, found.last_seen)

    async def test_failing_half_way(self, store: Store) -> None:
        """A file is taken in as a whole or not at all."""
        await store.says(HERE)
        good, bad = findings(HERE, ["a", "b"], ATLAS)
        object.__setattr__(bad, "category", None)
        with pytest.raises(Exception, match="NOT NULL"):
            await store.write(
                lambda c: insights.learn(c, [good, bad], project_id=ATLAS.id, path=HERE, at=1)
            )

        assert {} == await active(store)

    async def test_unknown_project(self, store: Store) -> None:
        """A source belongs to a project that exists."""
        one = findings(HERE, ["a"], ATLAS)
        with pytest.raises(Exception, match="FOREIGN KEY"):
            await store.write(
                lambda c: insights.learn(c, one, project_id="prj_none", path=HERE, at=1)
            )

    async def test_of_another_project(self, store: Store) -> None:
        """A file that has come to belong to an inner project is that project's."""
        await store.says(HERE, "use ruff")
        await store.says(HERE, "use ruff", project=HARBOR)

        assert {} == await active(store, ATLAS)
        assert ("harbor",) == (await active(store, HARBOR))["use ruff"].projects

    async def test_moved_to_another_project(self, store: Store) -> None:
        """What a file said in another project's name has changed."""
        await store.says(HERE, "use ruff", "b")

        assert sorted([id_of("use ruff"), id_of("b")]) == await store.says(
            HERE, "use ruff", "b", project=HARBOR
        )
        assert [] == await store.says(HERE, "use ruff", "b", project=HARBOR)


class TestWithdraw:
    async def test_edited(self, store: Store) -> None:
        """What a file no longer says is withdrawn, and its words stay in the ledger."""
        await store.says(HERE, "use ruff", "use black")
        changed = await store.says(HERE, "use ruff")
        rows = await store.rows("SELECT content, status FROM insights ORDER BY content")

        assert [id_of("use black")] == changed
        assert {"use ruff"} == (await active(store)).keys()
        assert [("use black", "withdrawn"), ("use ruff", "active")] == rows
        assert [] == await places(store, "use black")

    async def test_vanished(self, store: Store) -> None:
        """A file that is gone says nothing any more."""
        await store.says(HERE, "use ruff", "use black")
        changed = await store.write(lambda c: insights.silence(c, HERE, EPOCH))
        again = await store.write(lambda c: insights.silence(c, HERE, EPOCH))

        assert sorted([id_of("use ruff"), id_of("use black")]) == changed
        assert [] == again
        assert 0 == await store.read(insights.count)

    async def test_said_again(self, store: Store) -> None:
        """What is said again is active again, with what was observed before."""
        await store.says(HERE, "use ruff", revision="1")
        await store.says(HERE, revision="2")
        changed = await store.says(HERE, "use ruff", at=EPOCH + DAY, revision="3")

        assert [id_of("use ruff")] == changed
        assert 2 == (await active(store))["use ruff"].observation_count

    async def test_one_of_two(self, store: Store) -> None:
        """What two projects say stays while one of them says it."""
        await store.says(HERE, "use ruff")
        await store.says(THERE, "use ruff", project=HARBOR)
        both = (await active(store))["use ruff"]
        await store.says(HERE)
        one = (await active(store))["use ruff"]

        assert (("atlas", "harbor"), 2) == (both.projects, both.observation_count)
        assert (("harbor",), 1) == (one.projects, one.observation_count)
        assert {} == await active(store, ATLAS)


class TestQueries:
    async def test_most_believed_first(self, store: Store) -> None:
        """The most believed insight leads, whatever was learned first, up to the limit."""
        await store.says(HERE, "a", "b", "c")
        weights = [(id_of("b"), 0.9), (id_of("c"), 0.7)]
        await store.write(lambda c: insights.weigh(c, weights))
        found = await store.read(lambda c: list_insights(c, InsightFilter(limit=2)))

        assert ["b", "c"] == [each.content for each in found]

    async def test_confidence_is_a_share(self, store: Store) -> None:
        """A confidence beyond 1 is refused by the ledger itself."""
        await store.says(HERE, "a")
        with pytest.raises(Exception, match="confidence_is_a_share"):
            await store.write(lambda c: insights.weigh(c, [(id_of("a"), 1.1)]))

    async def test_counts(self, store: Store) -> None:
        """Each project is told how much it says now."""
        await store.says(HERE, "a", "b")
        await store.says(THERE, "a", project=HARBOR)
        await store.says(HERE, "a")
        found = await store.read(lambda c: (insights.count(c), insights.count_by_project(c)))

        assert (1, {ATLAS.id: 1, HARBOR.id: 1}) == found

    async def test_counts_of_what_stands(self, store: Store) -> None:
        """What waits for a person is counted nowhere, though files still say it."""
        await store.says(HERE, "a", "b")
        await store.write(
            lambda c: (
                c.exec_driver_sql(
                    "UPDATE insights SET status = 'pending_review' WHERE content = 'b'"
                ).rowcount
            )
        )
        found = await store.read(lambda c: (insights.count(c), insights.count_by_project(c)))
        totals = [
            (
                await store.read(
                    partial(shapes.list_insights, wanted=InsightFilter(project_id=each))
                )
            )["total"]
            for each in (None, ATLAS.id)
        ]

        assert (1, {ATLAS.id: 1}) == found
        assert [1, 1] == totals

    async def test_clock_jumps_back(self, store: Store) -> None:
        """A source that is looked up claims no revision: the clock does not know the newest."""
        await store.says(HERE, "a", revision="old", at=EPOCH + 10)
        await store.says(HERE, "a", revision="new", at=EPOCH)

        assert [""] == [place.file_hash for place in await places(store, "a")]

    async def test_own_place_first(self, store: Store) -> None:
        """Who asks from a project sees its own place first."""
        await store.says(HERE, "a")
        await store.says(THERE, "a", project=HARBOR)
        orders = [await places(store, "a", first) for first in (None, HARBOR.id)]

        assert [[HERE, THERE], [THERE, HERE]] == [[p.path for p in each] for each in orders]

    async def test_by_id(self, store: Store) -> None:
        """Only active insights are found by their ids."""
        await store.says(HERE, "a", "b")
        await store.says(HERE, "a")
        ids = [id_of("a"), id_of("b"), "ins_unknown"]

        assert [id_of("a")] == list(await store.read(lambda c: insights.load_live(c, ids)))

    @pytest.mark.parametrize("name", ["a,b", "/", "a/,b", " ", "ä,"])
    async def test_names_of_projects(self, store: Store, name: str) -> None:
        """A project's name may hold a comma, and two projects may share one."""
        project = Project("prj_odd", name if name != "a/,b" else "a\n,b", "/odd", EPOCH)
        await store.says("/odd/CLAUDE.md", "a", project=project)
        await store.says(HERE, "a")
        twin = Project("prj_twin", project.name, "/twin", EPOCH)
        await store.says("/twin/CLAUDE.md", "a", project=twin)

        names = sorted(("atlas", project.name, project.name))
        assert tuple(names) == (await active(store))["a"].projects


class TestNamesThatAreNotText:
    async def test_path(self, store: Store) -> None:
        """A file whose name is not UTF-8 is learned from, found again and forgotten as any."""
        root = b"/projects/caf\xe9".decode("utf-8", "surrogateescape")
        project, path = Project.from_root(root, EPOCH), f"{root}/CLAUDE.md"
        await store.says(path, "a", "b", project=project)
        await store.says(path, "a", project=project)
        (place,) = await places(store, "a")
        found = await active(store, project)
        followed = await store.read(projects.list_followed)
        await store.write(lambda c: insights.silence(c, path, EPOCH))

        assert path == place.path
        assert (project.name,) == found["a"].projects
        assert [project] == followed
        assert {} == await active(store)


class TestReadOnly:
    async def test_learn_needs_a_unit_of_work(self, store: Store) -> None:
        """A query cannot learn."""
        with pytest.raises(LedgerDown):
            await store.read(
                lambda c: insights.learn(
                    c, findings(HERE, ["a"], ATLAS), project_id=ATLAS.id, path=HERE, at=1
                )
            )
