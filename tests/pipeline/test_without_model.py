"""While no text can be embedded, what files say is kept, and embedded later."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import (
    ActorAway,
    BadInput,
    CortexError,
    DeadlineExceeded,
    EmbedderDown,
    EmbedderLoading,
    MailboxFull,
)
from cortex_actors.sections import StorageSettings
from cortex_actors.storage import embeddings
from cortex_actors.storage.index.indexer import Indexer
from cortex_actors.testing import eventually
from tests.fakes import FakeActor
from tests.pipeline.support import MODEL, TWO, Embedder, Office, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.domain.project import Project
    from cortex_actors.storage.embeddings import Matrix


#: How it can be that a text has no vector for now.
UNEMBEDDED = [EmbedderDown, EmbedderLoading, MailboxFull, BadInput, ActorAway, DeadlineExceeded]


class _Index:
    """An index that remembers what it was told."""

    def __init__(self) -> None:
        self.held: set[str] = set()

    async def put(self, collection: str, ids: Sequence[str], rows: Matrix) -> None:
        """Hold items."""
        self.held |= set(ids)

    async def drop(self, collection: str, ids: Sequence[str]) -> None:
        """Hold them no longer."""
        self.held -= set(ids)


@pytest.mark.usefixtures("accumulator")
class TestWithoutModel:
    @pytest.mark.parametrize("kind", UNEMBEDDED)
    async def test_kept(
        self, office: Office, project: Project, embed: Embedder, kind: type[CortexError]
    ) -> None:
        """Text that cannot be embedded now is kept without a vector."""
        embed.fails = kind("not now")
        await office.changed(project, write(project, TWO))

        assert ["Run pytest.", "Use tabs."] == await office.contents()
        # Alone, and under its heading.
        assert 4 == await office.read(lambda c: embeddings.count_unembedded(c, MODEL))
        assert 0 == (await office.runs())[0].counts["embedded"]

    async def test_embedded_later(self, office: Office, project: Project, embed: Embedder) -> None:
        """The indexer embeds what was kept without a vector once the model is there."""
        embed.fails = EmbedderLoading("not yet")
        await office.changed(project, write(project, TWO))
        embed.fails, index = None, _Index()
        await office.employ(
            "indexer",
            lambda: Indexer(
                office.records,
                office.bus,
                clock=office.clock,
                settings=StorageSettings(index_ms=0),
                model=MODEL,
                embed=embed,
                index=FakeActor(index),
            ),
        )

        async with asyncio.timeout(10):
            await eventually(lambda: 2 == len(index.held))
        assert {each.id for each in await office.insights()} == index.held
        assert 0 == await office.read(lambda c: embeddings.count_unembedded(c, MODEL))
