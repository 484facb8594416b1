from __future__ import annotations

from typing import Any

import pytest

from cortex_actors.rules.fusion import INDEX_FROM, MOST_WAITING, SUBSET_SHARE, Kind, plan

#: More rows than the index needs to be worth asking.
MANY = 4 * INDEX_FROM


class TestBroad:
    @pytest.mark.parametrize(
        ("total", "asked", "kind", "why"),
        [
            (0, {}, Kind.EXACT, "faster than the index"),
            (INDEX_FROM - 1, {}, Kind.EXACT, "faster than the index"),
            (INDEX_FROM, {}, Kind.INDEX, "all but 0 changes"),
            (MANY, {"waiting": MOST_WAITING}, Kind.INDEX, f"all but {MOST_WAITING} changes"),
            (MANY, {"waiting": MOST_WAITING + 1}, Kind.EXACT, "has not been told"),
            (MANY, {"index_ready": False}, Kind.EXACT, "does not answer"),
            (MANY, {"wanted": MANY}, Kind.EXACT, "are wanted"),
        ],
    )
    def test_kind(self, total: int, asked: dict[str, Any], kind: Kind, why: str) -> None:
        """The index is asked where there is much to search, it answers, and knows most of it."""
        found = plan(total, None, **asked)

        assert kind == found.kind
        assert why in found.why


class TestFiltered:
    @pytest.mark.parametrize(
        ("allowed", "kind"),
        [
            (0, Kind.SUBSET),
            (round(MANY * SUBSET_SHARE), Kind.SUBSET),
            (round(MANY * SUBSET_SHARE) + 1, Kind.EXACT),
            (MANY, Kind.EXACT),
        ],
    )
    def test_kind(self, allowed: int, kind: Kind) -> None:
        """What passes a filter is gathered while it is little; the index is never asked."""
        found = plan(MANY, allowed)

        assert kind == found.kind
        assert f"{allowed} of {MANY} rows pass the filter" in found.why

    def test_nothing_there(self) -> None:
        """A filter on nothing is a plan, too."""
        assert Kind.SUBSET == plan(0, 0).kind
