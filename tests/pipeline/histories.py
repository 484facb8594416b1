"""Random histories of instruction files, reconciled change by change."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select

from cortex_actors.domain.insight import Granularity, InsightSource, hash_statement, make_insight_id
from cortex_actors.pipeline.promotion import Tools
from cortex_actors.pipeline.reconciler import Comparing
from cortex_actors.pipeline.relations import Ruling
from cortex_actors.runtime.threads import Threads
from cortex_actors.sections import ReconciliationSettings
from cortex_actors.storage import embeddings
from cortex_actors.storage.pipeline import contradictions, insights
from cortex_actors.storage.pipeline.insights import Finding
from cortex_actors.storage.search.matrix import Neighbours, VectorMatrix
from cortex_actors.storage.tables.schema import cluster_insights, clusters, insight_slots
from cortex_actors.storage.tables.schema import contradictions as contradiction_rows
from cortex_actors.storage.tables.schema import insights as insight_rows
from cortex_actors.testing import eventually

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from cortex_actors.domain.project import Project
    from cortex_actors.pipeline.reconciliation import Reconciliation
    from tests.pipeline.support import Office

#: Numbers of a vector: few, so that random ones are near each other as often as real ones.
DIMENSION = 24

#: The model whose vectors they are said to be.
MODEL = "planted"

#: What statements speak of, and how.
TOPICS = (
    *("tabs for indentation", "pnpm", "the staging database", "type hints", "force push"),
    *("feature flags", "squash merges", "the old cache", "global state", "snapshot tests"),
)
FORMS = (
    "Use {}.",
    "Always use {}.",
    "Never use {}.",
    "Do not use {} here.",
    "Prefer {} where you can.",
    "We like {} in old modules.",
    "We like {} in old modules, reviewers thank us.",
    "Avoid {} in new code.",
)


def statements() -> list[str]:
    """Return every statement that files may say."""
    return [form.format(topic) for topic in TOPICS for form in FORMS]


def said(text: str, path: str, *, revision: str, heading: str = "", ordinal: int = 0) -> Finding:
    """Return a statement as the accumulator hands it to the ledger."""
    digest = hash_statement(text)
    source = InsightSource(
        insight_id=make_insight_id(digest),
        fragment_id=hashlib.sha256(f"{path}{heading}{revision}".encode()).hexdigest(),
        path=path,
        project="",
        heading=heading or None,
        line_start=ordinal + 1,
        line_end=ordinal + 1,
        file_hash=revision,
        ordinal=ordinal,
    )
    return Finding(
        insight_id=source.insight_id,
        content=text,
        content_hash=digest,
        category="fact",
        tags=(),
        domain=None,
        text_hash=hashlib.sha256(text.encode()).digest(),
        source=source,
        granularity=Granularity.STATEMENT,
    )


def placed(found: Finding, scope: str) -> Finding:
    """Return a statement as one that holds in a part of its project."""
    return replace(found, source=replace(found.source, scope=scope))


def ids(*texts: str) -> list[str]:
    """Return the insights whose texts those are."""
    return [make_insight_id(hash_statement(text)) for text in texts]


@dataclass
class World:
    """Projects whose files say statements, a ledger, and what reconciles it."""

    office: Office
    vectors: dict[str, np.ndarray[Any, np.dtype[np.float32]]] = field(default_factory=dict)
    settings: ReconciliationSettings = field(default_factory=ReconciliationSettings)
    judge: Any = None

    def __post_init__(self) -> None:
        self.threads = Threads("world", 1)
        self.neighbours = Neighbours(VectorMatrix(MODEL, 64))
        self.said: dict[str, list[str]] = {}
        self.changed: set[str] = set()
        self.runs = 0

    def close(self) -> None:
        """End its thread."""
        self.threads.close()

    def plant(self, dice: random.Random) -> None:
        """Give every statement a vector: near those of its topic, sometimes very near."""
        rows = np.random.default_rng(dice.getrandbits(32))
        for topic in TOPICS:
            centre = rows.normal(size=DIMENSION)
            for form in FORMS:
                off = rows.normal(size=DIMENSION) * dice.choice((0.05, 0.2, 0.4, 0.7, 1.2))
                self.vectors[form.format(topic)] = unit(centre + off)

    async def write(
        self,
        project: Project,
        name: str,
        texts: Sequence[str],
        *,
        embedded: bool = True,
        places: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Have a file say those texts from now on; what is not embedded gets no vector yet.

        `places` are their headings and scopes. As for the accumulator, whatever a file says has
        changed when the file has: it may stand elsewhere.
        """
        path = str(Path(project.root, name))
        self.said[path] = list(texts)
        given = list(places) or [("", "")] * len(texts)
        revision = hashlib.sha256("|".join([*texts, *map(str, given)]).encode()).hexdigest()[:12]
        found = [
            placed(said(each, path, revision=revision, heading=heading, ordinal=n), scope)
            for n, (each, (heading, scope)) in enumerate(zip(texts, given, strict=True))
        ]
        self.office.clock.advance(1)
        at = self.office.clock.now()

        def unit_(connection: Connection) -> Sequence[str]:
            changed = insights.compare_file(connection, path, project.id, found)
            insights.learn(connection, found, project_id=project.id, path=path, at=at)
            if embedded:
                self.embed(connection, texts)
            return [*changed, *(each.insight_id for each in found)]

        self.changed.update(await self.office.write(unit_))

    async def vanish(self, project: Project, name: str) -> None:
        """Have a file be gone."""
        path = str(Path(project.root, name))
        self.said.pop(path, None)
        at = self.office.clock.now()
        self.changed.update(await self.office.write(lambda c: insights.silence(c, path, at)))

    def embed(self, connection: Connection, texts: Sequence[str]) -> None:
        """Store the vectors of texts."""
        rows = {hashlib.sha256(each.encode()).digest(): self.vectors[each] for each in texts}
        embeddings.keep_vectors(connection, MODEL, rows)

    async def reconcile(self, *, full: bool = False, weigh: bool = False) -> Reconciliation:
        """Compare what changed since the last time, or everything, and write what follows."""
        found = await self.look(full=full, weigh=weigh)
        await self.office.write(found.write)
        return found

    async def look(self, *, full: bool = False, weigh: bool = False) -> Reconciliation:
        """Compare what changed since the last time, or everything."""
        self.runs += 1
        comparing = Comparing(
            Tools(self.office.records, self.neighbours, self.threads, self.judge),
            Ruling(self.settings, MODEL),
            name="reconciler",
            run=f"run_{self.runs}",
            at=self.office.clock.now(),
        )
        changed, self.changed = sorted(self.changed), set()
        return await comparing.compare(changed, full=full, weigh=weigh)

    async def decide(self, dice: random.Random) -> None:
        """Have a person decide one of the open contradictions, if there is one.

        As after an operation that decides, the two are compared again by the next run.
        """
        found = await self.office.read(
            lambda c: contradictions.list_contradictions(c, status="unresolved")
        )
        if not found:
            return
        one = dice.choice(sorted(found, key=lambda each: each.id))
        how = dice.choice(("resolved", "dismissed"))
        kept = dice.choice((None, *one.pair)) if how == "resolved" else None
        at = self.office.clock.now()
        await self.office.write(
            lambda c: contradictions.decide(c, one.id, status=how, kept_id=kept, at=at)
        )
        self.changed.update(one.pair)

    async def state(self) -> dict[str, Any]:
        """Return everything that reconciling decides."""
        return await self.office.read(_state)


async def rested(office: Office) -> None:
    """Return once the reconciler has handled everything: it rests between, so time goes by."""

    async def nothing() -> bool:
        office.clock.advance(0.1)
        return 0 == await office.waiting("reconciler")

    await eventually(nothing, within=20)
    await office.handled("reconciler")


def unit(row: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return a row with length 1."""
    return (row / np.linalg.norm(row)).astype(np.float32)


def _state(connection: Connection) -> dict[str, Any]:
    """Return everything that reconciling decides, without the times at which it was found."""
    rows = connection.execute(select(insight_rows)).all()
    found = sorted(contradictions.list_contradictions(connection), key=lambda each: each.id)
    named = connection.execute(select(clusters)).all()
    return {
        "stands": {row.id: (row.status, row.superseded_by) for row in rows},
        "believed": {row.id: round(row.confidence, 9) for row in rows if row.status in SEEN},
        "contradictions": [replace(each, detected_at=0) for each in found],
        "clusters": {row.id: (row.medoid_id, row.model, round(row.coherence, 9)) for row in named},
        "members": sorted(map(tuple, connection.execute(select(cluster_insights)).all())),
        "slots": sorted(map(tuple, connection.execute(select(insight_slots)).all())),
        "decided": connection.execute(
            select(contradiction_rows.c.id).where(contradiction_rows.c.status != "unresolved")
        )
        .scalars()
        .all(),
    }


#: Statuses of insights that are weighed.
SEEN = ("active", "contradicted")
