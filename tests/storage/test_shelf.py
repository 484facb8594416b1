"""Principles as people look through them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import NO_DOMAIN, PrincipleSort
from cortex_actors.domain.principle import PrincipleCategory, PrincipleStatus
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.storage.pipeline import insights, principle_lists
from cortex_actors.storage.pipeline.insight_lists import Named, find
from cortex_actors.storage.pipeline.principle_lists import PrincipleFilter
from cortex_actors.testing import EPOCH
from tests.storage.distilled import distilled, principle
from tests.storage.support import ATLAS, HARBOR, id_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tests.storage.support import Store
    from tests.storage.things import Tables

#: Four principles that every filter tells apart.
TABS = principle("Use tabs", rank=0.6, domains=("python", "go"), tags=("style",))
NEVER = principle(
    "Never push 100%",
    rank=0.4,
    confidence=0.9,
    category=PrincipleCategory.ANTI_PATTERN,
    created_at=EPOCH + DAY,
)
OLD = principle(
    "Old habits_here", rank=0.2, status=PrincipleStatus.DECAYING, created_at=EPOCH - DAY
)
GONE = principle("Gone", rank=0.05, confidence=0.1, status=PrincipleStatus.PRUNED)
ALL = (TABS, NEVER, OLD, GONE)

#: What is asked for, and what is listed then, the highest ranked first.
FILTERS: tuple[tuple[PrincipleFilter, list[str]], ...] = (
    (PrincipleFilter(), [TABS.id, NEVER.id, OLD.id]),
    (PrincipleFilter(statuses=frozenset({PrincipleStatus.PRUNED})), [GONE.id]),
    (PrincipleFilter(statuses=frozenset(PrincipleStatus)), [each.id for each in ALL]),
    (PrincipleFilter(category=PrincipleCategory.ANTI_PATTERN), [NEVER.id]),
    (PrincipleFilter(domain="go"), [TABS.id]),
    (PrincipleFilter(domain="pyth"), []),
    (PrincipleFilter(domain=NO_DOMAIN), [NEVER.id, OLD.id]),
    (PrincipleFilter(tag="style"), [TABS.id]),
    (PrincipleFilter(tag="sty"), []),
    (PrincipleFilter(least=0.4), [TABS.id, NEVER.id]),
    (PrincipleFilter(words=("USE", "tab")), [TABS.id]),
    (PrincipleFilter(words=("0%",)), [NEVER.id]),
    (PrincipleFilter(words=("s_h",)), [OLD.id]),
    (PrincipleFilter(words=("_",)), [OLD.id]),
    (PrincipleFilter(domain="python", tag="other"), []),
)


def _filled(connection: Connection) -> None:
    """Write all four."""
    for each in ALL:
        distilled(connection, each)


class TestFilters:
    def test_each(self, tables: Tables) -> None:
        """Every filter leaves what it names, and the count is that of the list."""
        tables.write(_filled)
        for wanted, ids in FILTERS:
            assert ids == tables.read(partial(principle_lists.list_ids, wanted=wanted)), wanted
            assert len(ids) == tables.read(partial(principle_lists.count, wanted=wanted)), wanted

    async def test_project(self, store: Store) -> None:
        """A project's principles are those of what it says now, in whichever words."""
        await store.says("/projects/atlas/CLAUDE.md", "a", "b")
        await store.says("/projects/harbor/CLAUDE.md", "c", project=HARBOR)
        made = await store.write(lambda c: distilled(c, TABS, id_of("a"), id_of("b")))
        await store.write(lambda c: distilled(c, NEVER, id_of("a")))

        async def listed(project_id: str) -> set[str]:
            wanted = PrincipleFilter(project_id=project_id)
            return set(await store.read(lambda c: principle_lists.list_ids(c, wanted)))

        assert ({TABS.id, NEVER.id}, set()) == (await listed(ATLAS.id), await listed(HARBOR.id))
        await store.write(lambda c: insights.assign(c, {id_of("b"): id_of("c")}))
        assert {made} == await listed(HARBOR.id)


class TestOrder:
    def test_each(self, tables: Tables) -> None:
        """Every order puts first what it names."""
        tables.write(_filled)
        for sort, ids in (
            (PrincipleSort.RANK, [TABS.id, NEVER.id, OLD.id]),
            (PrincipleSort.SURE, [NEVER.id, TABS.id, OLD.id]),
            (PrincipleSort.NEWEST, [NEVER.id, TABS.id, OLD.id]),
            (PrincipleSort.OLDEST, [OLD.id, TABS.id, NEVER.id]),
        ):
            assert ids == tables.read(
                partial(principle_lists.list_ids, wanted=PrincipleFilter(sort=sort))
            ), sort

    def test_pages(self, tables: Tables) -> None:
        """Pages hold every principle once, those of one rank in the order of their ids."""
        made = sorted(
            tables.write(partial(distilled, made=principle(letter))) for letter in "abcdefg"
        )
        pages = [
            tables.read(
                partial(principle_lists.list_ids, wanted=PrincipleFilter(), limit=3, skip=skip)
            )
            for skip in (0, 3, 6)
        ]

        assert made == [each for page in pages for each in page]

    def test_statuses(self, tables: Tables) -> None:
        """Every status is counted, also one that nothing has."""
        assert {"active": 0, "decaying": 0, "pruned": 0} == tables.read(
            principle_lists.count_by_status
        )
        tables.write(_filled)
        assert {"active": 2, "decaying": 1, "pruned": 1} == tables.read(
            principle_lists.count_by_status
        )


class TestNames:
    def test_beginning(self, tables: Tables) -> None:
        """A principle is known by the beginning of its id; what begins none says where they are."""
        tables.write(_filled)
        for name in (TABS.id, TABS.id[:12], TABS.id[4:12]):
            assert TABS.id == tables.read(partial(find, kind=Named.PRINCIPLE, name=name))
        with pytest.raises(NotFound, match="cortex principles --status all"):
            tables.read(partial(find, kind=Named.PRINCIPLE, name="pri_zz"))
        with pytest.raises(BadInput, match="too short"):
            tables.read(partial(find, kind=Named.PRINCIPLE, name=TABS.id[:7]))
        twins = [f"pri_{'0' * 19}{last}" for last in "ab"]
        for each in twins:
            digest = each.removeprefix("pri_") + "0" * 44
            made = replace(principle(each), id=each, content_hash=digest)
            tables.write(partial(distilled, made=made))
        with pytest.raises(BadInput, match=f"{twins[0]}, {twins[1]}"):
            tables.read(partial(find, kind=Named.PRINCIPLE, name="pri_000"))
