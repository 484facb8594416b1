from __future__ import annotations

from dataclasses import replace

import pytest

from cortex_actors.clock import DAY
from cortex_actors.domain.insight import Category, Insight, InsightStatus
from cortex_actors.domain.project import Decision, StatementKind
from cortex_actors.rules.promotion import (
    Need,
    PromotionStanding,
    PromotionThresholds,
    Requirement,
    awaits_person,
    combine_decisions,
    find_unmet,
    is_offered,
    list_requirements,
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
        assert not find_unmet(RIPE, PromotionStanding(), now=NOW)
        assert () == find_unmet(RIPE, PromotionStanding(), now=NOW)

    def test_namesakes(self) -> None:
        """Two projects whose folders have one name are two projects."""
        assert not find_unmet(replace(RIPE, projects=("web", "web")), PromotionStanding(), now=NOW)

    def test_every_need_is_checked(self) -> None:
        """Each check is reported, met or not, in the order of the needs."""
        assert list(Need) == [
            check.need for check in list_requirements(RIPE, PromotionStanding(), now=NOW)
        ]


class TestUnmet:
    @pytest.mark.parametrize(
        ("insight", "need"),
        [
            (replace(RIPE, status=InsightStatus.SUPERSEDED), Need.ACTIVE),
            (replace(RIPE, confidence=0.699), Need.CONFIDENCE),
            (replace(RIPE, observation_count=2), Need.OBSERVATIONS),
            (replace(RIPE, first_seen=RIPE.first_seen + 1), Need.AGE),
            (replace(RIPE, projects=("atlas-api",)), Need.PROJECTS),
            (replace(RIPE, kind=StatementKind.COMMAND), Need.A_CLAIM),
            (replace(RIPE, kind=StatementKind.EXAMPLE), Need.A_CLAIM),
        ],
    )
    def test_insight(self, insight: Insight, need: Need) -> None:
        """An insight that lacks one thing is not promoted, and is told which."""
        assert find_unmet(insight, PromotionStanding(), now=NOW)
        assert [need] == [check.need for check in find_unmet(insight, PromotionStanding(), now=NOW)]

    @pytest.mark.parametrize(
        ("standing", "need"),
        [
            (PromotionStanding(open_contradictions=1), Need.NO_CONTRADICTION),
            (PromotionStanding(derivations=1), Need.NOT_PROMOTED),
            (PromotionStanding(voices=1), Need.PROJECTS),
            (PromotionStanding(is_private=True), Need.NOT_PRIVATE),
            (PromotionStanding(decision=Decision.REJECTED), Need.NOT_REJECTED),
            (PromotionStanding(wary="it moves credentials"), Need.NOT_WARY),
        ],
    )
    def test_standing(self, standing: PromotionStanding, need: Need) -> None:
        """What is known beside the insight may stand in the way."""
        assert [need] == [check.need for check in find_unmet(RIPE, standing, now=NOW)]

    def test_explained(self) -> None:
        """What is missing is said with what there is and what is asked for."""
        young = replace(RIPE, first_seen=NOW - 2 * DAY)

        assert (Requirement(Need.AGE, 2.0, 7.0, met=False),) == find_unmet(
            young, PromotionStanding(), now=NOW
        )

    def test_configured(self) -> None:
        """Other thresholds can be asked for."""
        alone = replace(RIPE, projects=("atlas-api",))

        assert not find_unmet(
            alone, PromotionStanding(), now=NOW, thresholds=PromotionThresholds(projects=1)
        )


class TestPerson:
    @pytest.mark.parametrize(
        "insight",
        [
            replace(RIPE, confidence=0.1),
            replace(RIPE, observation_count=1),
            replace(RIPE, first_seen=NOW),
            replace(RIPE, projects=("atlas-api",)),
        ],
    )
    def test_approved(self, insight: Insight) -> None:
        """A person's approval stands for confidence, count, age and projects, and shows as that."""
        standing = PromotionStanding(decision=Decision.APPROVED, wary="it moves credentials")
        checks = list_requirements(insight, standing, now=NOW)

        assert not find_unmet(insight, standing, now=NOW)
        assert 2 == sum(check.waived for check in checks)

    @pytest.mark.parametrize(
        "standing",
        [
            PromotionStanding(decision=Decision.APPROVED, open_contradictions=1),
            PromotionStanding(decision=Decision.APPROVED, is_private=True),
        ],
    )
    def test_not_for_everything(self, standing: PromotionStanding) -> None:
        """It stands neither for an open contradiction nor for what only one person may read."""
        assert find_unmet(RIPE, standing, now=NOW)

    @pytest.mark.parametrize(
        ("standing", "awaits"),
        [
            (PromotionStanding(voices=1), True),
            (PromotionStanding(wary="it moves credentials"), True),
            (PromotionStanding(voices=1, open_contradictions=1), False),
            (PromotionStanding(), False),
        ],
    )
    def test_awaits(self, standing: PromotionStanding, awaits: bool) -> None:
        """There is something to decide when a person's word is all that is missing."""
        assert awaits == awaits_person(list_requirements(RIPE, standing, now=NOW))

    @pytest.mark.parametrize(
        ("own", "others", "is_wary", "expected"),
        [
            (None, [], False, None),
            (Decision.APPROVED, [Decision.REJECTED], True, Decision.APPROVED),
            (None, [Decision.APPROVED], False, Decision.APPROVED),
            (None, [Decision.APPROVED], True, None),
            (None, [Decision.APPROVED, Decision.REJECTED], False, Decision.REJECTED),
        ],
    )
    def test_wordings(
        self,
        own: Decision | None,
        others: list[Decision],
        is_wary: bool,
        expected: Decision | None,
    ) -> None:
        """What was said of another wording counts, but no approval for words nobody saw."""
        assert expected == combine_decisions(own, others, is_wary=is_wary)


class TestOffered:
    @pytest.mark.parametrize(
        ("insight", "standing", "offered"),
        [
            (replace(RIPE, confidence=0.55, first_seen=NOW), PromotionStanding(), True),
            (replace(RIPE, observation_count=2), PromotionStanding(wary="it runs a shell"), True),
            (RIPE, PromotionStanding(differences=1), True),
            (RIPE, PromotionStanding(voices=1), True),
            (replace(RIPE, confidence=0.69), PromotionStanding(voices=1), False),
            (replace(RIPE, confidence=0.55), PromotionStanding(open_contradictions=1), False),
            (replace(RIPE, confidence=0.55), PromotionStanding(derivations=1), False),
            (replace(RIPE, confidence=0.55), PromotionStanding(decision=Decision.REJECTED), False),
            (replace(RIPE, confidence=0.55), PromotionStanding(decision=Decision.APPROVED), False),
            (replace(RIPE, confidence=0.55, kind=StatementKind.FACT), PromotionStanding(), False),
            (RIPE, PromotionStanding(), False),
        ],
    )
    def test_when(self, insight: Insight, standing: PromotionStanding, *, offered: bool) -> None:
        """What two projects say is asked about at once, what one says when it is sure enough."""
        assert offered is is_offered(list_requirements(insight, standing, now=NOW))

    def test_difference(self) -> None:
        """What another project chooses differently is no principle before a person says so."""
        differs = PromotionStanding(differences=1)

        assert [Need.NO_DIFFERENCE] == [each.need for each in find_unmet(RIPE, differs, now=NOW)]
        assert not find_unmet(RIPE, replace(differs, decision=Decision.APPROVED), now=NOW)
