from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.domain.insight import (
    Category,
    Granularity,
    InsightSource,
    hash_statement,
    make_insight_id,
)
from cortex_actors.errors import EmbedderDown
from cortex_actors.pipeline.likeness import SecondOpinion
from cortex_actors.rules import classification
from cortex_actors.storage import embeddings, projects
from cortex_actors.storage.pipeline import insight_lists, insights
from cortex_actors.storage.pipeline.insights import Finding
from cortex_actors.testing import EPOCH
from tests.storage.support import ATLAS, MODEL, opened, unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from cortex_actors.storage.ledger.actor import Connection
    from tests.storage.support import Store

PATH = "/projects/atlas/CLAUDE.md"

#: Texts on which no keyword speaks: one near to the examples of warnings, one near to none.
NEAR, FAR = "This eats your disk.", "Blue."


class Embedder:
    """Puts the examples of warnings on one axis and all others on another."""

    def __init__(self) -> None:
        """Embed from the second question on."""
        self.asked = 0

    async def __call__(self, texts: Sequence[str], *, model: str) -> np.ndarray:
        """Return the rows of the examples, once the embedder is there."""
        self.asked += 1
        if self.asked == 1:
            raise EmbedderDown("it loads")
        assert MODEL == model
        warnings = classification.EXAMPLES[Category.WARNING]
        return np.stack([unit(1, 0, 0) if each in warnings else unit(0, 1, 0) for each in texts])


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Give a ledger in which a file states both."""
    findings = [_finding(number, text) for number, text in enumerate((NEAR, FAR))]
    rows = dict(zip([e.text_hash for e in findings], [unit(1, 0.2, 2), unit(0, 0, 1)], strict=True))

    def work(connection: Connection) -> None:
        projects.add(connection, ATLAS)
        insights.learn(connection, findings, project_id=ATLAS.id, path=PATH, at=EPOCH)
        embeddings.keep_vectors(connection, MODEL, rows)

    async with opened(tmp_path) as found:
        await found.write(work)
        yield found


def _finding(number: int, text: str) -> Finding:
    """Return a statement on which no keyword speaks."""
    digest = hash_statement(text)
    name = make_insight_id(digest)
    return Finding(
        insight_id=name,
        content=text,
        content_hash=digest,
        category="fact",
        tags=(),
        domain=None,
        text_hash=bytes.fromhex(digest),
        source=InsightSource(name, "f", PATH, "atlas", None, number + 1, number + 1, "s", number),
        granularity=Granularity.STATEMENT,
        verdict=0.0,
    )


async def test_opinion(store: Store) -> None:
    """While nobody embeds there is no opinion; then the near text gets one, and is asked once."""
    embedder = Embedder()
    opinion = SecondOpinion(store.records, embedder, model=MODEL)
    near, far = (make_insight_id(hash_statement(text)) for text in (NEAR, FAR))

    assert [] == await opinion.form_opinions([near, far])
    (found,) = await opinion.form_opinions([near, far])
    assert (near, Category.WARNING) == (found.insight_id, found.category)

    await store.write(partial(insights.write_opinions, opinions=[found]))
    known = await store.read(lambda c: insight_lists.load_insights(c, [near, far]))
    assert [Category.WARNING, Category.FACT] == [known[each].category for each in (near, far)]
    assert [] == await opinion.form_opinions([near, far])
    assert 2 == embedder.asked


async def test_aside(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many texts wait for an opinion, the loop does not wait for it."""
    seen: set[threading.Thread] = set()

    def telling(row: np.ndarray, examples: np.ndarray) -> None:
        assert len(row) == examples.shape[1]
        seen.add(threading.current_thread())

    monkeypatch.setattr(classification, "choose_category", telling)
    embedder = Embedder()
    embedder.asked = 1
    opinion = SecondOpinion(store.records, embedder, model=MODEL)
    ids = [make_insight_id(hash_statement(text)) for text in (NEAR, FAR)]

    assert [] == await opinion.form_opinions(ids)
    assert seen
    assert threading.main_thread() not in seen


async def test_nothing(store: Store) -> None:
    """Where nothing was looked at nobody is asked."""
    embedder = Embedder()

    assert [] == await SecondOpinion(store.records, embedder, model=MODEL).form_opinions([])
    assert 0 == embedder.asked
