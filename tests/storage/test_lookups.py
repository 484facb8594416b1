"""What is asked of a few texts is found by their ids, however many others there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select
from sqlalchemy.dialects import sqlite

from cortex_actors.storage import insight_records
from cortex_actors.storage.pipeline import contradictions, insight_evidence
from cortex_actors.storage.pipeline import insights as facing
from cortex_actors.storage.pipeline import insights as merging
from cortex_actors.storage.pipeline import insights as sources
from cortex_actors.storage.search import matrix
from cortex_actors.storage.tables.dialect import ENGINES
from cortex_actors.storage.tables.schema import cluster_insights, insights

if TYPE_CHECKING:
    from sqlalchemy import Select

    from tests.storage.things import Tables


def written(query: Select[Any]) -> str:
    """Return a query with its values in it."""
    return str(query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))


#: What each change asks.
ASKED = {
    "concerned": insight_records._CONCERNED,
    "settle": insight_records._SETTLE,
    "represented": merging._POINTS,
    "followers": merging._FOLLOW,
    "said": merging._SAID,
    "stand": insight_records._AMONG + insight_records.STANDS.format(i="i"),
    "active": insight_records._AMONG + "i.status = 'active'",
    "count for": merging._COUNT,
    "texts": insight_evidence._TEXTS,
    "places": insight_evidence._PLACES,
    "revisions": insight_evidence._REVISIONS,
    "late": insight_evidence._LATE,
    "ended": contradictions._DELETE,
    "touched": written(
        select(cluster_insights).where(cluster_insights.c.insight_id.in_(["a", "b"]))
    ),
    "private": sources._PRIVATE,
    "otherwise": sources._OTHERWISE,
    "first place": facing._FIRST,
    "merged": matrix._MERGED,
    "vectors": matrix._OF_IDS,
    "sharing": insight_evidence._SHARING,
    "forget": insight_evidence._FORGET,
}

#: What a plan may walk through: the ids that were asked about, and what was found of them.
SMALL = {"json_each", "j", "asked", "same", "met", "p"}

#: Searches that find all there is: nothing stands for most texts, and most pairs are undecided.
WIDE = ("(status=?)", "_vectors_1 (model=?)")


def plan(tables: Tables, name: str) -> list[str]:
    """Return the steps in which SQLite answers a question."""
    asked = re.sub(r"\?\d?", "'[]'", ENGINES["sqlite"].word(ASKED[name]))
    return [str(row[3]) for row in tables.rows(f"EXPLAIN QUERY PLAN {asked}")]


@pytest.mark.parametrize("name", ASKED)
def test_plan(tables: Tables, name: str) -> None:
    """No question about a change walks through all texts, vectors or contradictions."""
    steps = plan(tables, name)
    walked = [each for each in steps if each.startswith("SCAN ") and each.split()[1] not in SMALL]

    assert [] == walked
    assert [] == [each for each in steps if each.endswith(WIDE)]


def test_live(tables: Tables) -> None:
    """Which of a thousand insights are live is asked of them, not of all that are live."""
    some = [f"ins_{number:020}" for number in range(1_000)]
    found = select(insights.c.id).where(insights.c.id.in_(some), insight_records.match_live_among())
    (step,) = tables.rows(f"EXPLAIN QUERY PLAN {written(found)}")

    assert str(step[3]).endswith("(id=?)")


def test_stand(tables: Tables) -> None:
    """Whether a text stands is not asked of all that nothing stands for."""
    assert [] == [each for each in plan(tables, "stand") if "by_superseding" in each]
