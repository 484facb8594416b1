from __future__ import annotations

from typing import Any

import pytest

from cortex_actors.rules.ranking.fusion import MOST_WAITING, SUBSET_SHARE, FusionKind, plan

#: Rows of a large ledger.
MANY = 100_000


class TestBroad:
    @pytest.mark.parametrize(
        ("total", "asked", "kind", "why"),
        [
            (1, {}, FusionKind.INDEX, "all but 0 changes"),
            (MANY, {}, FusionKind.INDEX, "all but 0 changes"),
            (MANY, {"waiting": MOST_WAITING}, FusionKind.INDEX, f"all but {MOST_WAITING} changes"),
            (MANY, {"waiting": MOST_WAITING + 1}, FusionKind.EXACT, "has not been told"),
            (MANY, {"index_ready": False}, FusionKind.EXACT, "does not answer"),
        ],
    )
    def test_kind(self, total: int, asked: dict[str, Any], kind: FusionKind, why: str) -> None:
        """The index names candidates among few rows as among many, if it knows most of them."""
        found = plan(total, **asked)

        assert kind == found.kind
        assert why in found.why


class TestCounted:
    @pytest.mark.parametrize(
        ("asked", "way"),
        [
            ({}, "index"),
            ({"waiting": 1}, "index and what it was not told"),
            ({"waiting": MOST_WAITING + 1}, "index behind"),
            ({"index_ready": False}, "index away"),
            ({"allowed": 1}, "narrow filter"),
            ({"allowed": MANY}, "filter not asked before"),
            ({"allowed": MANY, "index_ready": False}, "index away"),
        ],
    )
    def test_way(self, asked: dict[str, Any], way: str) -> None:
        """A search is counted by what was asked, and why it was not the index."""
        assert way == plan(MANY, **asked).way


class TestFiltered:
    @pytest.mark.parametrize(
        ("allowed", "kind"),
        [
            (0, FusionKind.SUBSET),
            (round(MANY * SUBSET_SHARE), FusionKind.SUBSET),
            (round(MANY * SUBSET_SHARE) + 1, FusionKind.EXACT),
            (MANY, FusionKind.EXACT),
        ],
    )
    def test_kind(self, allowed: int, kind: FusionKind) -> None:
        """What passes a filter is gathered while it is little."""
        found = plan(MANY, allowed)

        assert kind == found.kind
        assert f"{allowed} of {MANY} rows pass the filter" in found.why

    def test_away(self) -> None:
        """Where the index was asked for what passes a filter and is away, the plan says so."""
        assert "the index does not answer" in plan(MANY, MANY, index_ready=False).why

    def test_nothing_there(self) -> None:
        """A filter on nothing is a plan, too."""
        assert FusionKind.SUBSET == plan(0, 0).kind
