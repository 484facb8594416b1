from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import (
    LIVE,
    NO_DOMAIN,
    Category,
    InsightSort,
    InsightStatus,
)
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.storage.pipeline import insight_lists, insights
from cortex_actors.storage.pipeline.insight_lists import InsightFilter, Named, find
from cortex_actors.testing import EPOCH
from tests.storage.support import ATLAS, HARBOR, id_of

if TYPE_CHECKING:
    from tests.storage.support import Store

CLAUDE = "/projects/atlas/CLAUDE.md"
NESTED = "/projects/atlas/docs/CLAUDE.md"
OTHER = "/projects/harbor/CLAUDE.md"


async def _listed(store: Store, wanted: InsightFilter) -> list[str]:
    """Return what a list of insights says, and hold its count to it."""
    found = await store.read(lambda c: insight_lists.list_insights(c, wanted))
    total = await store.read(lambda c: insight_lists.count(c, wanted))
    assert len(found) <= total
    return [each.content for each in found]


#: What is asked for, and what is listed then.
FILTERS: tuple[tuple[InsightFilter, set[str]], ...] = (
    (InsightFilter(), {"Use tabs", "100% sure", "under_score"}),
    (InsightFilter(project_id=HARBOR.id), {"Use tabs"}),
    (InsightFilter(path=CLAUDE), {"Use tabs", "100% sure"}),
    (InsightFilter(path="/projects/atlas"), {"Use tabs", "100% sure", "under_score"}),
    (InsightFilter(path="/projects/atl"), set()),
    (InsightFilter(words=("TABS",)), {"Use tabs"}),
    (InsightFilter(words=("use", "tabs")), {"Use tabs"}),
    (InsightFilter(words=("use", "spaces")), set()),
    (InsightFilter(words=("0%",)), {"100% sure"}),
    (InsightFilter(words=("r_s",)), {"under_score"}),
    (InsightFilter(words=("!",)), set()),
    (InsightFilter(category=Category.WARNING), set()),
    (InsightFilter(domain=NO_DOMAIN), {"Use tabs", "100% sure", "under_score"}),
    (InsightFilter(domain="python"), set()),
    (InsightFilter(tag="python"), {"Use tabs", "100% sure", "under_score"}),
    (InsightFilter(tag="pyth"), set()),
    (InsightFilter(least=0.6), set()),
    (InsightFilter(least=0.5), {"Use tabs", "100% sure", "under_score"}),
    (InsightFilter(statuses=frozenset({InsightStatus.WITHDRAWN})), {"gone"}),
)


class TestFilters:
    async def test_each(self, store: Store) -> None:
        """Every filter leaves what it names; a sign of a pattern means itself."""
        await store.says(CLAUDE, "gone")
        await store.says(CLAUDE, "Use tabs", "100% sure")
        await store.says(NESTED, "under_score")
        await store.says(OTHER, "Use tabs", project=HARBOR)
        for wanted, said in FILTERS:
            assert said == set(await _listed(store, wanted)), wanted

    async def test_pages(self, store: Store) -> None:
        """Pages hold every insight once, in one order."""
        await store.says(CLAUDE, *"abcdefg")
        whole = await _listed(store, InsightFilter())
        pages = [await _listed(store, InsightFilter(limit=3, skip=skip)) for skip in (0, 3, 6)]

        assert whole == [each for page in pages for each in page]
        assert 7 == await store.read(lambda c: insight_lists.count(c, InsightFilter(limit=3)))


class TestOrder:
    async def test_each(self, store: Store) -> None:
        """Every order puts first what it names; what is equal comes in the order of the ids."""
        await store.says(CLAUDE, "old")
        await store.says(NESTED, "often", at=EPOCH + DAY, revision="1")
        await store.says(NESTED, "often", at=EPOCH + 2 * DAY, revision="2")
        await store.says(OTHER, "new", project=HARBOR, at=EPOCH + 2 * DAY)
        sure = [(id_of("new"), 0.9), (id_of("often"), 0.8), (id_of("old"), 0.7)]
        await store.write(partial(insights.weigh, confidences=sure))
        once = sorted(["old", "new"], key=id_of)
        for sort, said in (
            (InsightSort.SURE, ["new", "often", "old"]),
            (InsightSort.SEEN, ["often", *once]),
            (InsightSort.NEWEST, ["new", "often", "old"]),
            (InsightSort.OLDEST, ["old", "often", "new"]),
        ):
            assert said == await _listed(store, InsightFilter(sort=sort)), sort


class TestSaid:
    async def test_after_merge(self, store: Store) -> None:
        """Where a text stands is told of that very text, whatever it counts for."""
        await store.says(CLAUDE, "a")
        await store.says(OTHER, "b", project=HARBOR)
        await store.write(lambda c: insights.assign(c, {id_of("b"): id_of("a")}))
        found = await store.read(lambda c: insight_lists.load_places(c, [id_of("a"), id_of("b")]))

        assert [[CLAUDE], [OTHER]] == [
            [place.path for place in found[id_of(each)]] for each in ("a", "b")
        ]
        assert LIVE == InsightFilter().statuses


class TestNames:
    async def test_beginning(self, store: Store) -> None:
        """An id is known by itself and by its beginning, with and without what it begins with."""
        await store.says(CLAUDE, "a")
        whole = id_of("a")
        for name in (whole, whole[:9], whole[4:9], whole.upper(), f" {whole} "):
            assert whole == await store.read(partial(find, kind=Named.INSIGHT, name=name))

    async def test_unknown(self, store: Store) -> None:
        """What begins no id is not found, and says where ids are listed."""
        await store.says(CLAUDE, "a")
        for name in ("ins_zz", "", "ins_", "con_a", "%"):
            with pytest.raises(NotFound, match="cortex insights"):
                await store.read(partial(find, kind=Named.INSIGHT, name=name))

    async def test_several(self, store: Store) -> None:
        """What begins several ids is refused, and names some of them."""
        said = [str(number) for number in range(40)]
        await store.says(CLAUDE, *said)
        starts = [id_of(each)[4] for each in said]
        shared = next(each for each in starts if starts.count(each) > 1)
        with pytest.raises(BadInput, match=f"ins_{shared}.*give more of the id"):
            await store.read(lambda c: find(c, Named.INSIGHT, shared))


class TestFragments:
    async def test_counts(self, store: Store) -> None:
        """A fragment tells how much it says, and how much of that others say, too."""
        await store.says(CLAUDE, "a", "b")
        await store.says(OTHER, "a", project=HARBOR)
        found, total = await store.read(insight_lists.list_fragments)

        expected = {(CLAUDE, 1, 1, 1), (CLAUDE, 4, 1, 0), (OTHER, 1, 1, 1)}
        assert expected == {
            (e["path"], e["line_start"], e["statements"], e["shared"]) for e in found
        }
        assert 3 == total

    async def test_filters(self, store: Store) -> None:
        """Fragments are those of a project, of a file or of a folder."""
        await store.says(CLAUDE, "a", "b")
        await store.says(NESTED, "c")
        await store.says(OTHER, "d", project=HARBOR)
        wanted: tuple[tuple[dict[str, Any], int], ...] = (
            ({"project_id": ATLAS.id}, 3),
            ({"path": CLAUDE}, 2),
            ({"path": "/projects/atlas/docs"}, 1),
        )
        for narrow, count in wanted:
            found, total = await store.read(partial(insight_lists.list_fragments, **narrow))
            assert count == len(found) == total

    async def test_order(self, store: Store) -> None:
        """Fragments come by path and line."""
        await store.says(OTHER, "a", project=HARBOR)
        await store.says(CLAUDE, "b", "c", at=EPOCH + DAY)
        by_path, _ = await store.read(insight_lists.list_fragments)

        assert [(CLAUDE, 1), (CLAUDE, 4), (OTHER, 1)] == [
            (e["path"], e["line_start"]) for e in by_path
        ]
