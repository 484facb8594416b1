"""The reconciler: what speaks for an insight decides how far it is believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import DAY, SECOND
from cortex_actors.domain.event import (
    AccumulationComplete,
    Payload,
    ReconciliationComplete,
    ReconciliationRequested,
)
from cortex_actors.domain.insight import hash_section, make_insight_id
from cortex_actors.domain.principle import Derivation
from cortex_actors.pipeline.reconciler import Reconciler
from cortex_actors.sections import ReconciliationSettings
from cortex_actors.storage.pipeline import insights, principles
from cortex_actors.storage.search.matrix import Neighbours, VectorMatrix
from cortex_actors.topics import (
    ACCUMULATION_COMPLETE,
    RECONCILIATION_COMPLETE,
    RECONCILIATION_REQUESTED,
)
from tests.pipeline.histories import rested
from tests.pipeline.support import MODEL, Office, finding
from tests.storage.promoted import make_principle

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.bus.consumer import Consumer
    from cortex_actors.domain.project import Project


TABS = make_insight_id(hash_section("Use tabs."))


def reconciler(office: Office) -> Consumer:
    """Return a reconciler with Cerno's thresholds."""
    settings = ReconciliationSettings()
    neighbours = Neighbours(VectorMatrix(MODEL, 64))
    return Reconciler(
        office.desk("reconciler"), office.records, settings=settings, neighbours=neighbours
    )


async def learn(office: Office, project: Project, *texts: str, revision: str = "r1") -> None:
    """Have one file of a project say those texts, in that revision."""
    path = f"{project.root}/CLAUDE.md"
    found = [finding(text, path, revision=revision) for text in texts]
    at = office.clock.now()
    await office.write(lambda c: insights.learn(c, found, project_id=project.id, path=path, at=at))


async def reconcile(office: Office) -> None:
    """Ask for a run and return once it is done."""
    office.clock.advance(1)
    await office.bus.publish(RECONCILIATION_REQUESTED, ReconciliationRequested(), source="test")
    await rested(office)


async def complete(office: Office, *ids: str) -> None:
    """Say that a file was read which says those insights differently, and wait for the run."""
    office.clock.advance(1)  # so that runs have an order
    done = AccumulationComplete("run_1", None, ids)
    await office.bus.publish(ACCUMULATION_COMPLETE, done, source="accumulator")
    await rested(office)


async def counts(office: Office) -> dict[str, int]:
    """Return what the newest run counted."""
    return dict((await office.runs("reconciler"))[0].counts)


def candidates(office: Office) -> list[tuple[str, ...]]:
    """Return the candidates that each run named."""
    payloads: list[Payload] = [
        event.payload for event in office.said if event.topic == RECONCILIATION_COMPLETE
    ]
    return [each.candidate_ids for each in payloads if isinstance(each, ReconciliationComplete)]


@pytest.fixture
async def other(office: Office, tmp_path: Path) -> Project:
    """Give a second project, with a reconciler at work."""
    await office.employ("reconciler", lambda: reconciler(office))
    return await office.follow(tmp_path / "harbor")


async def proved(office: Office, project: Project, other: Project) -> None:
    """Have two projects say one thing often enough, and let a week go by."""
    for revision in range(30):
        await learn(office, project, "Use tabs.", revision=f"r{revision}")
    await learn(office, other, "Use tabs.")
    office.clock.advance(7 * DAY / SECOND)


class TestWeighing:
    async def test_one_project(self, office: Office, project: Project, other: Project) -> None:
        """What one file says once is believed half."""
        await learn(office, project, "Use tabs.")
        await reconcile(office)

        assert [0.5] == [each.confidence for each in await office.insights()]

    async def test_two_projects(self, office: Office, project: Project, other: Project) -> None:
        """What a second project says too is believed a little more."""
        await learn(office, project, "Use tabs.", "Run pytest.")
        await learn(office, other, "Use tabs.")
        await reconcile(office)

        assert [0.5, 0.55] == [round(i.confidence, 9) for i in await office.insights()]

    async def test_stale(self, office: Office, project: Project, other: Project) -> None:
        """What nobody has confirmed for months is believed less."""
        await learn(office, project, "Use tabs.")
        office.clock.advance(100 * DAY / SECOND)
        await reconcile(office)

        assert [0.45] == [round(each.confidence, 9) for each in await office.insights()]

    async def test_again(self, office: Office, project: Project, other: Project) -> None:
        """A run that is repeated changes nothing: confidence never feeds on itself."""
        await proved(office, project, other)
        await reconcile(office)
        first = [each.confidence for each in await office.insights()]
        for _ in range(5):
            await reconcile(office)

        assert first == [each.confidence for each in await office.insights()]
        assert 0 == (await office.runs("reconciler"))[0].counts["changed"]

    async def test_withdrawn(self, office: Office, project: Project, other: Project) -> None:
        """What no file says any more is not weighed."""
        await learn(office, project, "Use tabs.")
        await learn(office, project, "Use spaces.", revision="r2")
        await reconcile(office)

        assert 1 == (await office.runs("reconciler"))[0].counts["insights"]


class TestWhatChanged:
    async def test_alone(self, office: Office, project: Project, other: Project) -> None:
        """After a file was read, only what it says differently is weighed."""
        await reconcile(office)
        await learn(office, project, "Use tabs.", "Run pytest.")
        await learn(office, other, "Use tabs.", "Run pytest.")
        await complete(office, TABS)

        assert {0.55, 0.5} == {round(each.confidence, 9) for each in await office.insights()}
        assert {"compared": 1, "insights": 1, "changed": 1}.items() <= (
            await counts(office)
        ).items()

    async def test_nothing(self, office: Office, project: Project, other: Project) -> None:
        """A file that says nothing new costs no look at what is known, and the run is said."""
        await learn(office, project, "Use tabs.")
        await learn(office, other, "Use tabs.")
        await complete(office)

        assert [0.5] == [each.confidence for each in await office.insights()]
        assert {"insights": 0} == await counts(office)
        assert [()] == candidates(office)

    async def test_candidate(self, office: Office, project: Project, other: Project) -> None:
        """What has earned it is named as soon as a file says it."""
        await proved(office, project, other)
        for n in range(2):
            await learn(office, await office.follow(office.home.root / f"more{n}"), "Use tabs.")
        await complete(office, TABS)

        assert [(TABS,)] == candidates(office)

    async def test_namesakes(self, office: Office, project: Project, other: Project) -> None:
        """Projects whose folders have one name are as many voices as there are folders."""
        for n in range(3):
            namesake = await office.follow(office.home.root / f"{n}" / "web")
            await learn(office, namesake, "Use tabs.")
        await complete(office, TABS)

        (insight,) = await office.insights()
        assert ("web", "web", "web") == insight.projects
        assert 0.6 == round(insight.confidence, 9)

    async def test_very_many(self, office: Office, project: Project, other: Project) -> None:
        """Thousands of insights are weighed as one is."""
        texts = [f"Rule {n}." for n in range(1_500)]
        await learn(office, project, *texts)
        await learn(office, other, *texts)
        await complete(office, *(make_insight_id(hash_section(text)) for text in texts))

        assert {0.55} == {round(each.confidence, 9) for each in await office.insights()}
        assert 1_500 == (await counts(office))["changed"]


class TestCandidates:
    async def test_earned(self, office: Office, project: Project, other: Project) -> None:
        """What two projects have said often enough for a week may become a principle."""
        await proved(office, project, other)
        # Half an observation's worth more is needed than two projects give.
        for n in range(2):
            namesake = await office.follow(office.home.root / f"more{n}")
            await learn(office, namesake, "Use tabs.")
        await reconcile(office)

        (insight,) = await office.insights()
        assert (insight.id,) == candidates(office)[-1]

    async def test_many(
        self,
        office: Office,
        project: Project,
        other: Project,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """More candidates than one event may name are named by several of one run."""
        monkeypatch.setattr("cortex_actors.pipeline.reconciler.NAMED", 1)
        texts = ("Use tabs.", "Run pytest.")
        for at in (project, other, *[await office.follow(office.home.root / n) for n in "ab"]):
            await learn(office, at, *texts)
        office.clock.advance(8 * DAY / SECOND)
        for revision in ("r2", "r3"):
            for at in (project, other):
                await learn(office, at, *texts, revision=revision)
        await reconcile(office)

        assert sorted((make_insight_id(hash_section(text)),) for text in texts) == candidates(
            office
        )
        assert 1 == len(await office.runs("reconciler"))

    async def test_too_young(self, office: Office, project: Project, other: Project) -> None:
        """What is younger than a week has to wait, however often it is said."""
        for n in range(5):
            namesake = await office.follow(office.home.root / f"more{n}")
            await learn(office, namesake, "Use tabs.")
        await reconcile(office)

        assert [()] == candidates(office)

    async def test_one_project_is_a_habit(
        self, office: Office, project: Project, other: Project
    ) -> None:
        """What only one project says is no candidate, however long it has said it."""
        for revision in range(100):
            await learn(office, project, "Use tabs.", revision=f"r{revision}")
        office.clock.advance(30 * DAY / SECOND)
        await reconcile(office)

        assert [()] == candidates(office)

    async def test_promoted(self, office: Office, project: Project, other: Project) -> None:
        """What is a principle already is no candidate again, but named: it may stand otherwise."""
        await proved(office, project, other)
        for n in range(2):
            namesake = await office.follow(office.home.root / f"more{n}")
            await learn(office, namesake, "Use tabs.")
        (insight,) = await office.insights()
        made = make_principle(insight, 0)
        of_it = [Derivation(made.id, insight.id, 1.0)]
        await office.write(lambda c: principles.add(c, [made]))
        await office.write(lambda c: principles.derive(c, of_it))
        await reconcile(office)

        assert [()] == candidates(office)
        (done,) = [each for each in office.said if each.topic == RECONCILIATION_COMPLETE]
        assert isinstance(done.payload, ReconciliationComplete)
        assert (TABS,) == done.payload.derived_ids


class TestRuns:
    async def test_nothing_known(self, office: Office, other: Project) -> None:
        """A run over nothing is said to be complete, too."""
        await reconcile(office)

        assert [()] == candidates(office)
        assert 1 == len(await office.runs("reconciler"))

    async def test_conflated(self, office: Office, project: Project) -> None:
        """Ten files that were read while nobody was there are one run."""
        for n in range(10):
            done = AccumulationComplete(f"run_{n}", project.id)
            await office.bus.publish(ACCUMULATION_COMPLETE, done, source="accumulator")
        await office.employ("reconciler", lambda: reconciler(office))
        await rested(office)

        assert 1 == len(await office.runs("reconciler"))
