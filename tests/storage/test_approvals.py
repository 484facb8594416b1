"""Approvals: what a person decided about principles, and what an upgrade counts as approved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.project import Approval, Decision, DecisionWay
from cortex_actors.storage.pipeline import reviews
from tests.storage.distilled import principle

if TYPE_CHECKING:
    from tests.storage.things import Tables

ASKED, ITSELF, REVOKED = (
    principle(text) for text in ("Ask a person.", "Write by itself.", "Take it back.")
)


def approved(name: str, at: int, decision: Decision = Decision.APPROVED) -> Approval:
    """Return what a person said in the review."""
    return Approval(name, decision, at, "owner", DecisionWay.REVIEW)


class TestDecide:
    def test_newest_counts(self, tables: Tables) -> None:
        """A decision takes the place of an earlier one, and a rejection is no approval."""
        connection = tables.connection
        for at, decision in enumerate((Decision.APPROVED, Decision.REJECTED), start=1):
            reviews.decide_approval(connection, approved("pri_a", at, decision))
        reviews.decide_approval(connection, approved("pri_b", 3))

        assert {"pri_b"} == reviews.load_approved(connection)
        found = reviews.load_approvals(connection, ["pri_a", "pri_x"])
        assert {"pri_a": approved("pri_a", 2, Decision.REJECTED)} == found

    def test_ends(self, tables: Tables) -> None:
        """What ended with a revocation counts again with its end, and nothing else does."""
        connection = tables.connection
        for name, at in (("pri_a", 5), ("pri_b", 6), ("pri_c", 7)):
            reviews.decide_approval(connection, approved(name, 1))
            reviews.end_approvals(connection, [name, "pri_x"], at=at)
        reviews.decide_approval(connection, approved("pri_c", 8))
        assert {"pri_c"} == reviews.load_approved(connection)
        reviews.restore(connection, ended_at=5)

        assert {"pri_a", "pri_c"} == reviews.load_approved(connection)
