"""The same words in another order: who does what to whom is told by it."""

from __future__ import annotations

import pytest

from cortex_actors.domain.insight import Claim, Decider, Judgement, Relation
from cortex_actors.rules.contradiction import DEFAULTS
from cortex_actors.rules.contradiction import limit_verdict as let_stand
from cortex_actors.rules.convergence import find_opposition
from cortex_actors.rules.merging import MergeGates, MergeVerdict, judge_pair
from cortex_actors.rules.sameness import find_reordering

SWAPPED = [
    ("Anna reviews Ben's pull requests", "Ben reviews Anna's pull requests"),
    ("Service A calls service B", "Service B calls service A"),
    ("We migrated from MySQL to PostgreSQL", "We migrated from PostgreSQL to MySQL"),
    ("We migrated from MySQL to PostgreSQL", "We migrated to MySQL from PostgreSQL"),
    (
        "Reads go to the replica, writes go to the primary",
        "Reads go to the primary, writes go to the replica",
    ),
    (
        "Reads go to the replica, writes go to the primary",
        "Writes go to the replica, reads go to the primary",
    ),
    ("The worker in staging calls the API", "The worker calls the API in staging"),
    ("Ben always reviews Anna's pull requests", "Anna reviews Ben's pull requests"),
    ("It is late. Anna mentors Ben at work.", "It is late. Ben mentors Anna at work."),
]

MOVED = [
    ("Redis listens on port 6379 by default", "Redis by default listens on port 6379"),
    ("In production the API uses JWT tokens", "The API uses JWT tokens in production"),
    ("The choir sang so well!", "So well the choir sang!"),
    ("Backups run nightly on the server", "Backups nightly run on the server"),
]


class TestReordered:
    @pytest.mark.parametrize(("text", "other"), SWAPPED)
    @pytest.mark.parametrize("cosine", [0.99, 0.95, 0.7])
    def test_two(self, text: str, other: str, cosine: float) -> None:
        """What has the same words in another order stays two, is no conflict and no agreement."""
        for one, another in ((text, other), (other, text)):
            said = judge_pair(one, another, cosine, gates=MergeGates(), thresholds=DEFAULTS)

            assert MergeVerdict.SKIP is said.verdict
            assert find_opposition(one, another, cosine) is not None

    @pytest.mark.parametrize(("text", "other"), MOVED)
    def test_one(self, text: str, other: str) -> None:
        """A phrase that says how, when or where may stand elsewhere."""
        for one, another in ((text, other), (other, text)):
            said = judge_pair(one, another, 0.95, gates=MergeGates(), thresholds=DEFAULTS)

            assert MergeVerdict.MERGE is said.verdict
            assert find_opposition(one, another, 0.95) is None

    def test_model(self) -> None:
        """A model that overlooks the order is not believed."""
        said = Judgement(Relation.SAME, Decider.LLM, "same claim")
        one, other = map(Claim, SWAPPED[0])

        assert Relation.RELATED is let_stand(said, one, other).relation

    def test_turned(self) -> None:
        """Neighbours that change places as another construction wants it stand in one order."""
        one, other = "Deploys on Friday break the pager", "Friday deploys break the pager"
        active, passive = (
            "Pin dependency versions in the file.",
            ("Dependencies are to be pinned to versions in the file."),
        )

        assert [None, None] == [find_reordering(one, other), find_reordering(active, passive)]
        assert find_reordering(
            "Service A is called by service B", "Service B is called by service A"
        )

    def test_both(self) -> None:
        """Two texts that both say both are one."""
        one, other = "Anna calls Ben.", "Ben calls Anna."

        assert find_reordering(f"{one} {other}", f"{other} {one}") is None
