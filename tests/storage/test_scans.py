"""Scans: a look at a project observes all that it says, and writes none of it."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import DAY
from cortex_actors.pipeline.evidence import gather_evidence
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline import contradictions, insight_evidence
from cortex_actors.testing import EPOCH
from tests.storage.support import ATLAS, HARBOR, active, id_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from cortex_actors.domain.insight import Insight
    from tests.storage.support import Store

HERE, NESTED = "/projects/atlas/CLAUDE.md", "/projects/atlas/docs/CLAUDE.md"
THERE = "/projects/harbor/CLAUDE.md"


async def scan(store: Store, *days: int, project: str = ATLAS.id) -> None:
    """Note that a project was looked at on those days."""
    for day in days:
        await store.write(
            partial(projects.note_scanned, project_ids=[project], at=EPOCH + day * DAY + 7)
        )


async def known(store: Store, content: str = "use ruff") -> Insight:
    """Return an insight as it is counted now."""
    (found,) = [each for each in await store.read(active) if each.content == content]
    return found


class TestObserved:
    async def test_days(self, store: Store) -> None:
        """Each day of a scan since the text is said is one observation, whatever was edited."""
        await store.says(HERE, "use ruff", "old", revision="1")
        await scan(store, 0, 0, 1, 2, 4)
        await store.says(HERE, "use ruff", "new", at=EPOCH + 2 * DAY, revision="2")

        found = await known(store)
        assert (4, EPOCH + 4 * DAY + 7) == (found.observation_count, found.last_seen)
        assert 2 == (await known(store, "new")).observation_count
        assert EPOCH == found.first_seen

    async def test_writes_nothing(self, store: Store) -> None:
        """A scan that finds nothing changed is one row, however much the project says."""
        await store.says(HERE, *map(str, range(50)))

        def changes(connection: Connection) -> int:
            before = connection.exec_driver_sql("SELECT total_changes()").scalar_one()
            for _ in range(2):
                projects.note_scanned(connection, [ATLAS.id], at=EPOCH + DAY)
            now = connection.exec_driver_sql("SELECT total_changes()").scalar_one()
            return int(now) - int(before)

        assert 1 == await store.write(changes)

    async def test_gone_for_a_time(self, store: Store) -> None:
        """Scans of days on which a project did not say it are no observations of it."""
        await store.says(HERE, "use ruff", revision="1")
        await scan(store, 0, 1)
        await store.says(HERE, "other", at=EPOCH + 2 * DAY, revision="2")
        await scan(store, 2, 3, 4)
        await store.says(HERE, "use ruff", at=EPOCH + 5 * DAY, revision="3")
        await scan(store, 5, 6)

        # Days 0 (a revision), 5 and 6; the first spell's scans ended with it.
        assert 3 == (await known(store)).observation_count

    async def test_moved(self, store: Store) -> None:
        """A text that another file of the project says as well goes on without a break."""
        await store.says(HERE, "use ruff", revision="1")
        await store.says(NESTED, "use ruff", at=EPOCH + DAY, revision="1")
        await store.says(HERE, "other", at=EPOCH + 2 * DAY, revision="2")
        await scan(store, 0, 1, 2, 3)

        assert 4 == (await known(store)).observation_count

    async def test_projects(self, store: Store) -> None:
        """Two projects that say it are observed each by its own scans."""
        await store.says(HERE, "use ruff")
        await store.says(THERE, "use ruff", project=HARBOR)
        await scan(store, 0, 1, 2)
        await scan(store, 1, project=HARBOR.id)

        assert 5 == (await known(store)).observation_count


@pytest.mark.parametrize("seed", range(6))
async def test_two_ways(store: Store, seed: int) -> None:
    """What is counted in SQL is what weighing counts of the texts that it holds."""
    dice = random.Random(seed)
    for added in (ATLAS, HARBOR):
        await store.write(partial(projects.add, project=added))
    for day in range(12):
        for path, project in ((HERE, ATLAS), (NESTED, ATLAS), (THERE, HARBOR)):
            if dice.random() < 0.5:
                said = [text for text in ("a", "b", "c") if dice.random() < 0.6]
                at = EPOCH + day * DAY + dice.randrange(DAY)
                await store.says(path, *said, project=project, at=at, revision=str(day))
            if dice.random() < 0.5:
                await scan(store, day, project=project.id)

    ids = [id_of(text) for text in ("a", "b", "c")]
    texts = await store.read(lambda c: insight_evidence.load_texts(c, ids))
    for each in await store.read(active):
        found = gather_evidence([texts[each.id]], contradicted=False)
        assert (found.observations, found.last_seen) == (each.observation_count, each.last_seen)


class TestDiffering:
    async def test_between_projects(self, store: Store) -> None:
        """Another project that chooses differently counts, until it is followed no longer."""
        await store.says(HERE, "use ruff")
        await store.says(THERE, "use pylint", project=HARBOR)
        one, other = sorted((id_of("use ruff"), id_of("use pylint")))
        found = contradictions.Contradiction(
            contradictions.make_id(one, other),
            one,
            other,
            "contextual",
            0.7,
            "me",
            "rules",
            "why",
            1,
        )
        await store.write(lambda c: contradictions.replace(c, [found], []))
        asked = partial(contradictions.count_differing, ids=[one, other])

        assert {one: 1, other: 1} == await store.read(asked)
        await store.says(HERE, "use ruff", "use pylint", revision="2")
        assert {id_of("use ruff"): 1} == await store.read(asked)
        await store.write(lambda c: projects.remove(c, HARBOR.id))
        assert {} == await store.read(asked)
