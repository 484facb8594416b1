"""Linking follows the ledger: what changed there is drawn, and nothing is drawn twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.principle import LinkType
from cortex_actors.pipeline.relations import Linked, Linker
from cortex_actors.runtime.threads import Threads
from cortex_actors.sections import OrganisationSettings
from cortex_actors.storage import embeddings
from cortex_actors.storage.pipeline import contradictions, principles
from cortex_actors.storage.pipeline.contradictions import Contradiction
from cortex_actors.testing import EPOCH
from cortex_actors.text import lexicon
from tests.storage.distilled import principle
from tests.storage.linked import linked, named
from tests.storage.support import MODEL, id_of, opened, unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from cortex_actors.storage.ledger.actor import Connection
    from tests.storage.support import Store

RUFF = "Lint the code with ruff."
STYLE = "Keep lines short and names long."
WIDTH = "Lines have to be short, so that they are read at a glance."


class Desk:
    """A linker beside a real ledger."""

    def __init__(self, store: Store, threads: Threads) -> None:
        """Begin with the settings as they are."""
        self.store = store
        self._threads = threads

    def linker(self, model: str = MODEL, **settings: float) -> Linker:
        """Return a linker."""
        chosen = OrganisationSettings.model_validate(settings)
        return Linker(self.store.records, self._threads, model=model, settings=chosen)

    async def embed(self, **vectors: Sequence[float]) -> None:
        """Let texts have vectors."""
        found = {principle(text).text_hash: unit(*vector) for text, vector in vectors.items()}
        await self.store.write(lambda c: embeddings.keep_vectors(c, MODEL, found))

    async def make(self, *texts: str) -> None:
        """Write principles."""
        await self.store.write(lambda c: principles.add(c, list(map(principle, texts))))

    async def draw(self, linker: Linker | None = None) -> Linked:
        """Draw what is due, and write it."""
        found = await (linker or self.linker()).find()
        await self.store.write(lambda c: found.write(c, at=EPOCH))
        return found

    async def types(self) -> list[str]:
        """Return the types of all links."""
        return [kind for _, _, kind in await linked(self.store)]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Give a ledger with three principles of which two are near each other."""
    threads = Threads("linking", 1)
    async with opened(tmp_path) as store:
        made = Desk(store, threads)
        await made.embed(**{STYLE: (1, 0, 0), WIDTH: (1, 0.5, 0), RUFF: (0, 0, 1)})
        await made.make(RUFF, STYLE, WIDTH)
        yield made
    threads.close()


class TestDue:
    async def test_once(self, desk: Desk) -> None:
        """Principles are linked when they are new, and looked at no more while nothing changes."""
        first, second = await desk.draw(), await desk.draw()

        assert ["reinforces"] == await desk.types()
        found = (len(first.digests), len(first.found), len(first.gone))
        assert (3, 1, 0) == found
        assert Linked() == second

    async def test_before_they_are_written(self, desk: Desk) -> None:
        """What is about to be written, with its vector, is linked in the same transaction."""
        await desk.draw()
        new = principle("Break lines before 100 characters.")
        found = await desk.linker().find([new], rows={new.text_hash: unit(1, 0.4, 0)})

        def work(connection: Connection) -> set[str]:
            principles.add(connection, [new])
            return found.write(connection, at=EPOCH)

        touched = await desk.store.write(work)

        assert {new.id, named(STYLE), named(WIDTH)} == touched
        assert 3 == len(await linked(desk.store))

    async def test_late_vector(self, desk: Desk) -> None:
        """What had no vector is linked when it has one, whoever stored it."""
        await desk.make("Wrap long lines.")
        await desk.draw()
        await desk.embed(**{"Wrap long lines.": (1, 0.1, 0)})
        await desk.draw()

        assert 3 == len(await linked(desk.store))

    async def test_other_ways(self, desk: Desk) -> None:
        """Other thresholds, another model, other rules: everything is drawn anew."""
        await desk.draw()
        strict = await desk.draw(desk.linker(link_close=0.95, link_reinforces=0.95))
        gone = await desk.types()
        other = await desk.draw(desk.linker(model="other/3"))
        tables = lexicon.load_extended('[cues]\nagainst = ["jamais-vu"]\n')
        ruled = await desk.linker(model="other/3").find(lexicon=tables)

        assert [] == gone
        assert [3, 3, 3] == [len(each.digests) for each in (strict, other, ruled)]

    async def test_gone(self, desk: Desk) -> None:
        """Who loses a neighbour is linked anew in the same run, and due no more after it."""
        await desk.draw()
        found = await desk.linker().find(gone=[named(WIDTH)])

        def work(connection: Connection) -> None:
            principles.forget(connection, [named(WIDTH)])
            found.write(connection, at=EPOCH)

        await desk.store.write(work)

        assert [] == await linked(desk.store)
        assert {named(STYLE)} == found.digests.keys()
        assert Linked() == await desk.draw()

    async def test_lost_meanwhile(self, desk: Desk) -> None:
        """A principle that goes between the look and the write is linked with nobody."""
        found = await desk.linker().find()
        await desk.store.write(lambda c: principles.forget(c, [named(STYLE)]))
        await desk.store.write(lambda c: found.write(c, at=EPOCH))

        assert [] == await linked(desk.store)


class TestVerdicts:
    @pytest.mark.parametrize("status", ["dismissed", "resolved"])
    async def test_decided(self, desk: Desk, status: str) -> None:
        """Two of which a person said that both may hold are at peace as principles, too."""
        both = ("Always use tabs in code.", "Never use tabs in code.")
        await desk.store.says("/projects/atlas/CLAUDE.md", *both)
        await desk.embed(**dict(zip(both, [(0, 1, 0.2), (0, 1, 0.1)], strict=True)))
        await desk.make(*both)
        await desk.draw()
        before = await desk.types()
        await desk.store.write(lambda c: _decided(c, *map(id_of, both), status=status))
        await desk.draw()

        assert "contradicts" in before
        assert "contradicts" not in await desk.types()
        assert LinkType.REINFORCES in await desk.types()

    async def test_one_kept(self, desk: Desk) -> None:
        """Where a person decided for one of the two they go on contradicting each other."""
        both = ("Always use tabs in code.", "Never use tabs in code.")
        await desk.store.says("/projects/atlas/CLAUDE.md", *both)
        await desk.make(*both)
        keep = id_of(both[0])
        await desk.store.write(
            lambda c: _decided(c, *map(id_of, both), status="resolved", kept=keep)
        )
        await desk.draw()

        assert "contradicts" in await desk.types()


def _decided(
    connection: Connection, one: str, other: str, *, status: str, kept: str | None = None
) -> None:
    """Let a person decide a contradiction between two insights."""
    ends = sorted((one, other))
    pair = contradictions.make_id(*ends)
    row = Contradiction(
        pair, ends[0], ends[1], "direct", 0.9, "reconciler", "rules", "always, never", EPOCH
    )
    contradictions.replace(connection, [row], [])
    contradictions.decide(connection, pair, status=status, at=EPOCH, kept_id=kept)
