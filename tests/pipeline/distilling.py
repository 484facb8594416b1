"""A ledger with statements of several projects, and an organiser at work on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select

from cortex_actors.domain.event import (
    Nothing,
    OrganisationComplete,
    Payload,
    ReconciliationComplete,
)
from cortex_actors.domain.project import Decision, Review
from cortex_actors.errors import EmbedderDown
from cortex_actors.pipeline.organiser import Organiser
from cortex_actors.sections import OrganisationSettings, ReconciliationSettings
from cortex_actors.storage.pipeline import principles, reviews
from cortex_actors.storage.tables.schema import principles as principle_rows
from cortex_actors.testing import eventually
from cortex_actors.topics import (
    ORGANISATION_COMPLETE,
    ORGANISATION_REQUESTED,
    RECONCILIATION_COMPLETE,
)
from tests.pipeline.histories import DIMENSION, MODEL, World, ids, unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from cortex_actors.domain.principle import Principle
    from cortex_actors.domain.project import Project
    from cortex_actors.storage.embeddings import Matrix
    from tests.pipeline.support import Office

#: What asks for two projects and for nothing else.
EASY = ReconciliationSettings(
    promotion_confidence=0.5, promotion_observations=2, promotion_age_days=0
)


class Writer:
    """A language model that says what it is told to say."""

    def __init__(self, says: str | None) -> None:
        self.says = says
        self.asked: list[list[str]] = []
        self.is_there = True

    async def synthesise(self, texts: Sequence[str], *, run: str = "") -> str | None:
        """Return the sentence, and remember what was asked in which run."""
        assert run
        self.asked.append(list(texts))
        return self.says


class Guild:
    """Projects, their statements, and the principles that are made of them."""

    def __init__(
        self, office: Office, folder: Path, settings: ReconciliationSettings = EASY
    ) -> None:
        self.office = office
        self.world = World(office, settings=settings)
        self.settings = settings
        self.projects: list[Project] = []
        self.writer: Writer | None = None
        self.embeds = True
        self._folder = folder

    async def open(self, count: int = 3) -> None:
        """Follow some projects and have the organiser at work."""
        names = ("atlas", "harbor", "mill", "quarry", "tower")[:count]
        self.projects = [await self.office.follow(self._folder / name) for name in names]
        await self.office.employ("organiser", self.organiser)

    async def reopen(self) -> None:
        """Have another organiser at work, as after a change of what it is handed."""
        await self.office.dismiss("organiser")
        await self.office.employ("organiser", self.organiser)

    def organiser(self) -> Organiser:
        """Return an organiser that uses the planted vectors."""
        return Organiser(
            self.office.desk("organiser"),
            self.office.records,
            settings=OrganisationSettings(),
            promotion=self.settings,
            neighbours=self.world.neighbours,
            embed=self.embed,
            writer=self.writer,
        )

    async def embed(self, texts: Sequence[str], *, model: str | None = None) -> Matrix:
        """Return the planted vectors of texts; of an unknown one, a vector of its own."""
        assert MODEL == model
        if not self.embeds:
            raise EmbedderDown("no model")
        far = np.zeros(DIMENSION)
        far[-1] = 1.0
        return np.stack([self.world.vectors.get(each, unit(far)) for each in texts])

    def plant(self, *texts: str, cosine: float = 0.0, around: int = 0) -> None:
        """Give texts vectors of that cosine with a centre; around different ones they are far."""
        for each in texts:
            row = np.zeros(DIMENSION)
            row[around] = cosine
            row[5 + len(self.world.vectors) % (DIMENSION - 6)] = (1 - cosine**2) ** 0.5
            self.world.vectors[each] = unit(row)

    async def say(self, *texts: str, by: Sequence[int] = (0, 1), name: str = "CLAUDE.md") -> None:
        """Have a file of some projects say those texts and no other."""
        for number in by:
            await self.world.write(self.projects[number], name, texts)

    async def reconcile(self, *, weigh: bool = False) -> tuple[str, ...]:
        """Compare what changed; have the organiser follow; return what was named to it."""
        found = await self.world.reconcile(weigh=weigh)
        await self.name(*found.weighed.candidates, derived=tuple(found.derived))
        return found.weighed.candidates

    async def name(self, *candidates: str, derived: tuple[str, ...] = ()) -> None:
        """Name insights to the organiser and return once it has looked at them."""
        self.office.clock.advance(1)
        done = ReconciliationComplete("run_1", candidates, derived)
        await self.office.bus.publish(RECONCILIATION_COMPLETE, done, source="reconciler")
        await self.rested()

    async def everything(self) -> None:
        """Ask for a look at everything and return once it is done."""
        self.office.clock.advance(1)
        await self.office.bus.publish(ORGANISATION_REQUESTED, Nothing(), source="test")
        await self.rested()

    async def rested(self) -> None:
        """Return once the organiser has handled everything: it rests between, so time goes by."""

        async def nothing() -> bool:
            self.office.clock.advance(0.1)
            return 0 == await self.office.waiting("organiser")

        await eventually(nothing, within=20)
        await self.office.handled("organiser")

    async def change(self, statement: str, *values: str) -> None:
        """Change rows past everybody."""

        def unit_(connection: Connection) -> None:
            connection.exec_driver_sql(statement, values)

        await self.office.write(unit_)

    async def decide(self, text: str, decision: Decision) -> None:
        """Have a person approve or reject a text."""
        review = Review(ids(text)[0], decision, self.office.clock.now())
        await self.office.write(lambda c: reviews.decide(c, review))

    async def principles(self) -> dict[str, Principle]:
        """Return the principles by what they say."""
        found = await self.office.read(
            lambda c: principles.load_principles(c, principles.list_ids(c))
        )
        return {each.content: each for each in found.values()}

    async def given(self) -> list[str]:
        """Return what projects may be given, best first."""
        found, rows = await self.office.read(lambda c: principles.load_given(c, MODEL))
        assert len(found) == len(rows)
        return [each.content for each in found]

    async def made_of(self, text: str) -> dict[str, float]:
        """Return the insights that a principle comes of, with what it owes to each."""
        name = (await self.principles())[text].id
        owed = (await self.office.read(lambda c: principles.load_derivations(c, [name]))).get(
            name, []
        )
        return {each.insight_id: each.weight for each in owed}

    async def counts(self) -> dict[str, int]:
        """Return what the newest run counted."""
        return dict((await self.office.runs("organiser"))[0].counts)

    def changed(self) -> list[tuple[str, ...]]:
        """Return what each run said has changed."""
        payloads: list[Payload] = [
            event.payload for event in self.office.said if event.topic == ORGANISATION_COMPLETE
        ]
        return [each.changed_ids for each in payloads if isinstance(each, OrganisationComplete)]

    async def state(self) -> dict[str, Any]:
        """Return everything that the organiser decides, but when it was decided."""

        def look(connection: Connection) -> dict[str, Any]:
            rows = connection.execute(select(principle_rows)).all()
            owed = principles.load_derivations(connection, [row.id for row in rows])
            return {
                row.id: (
                    *(row.content, row.elaboration, row.category, tuple(row.tags)),
                    *(tuple(row.domains), round(row.confidence, 9), round(row.quality, 9)),
                    *(round(row.rank, 9), row.status, row.origin),
                    tuple((o.insight_id, round(o.weight, 9)) for o in owed.get(row.id, ())),
                )
                for row in rows
            }

        return await self.office.read(look)
