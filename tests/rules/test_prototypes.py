from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.domain.insight import Category
from cortex_actors.rules.classification import (
    EXAMPLES,
    LEAST,
    MARGIN,
    MOST_SURE,
    NEAREST,
    choose_category,
    list_examples,
    rank_categories,
)


class TestExamples:
    def test_all(self) -> None:
        """Every category has examples, and none is an example of two."""
        assert set(Category) == set(EXAMPLES)
        assert len(set(list_examples())) == len(list_examples())
        assert all(len(said) >= NEAREST for said in EXAMPLES.values())


class TestNearest:
    def test_order(self) -> None:
        """The category of the nearest examples comes first, with the nearest of them."""
        found = rank_categories(*_near(Category.WARNING, 0.6))

        assert Category.WARNING is found[0].category
        assert pytest.approx(0.6) == found[0].cosine
        assert found[0].example in EXAMPLES[Category.WARNING]
        assert set(Category) == {each.category for each in found}

    def test_one_is_not_enough(self) -> None:
        """One example that happens to be near counts for half only."""
        row, examples = _near(Category.WARNING, 0.6, how_many=1)

        assert pytest.approx(0.3) == rank_categories(row, examples)[0].cosine


class TestTelling:
    def test_sure(self) -> None:
        """An opinion is never surer than a tie of keywords."""
        found = choose_category(*_near(Category.TECHNIQUE, 0.9))

        assert found is not None
        assert (Category.TECHNIQUE, MOST_SURE) == (found.category, found.cosine)

    def test_far(self) -> None:
        """What is near to nothing gets no opinion."""
        assert choose_category(*_near(Category.TECHNIQUE, LEAST - 0.01)) is None

    def test_between(self) -> None:
        """What is as near to two categories gets no opinion."""
        row, examples = _near(Category.TECHNIQUE, 0.5)
        _, others = _near(Category.WARNING, 0.5 - MARGIN / 2)

        assert choose_category(row, examples + others) is None

    @given(st.lists(st.floats(-1, 1), min_size=len(list_examples()), max_size=len(list_examples())))
    def test_any(self, cosines: list[float]) -> None:
        """Whatever the cosines are, an opinion is the nearest category, by a margin."""
        examples = np.array([[each, 0.0] for each in cosines], np.float32)
        row = np.array([1.0, 0.0], np.float32)
        found = choose_category(row, examples)
        first, second = rank_categories(row, examples)[:2]

        assert (found is not None) == (
            first.cosine >= LEAST and first.cosine - second.cosine >= MARGIN
        )


def _near(category: Category, cosine: float, *, how_many: int = NEAREST) -> tuple[np.ndarray, ...]:
    """Return a row, and examples of which some of a category lie that near to it."""
    row = np.array([1.0, 0.0], np.float32)
    some = [text for each, said in EXAMPLES.items() for text in said if each is category][:how_many]
    return row, np.array(
        [[cosine if text in some else 0.0, 0.0] for text in list_examples()], np.float32
    )
