from __future__ import annotations

import numpy as np
import pytest

from cortex_actors.embedding.provider import ProviderState, check_rows, explain_refusal, scale_rows
from cortex_actors.errors import BadInput, EmbedderDown, EmbedderLoading, ModelMissing
from tests.embedding.support import StagedProvider, is_provider


class TestUnit:
    def test_length(self) -> None:
        """Rows keep their direction and get length 1; a row of nothing stays."""
        rows = scale_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))

        assert np.allclose([[0.6, 0.8], [0.0, 0.0]], rows)
        assert np.float32 == rows.dtype

    def test_large_numbers(self) -> None:
        """Lengths are computed wide enough for any float32."""
        rows = scale_rows(np.array([[3e38, 3e38]], dtype=np.float32))

        assert np.allclose(1.0, np.linalg.norm(rows))


class TestChecked:
    @pytest.mark.parametrize("shape", [(1, 3), (2, 2), (6,)])
    def test_shape(self, shape: tuple[int, ...]) -> None:
        """Rows of another number or dimension are the provider's fault, and none is used."""
        with pytest.raises(EmbedderDown, match="nothing of it is used"):
            check_rows(np.ones(shape), 2, dimension=3)

    @pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
    def test_no_vector(self, value: float) -> None:
        """A row that is no direction is its text's fault, and the error says which."""
        with pytest.raises(BadInput, match="number 2"):
            check_rows(np.array([[1.0, 0.0], [value, 0.0]]), 2, dimension=2)


class TestRefusal:
    @pytest.mark.parametrize(
        ("state", "error"),
        [
            (ProviderState.LOADING, EmbedderLoading),
            (ProviderState.DOWN, EmbedderDown),
            (ProviderState.MISSING, ModelMissing),
        ],
    )
    async def test_states(self, state: ProviderState, error: type[EmbedderDown]) -> None:
        """Every state but ready has an error of its own."""
        assert error is type(explain_refusal(is_provider(StagedProvider(state))))

    async def test_ready(self) -> None:
        """A provider that is ready refuses nothing."""
        assert explain_refusal(StagedProvider()) is None
