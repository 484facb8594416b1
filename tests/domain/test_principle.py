from __future__ import annotations

import pytest

from cortex_actors.domain.insight import Category
from cortex_actors.domain.principle import BECOMES, PrincipleCategory


class TestBecomes:
    def test_every_category(self) -> None:
        """Every insight can become a principle."""
        assert set(Category) == set(BECOMES)

    @pytest.mark.parametrize(
        ("insight", "principle"),
        [
            (Category.CONVENTION, PrincipleCategory.HEURISTIC),
            (Category.TECHNIQUE, PrincipleCategory.LEARNING),
            (Category.WARNING, PrincipleCategory.ANTI_PATTERN),
            (Category.PATTERN, PrincipleCategory.PRINCIPLE),
        ],
    )
    def test_table(self, insight: Category, principle: PrincipleCategory) -> None:
        """What an insight becomes is the document's table."""
        assert principle == BECOMES[insight]

    def test_a_moral_is_made_by_people(self) -> None:
        """No insight becomes a moral by itself."""
        assert PrincipleCategory.MORAL not in BECOMES.values()
