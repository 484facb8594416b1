from __future__ import annotations

from dataclasses import replace

import pytest

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import Category, Insight, InsightStatus
from cortex_actors.rules.promotion import (
    Need,
    Requirement,
    Standing,
    Thresholds,
    earned,
    requirements,
    unmet,
)

NOW = 100 * DAY
RIPE = Insight(
    id="ins_0",
    content="Write times in UTC.",
    content_hash="0",
    category=Category.CONVENTION,
    tags=(),
    domain=None,
    confidence=0.7,
    status=InsightStatus.ACTIVE,
    observation_count=3,
    first_seen=NOW - 7 * DAY,
    last_seen=NOW,
    projects=("atlas-api", "harbor-web"),
)


class TestEarned:
    def test_at_the_thresholds(self) -> None:
        """An insight that reaches every threshold exactly is promoted."""
        assert earned(RIPE, Standing(), now=NOW)
        assert () == unmet(RIPE, Standing(), now=NOW)

    def test_namesakes(self) -> None:
        """Two projects whose folders have one name are two projects."""
        assert earned(replace(RIPE, projects=("web", "web")), Standing(), now=NOW)

    def test_every_need_is_checked(self) -> None:
        """Each check is reported, met or not, in the order of the needs."""
        assert list(Need) == [check.need for check in requirements(RIPE, Standing(), now=NOW)]


class TestUnmet:
    @pytest.mark.parametrize(
        ("insight", "need"),
        [
            (replace(RIPE, status=InsightStatus.SUPERSEDED), Need.ACTIVE),
            (replace(RIPE, confidence=0.699), Need.CONFIDENCE),
            (replace(RIPE, observation_count=2), Need.OBSERVATIONS),
            (replace(RIPE, first_seen=RIPE.first_seen + 1), Need.AGE),
            (replace(RIPE, projects=("atlas-api",)), Need.PROJECTS),
        ],
    )
    def test_insight(self, insight: Insight, need: Need) -> None:
        """An insight that lacks one thing is not promoted, and is told which."""
        assert not earned(insight, Standing(), now=NOW)
        assert [need] == [check.need for check in unmet(insight, Standing(), now=NOW)]

    @pytest.mark.parametrize(
        ("standing", "need"),
        [
            (Standing(open_contradictions=1), Need.NO_CONTRADICTION),
            (Standing(derivations=1), Need.NOT_PROMOTED),
        ],
    )
    def test_standing(self, standing: Standing, need: Need) -> None:
        """An open contradiction or an earlier promotion stands in the way."""
        assert [need] == [check.need for check in unmet(RIPE, standing, now=NOW)]

    def test_explained(self) -> None:
        """What is missing is said with what there is and what is asked for."""
        young = replace(RIPE, first_seen=NOW - 2 * DAY)

        assert (Requirement(Need.AGE, 2.0, 7.0, met=False),) == unmet(young, Standing(), now=NOW)

    def test_configured(self) -> None:
        """Other thresholds can be asked for."""
        alone = replace(RIPE, projects=("atlas-api",))

        assert earned(alone, Standing(), now=NOW, thresholds=Thresholds(projects=1))
