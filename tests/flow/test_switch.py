"""Whole trees that change their embedding model: everybody is answered, and nothing is mixed."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.assembly.context import Outside
from cortex_actors.assembly.reload import MODEL
from cortex_actors.embedding.factory import HashingProvider
from cortex_actors.embedding.migrator import Migration
from cortex_actors.home import Home
from cortex_actors.storage import models
from cortex_actors.storage.index import pending
from cortex_actors.testing import eventually, settled
from tests.flow.support import copied, first, follow, grown, knows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.tree import Tree

QUESTION = "tests talk to a PostgreSQL of their own on port 5433"

pytestmark = pytest.mark.slow


@pytest.fixture
async def tree(tmp_path: Path, tmp_home: Path) -> AsyncIterator[Tree]:
    """Give a tree that knows a project."""
    roots = copied(tmp_path, "atlas-api")
    async with grown(tmp_home) as found:
        await follow(found, *roots)
        yield found


async def migrated(tree: Tree, to: str) -> None:
    """Migrate, and wait until the index has everything, too."""
    await changed(tree, to)
    await settled(tree)


async def changed(tree: Tree, to: str) -> None:
    """Migrate, and wait until the other model answers."""
    await tree.cortex.migrate(to)
    await eventually(lambda: to == tree.parts.model, within=40)

    async def is_over() -> bool:
        found = await tree.cortex.migration()
        return found["coming"] is None and found["state"] == "idle"

    await eventually(is_over)


async def vectors_of(tree: Tree) -> dict[str, int]:
    """Return how many of the texts that can be found have a vector, by model."""
    query = """SELECT model, count(DISTINCT text_hash) FROM vectors
        WHERE text_hash IN (SELECT text_hash FROM passages) GROUP BY model"""
    return await tree.parts.records.read(
        lambda c: {str(row[0]): int(row[1]) for row in c.exec_driver_sql(query)}
    )


class TestSwitch:
    async def test_recalls_across(self, tree: Tree) -> None:
        """Whoever recalls while the model changes, again and again, is answered rightly."""
        before = await first(tree, QUESTION)
        answers: list[dict[str, Any]] = []
        done = asyncio.Event()

        async def ask() -> None:
            while not done.is_set():
                answers.append(await tree.cortex.recall(QUESTION))

        asking = [asyncio.create_task(ask()) for _ in range(4)]
        for to in ("hashing-v1-256", "hashing-v1-320"):
            begun = len(answers)
            await changed(tree, to)
            await eventually(lambda begun=begun: len(answers) > begun + 20)
        done.set()
        await asyncio.gather(*asking)

        assert {before["id"]} == {each["hits"][0]["id"] for each in answers}
        assert [] == [each["failed"] for each in answers if each["failed"]]

    async def test_every_text(self, tree: Tree, tmp_path: Path) -> None:
        """After the switch every text has its vector, and so has what is said later."""
        texts = await vectors_of(tree)
        await migrated(tree, "hashing-v1-256")
        after = await vectors_of(tree)
        (tmp_path / "atlas-api" / "NEW").mkdir()
        new = tmp_path / "atlas-api" / "NEW" / "CLAUDE.md"
        new.write_text("## Zebra\n\nZebras are embedded with the model that answers.\n")
        await knows(tree, "Zebras are embedded")
        later = await vectors_of(tree)

        assert {"hashing-v1-384": texts["hashing-v1-384"]} == texts
        assert {**texts, "hashing-v1-256": texts["hashing-v1-384"]} == after
        # By itself, and under its heading.
        assert after["hashing-v1-256"] + 2 == later["hashing-v1-256"]

    async def test_anew(self, tree: Tree) -> None:
        """The index begins a generation, and those who were handed the model a life, uncounted."""
        before = await tree.parts.records.read(pending.load_state)
        lives = dict(tree.parts.names.list_known())
        await migrated(tree, "hashing-v1-256")
        after = dict(tree.parts.names.list_known())
        state = await tree.parts.records.read(pending.load_state)
        status = await tree.cortex.status()

        assert before is not None
        assert state is not None
        assert ("hashing-v1-384", "hashing-v1-256") == (before.model, state.model)
        assert state.generation > before.generation
        assert (0, 0) == (status["unembedded"], status["unindexed"])
        assert "hashing-v1-256" == status["model"]["id"]
        assert set(MODEL) == {name for name in lives if lives[name] is not after.get(name)}
        assert 0 == tree.supervisor.snapshot().restarts


class TestNextStart:
    async def test_not_followed(self, tree: Tree, tmp_home: Path) -> None:
        """A switch whose process ended before anybody followed it is followed by the next one."""
        hit = await first(tree, QUESTION)
        coming = models.ChosenModel("hashing-v1-256", "hashing", "hashing-v1-256", 256)
        records, provider = tree.parts.records, HashingProvider(256)
        await records.write(lambda c: models.begin(c, coming, 1))

        async def busy() -> bool:
            return False

        clock = tree.cortex._call.clock
        await Migration(records, clock, model=coming, provider=provider, busy=busy).run()
        await tree.stop(8)
        async with grown(tmp_home) as again:
            assert "hashing-v1-256" == again.parts.model
            await settled(again)
            assert hit["id"] == (await first(again, QUESTION))["id"]

    async def test_read_too_late(self, tree: Tree, tmp_home: Path) -> None:
        """Where the ledger could not be read before it was opened, its model answers soon after."""
        await migrated(tree, "hashing-v1-256")
        await tree.stop(8)
        unread = Outside(chosen=lambda _: None)
        async with grown(tmp_home, outside=unread) as again:

            async def answers() -> bool:
                status = await again.cortex.status()
                return bool("hashing-v1-256" == status["model"]["id"])

            await eventually(answers, within=40)
            await settled(again)

            assert "hashing-v1-256" == again.parts.model
            assert {"hashing-v1-256"} <= (await vectors_of(again)).keys()


class TestSettings:
    async def test_other_model(self, tree: Tree, tmp_home: Path) -> None:
        """Settings that ask for another model change nothing and are a reason with its mend."""
        await tree.stop(8)
        asked = {"provider": "hashing", "model": "hashing-v1-64", "batch_ms": 20}
        async with grown(tmp_home, embedding=asked) as again:
            await settled(again)
            status = await again.cortex.status()
            await migrated(again, "hashing-v1-64")
            mended = await again.cortex.status()

        assert ("degraded", "hashing-v1-384") == (status["state"], status["model"]["id"])
        (reason,) = status["reasons"]
        assert "cortex embeddings migrate --to hashing-v1-64" in reason
        assert ("running", []) == (mended["state"], mended["reasons"])


class TestEarlierHome:
    async def test_goes_on(self, tree: Tree, tmp_home: Path) -> None:
        """A ledger that never said which model answers goes on with the one of its index."""
        await tree.stop(8)
        with closing(sqlite3.connect(Home.find(tmp_home, {}).ledger)) as ledger:
            ledger.execute("DELETE FROM embedding_models")
            ledger.commit()
        async with grown(tmp_home) as again:
            await eventually(lambda: "hashing-v1-384" == again.parts.model)

            async def is_written() -> bool:
                return (await again.cortex.migration())["active"] is not None

            await eventually(is_written)
            assert 0 == (await again.cortex.status())["unembedded"]
