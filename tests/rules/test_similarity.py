from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.rules.sameness import cosine

VECTORS = st.lists(st.floats(-1e3, 1e3, width=32), min_size=3, max_size=3)


class TestCosine:
    def test_known(self) -> None:
        """Equal directions are 1, opposite ones -1, right angles 0."""
        assert 1.0 == pytest.approx(cosine([1, 2], [2, 4]))
        assert -1.0 == pytest.approx(cosine([1, 2], [-1, -2]))
        assert 0.0 == pytest.approx(cosine([1, 0], [0, 5]))

    def test_zero_vector(self) -> None:
        """A vector without direction is like nothing, not even itself."""
        assert 0.0 == cosine([0, 0], [1, 2])
        assert 0.0 == cosine([0, 0], [0, 0])

    def test_arrays(self) -> None:
        """Arrays of float32 and lists of numbers can be compared with each other."""
        assert 1.0 == pytest.approx(cosine(np.array([1, 2], dtype=np.float32), [1.0, 2.0]))

    def test_different_models(self) -> None:
        """Vectors of different length are refused, not cut to the shorter one."""
        with pytest.raises(ValueError, match=r"\(3,\) and \(2,\)"):
            cosine([1, 2, 3], [1, 2])

    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    def test_not_finite(self, bad: float) -> None:
        """A vector that is not made of numbers is refused."""
        with pytest.raises(ValueError, match="finite"):
            cosine([bad, 1], [1, 1])

    @given(VECTORS, VECTORS)
    def test_bounds(self, left: list[float], right: list[float]) -> None:
        """A cosine lies between -1 and 1 and does not depend on the order."""
        assert -1.0 <= cosine(left, right) <= 1.0
        assert cosine(left, right) == cosine(right, left)
