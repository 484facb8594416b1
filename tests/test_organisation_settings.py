"""The numbers by which principles are ranked, linked and faded, as the rules take them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from cortex_actors.rules.decay import Fading
from cortex_actors.rules.linking import LinkThresholds
from cortex_actors.rules.promotion import RankWeights
from cortex_actors.sections import OrganisationSettings


class TestDefaults:
    def test_of_the_document(self) -> None:
        """Without settings the document's numbers hold, which are the rules' own."""
        chosen = OrganisationSettings()

        assert (RankWeights(), Fading(), LinkThresholds()) == (
            chosen.weights,
            chosen.fading,
            chosen.linking,
        )


class TestRefused:
    @pytest.mark.parametrize(
        ("wrong", "why"),
        [
            (
                {
                    f"rank_{each}": 0
                    for each in ("confidence", "frequency", "recency", "quality", "links")
                },
                "at least one weight above 0",
            ),
            ({"pruned_rank": 0.2}, "pruned_rank and pruned_days go further"),
            ({"pruned_days": 30}, "pruned_rank and pruned_days go further"),
            ({"link_close": 0.4}, "do not fall"),
            ({"link_neighbours": 0}, "greater than or equal to 1"),
        ],
    )
    def test_together(self, wrong: dict[str, float], why: str) -> None:
        """Numbers that make no sense together are refused, with what is wrong."""
        with pytest.raises(ValidationError, match=why):
            OrganisationSettings.model_validate(wrong)
