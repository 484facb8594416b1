from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.principle import PrincipleCategory
from cortex_actors.rules.ranking import rank
from cortex_actors.storage import insights, principles
from cortex_actors.testing import EPOCH
from tests.storage.support import id_of

if TYPE_CHECKING:
    from cortex_actors.domain.insight import Insight
    from tests.storage.support import Store


@pytest.fixture
async def insight(store: Store) -> Insight:
    """Give an insight of the ledger."""
    await store.says("/projects/atlas/CLAUDE.md", "use ruff")
    found = await store.read(lambda c: insights.by_id(c, [id_of("use ruff")]))
    return found[id_of("use ruff")]


class TestOf:
    async def test_what_it_keeps(self, insight: Insight) -> None:
        """A principle says what its insight says, and is ranked by its evidence."""
        made = principles.of(replace(insight, domain="python"), EPOCH)

        assert "pri_" + insight.content_hash[:20] == made.id
        assert (insight.content, insight.tags) == (made.content, made.tags)
        assert PrincipleCategory.HEURISTIC == made.category
        assert ("python",) == made.domains
        assert rank(0.5, 1) == made.rank

    async def test_without_a_domain(self, insight: Insight) -> None:
        """An insight of no domain gives a principle of none."""
        assert () == principles.of(insight, EPOCH).domains


class TestPromote:
    async def test_once(self, store: Store, insight: Insight) -> None:
        """Promoting twice is promoting once, and the first rank stays."""
        for now in (EPOCH, EPOCH + 1):
            made = principles.of(insight, now)
            await store.write(partial(principles.promote, principle=made))
        rows = await store.rows("SELECT created_at FROM principles")

        assert [(EPOCH,)] == rows
        assert 1 == await store.read(principles.count)
        assert {insight.id} == await store.read(principles.derived)

    async def test_of_nothing(self, store: Store, insight: Insight) -> None:
        """A principle is derived from an insight that exists, or not kept at all."""
        made = replace(principles.of(insight, EPOCH), insight_id="ins_unknown")
        with pytest.raises(Exception, match="FOREIGN KEY"):
            await store.write(lambda c: principles.promote(c, made))

        assert 0 == await store.read(principles.count)
