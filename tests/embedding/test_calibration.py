from __future__ import annotations

import math

import numpy as np
import pytest

from cortex_actors.embedding import calibration
from cortex_actors.embedding.calibration import (
    LEAST,
    compute_overlap,
    compute_spearman,
    list_missed,
    measure,
)
from cortex_actors.embedding.manifest import QualityGates
from cortex_actors.embedding.provider import scale_rows


def rows(count: int, *, noise: float = 0.0) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Return unit rows that are the same in every call but for noise."""
    straight = np.random.default_rng(1).normal(size=(count, 16))
    return scale_rows(straight + noise * np.random.default_rng(2).normal(size=(count, 16)))


class TestSpearman:
    def test_order(self) -> None:
        """Only the order counts: any rising function of the values is the same."""
        values = np.array([0.3, -0.2, 0.9, 0.1])

        assert math.isclose(1.0, compute_spearman(values, np.exp(values)))
        assert math.isclose(-1.0, compute_spearman(values, -values))

    def test_textbook(self) -> None:
        """A worked example without ties: 1 - 6 * 194 / (10 * 99) = -29/165."""
        iq = np.array([106, 100, 86, 101, 99, 103, 97, 113, 112, 110.0])
        hours = np.array([7, 27, 2, 50, 28, 29, 20, 12, 6, 17.0])

        assert math.isclose(-29 / 165, compute_spearman(iq, hours))

    def test_ties(self) -> None:
        """Equal values share the mean of their ranks."""
        one, other = np.array([1, 2, 2, 3.0]), np.array([1, 2, 3, 4.0])

        assert math.isclose(math.sqrt(0.9), compute_spearman(one, other))


class TestOverlap:
    def test_half(self) -> None:
        """It is the share of neighbours that both name, whatever their order."""
        one = np.array([[9, 3, 2, 1], [3, 9, 2, 1], [3, 2, 9, 1], [3, 2, 1, 9.0]])
        other = np.array([[9, 3, 1, 2], [3, 9, 2, 1], [3, 2, 9, 1], [3, 2, 1, 9.0]])

        assert 1.0 == compute_overlap(one, one, nearest=2)
        assert 7 / 8 == compute_overlap(one, other, nearest=2)

    def test_itself(self) -> None:
        """A text is not its own neighbour."""
        one = np.array([[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]])
        other = one - 0.9 * np.eye(3)

        assert 1.0 == compute_overlap(one, other, nearest=1)


class TestMeasure:
    def test_same(self) -> None:
        """The same vectors pass every gate with 1."""
        gates = measure(rows(40), rows(40))

        assert (1.0, 1.0, 1.0) == pytest.approx(
            (gates.mean_cosine, gates.spearman, gates.overlap), abs=1e-6
        )
        assert not list_missed(gates)

    def test_noise(self) -> None:
        """More noise is worse by each measure, and misses the gates in the end."""
        little, much = (measure(rows(60), rows(60, noise=noise)) for noise in (0.05, 0.8))

        assert little.mean_cosine > much.mean_cosine
        assert little.spearman > much.spearman
        assert little.overlap > much.overlap
        assert "mean cosine" in list_missed(much)

    def test_scrambled(self) -> None:
        """A model that answers with other texts' vectors passes no gate."""
        gates = measure(rows(60), rows(60)[::-1].copy())

        assert 3 == list_missed(gates).count("<")


class TestMissed:
    def test_exactly(self) -> None:
        """What just reaches a gate has passed it."""
        assert not list_missed(LEAST)

    @pytest.mark.parametrize(
        ("gates", "words"),
        [
            (QualityGates(0.9899, 1.0, 1.0), "mean cosine 0.9899 < 0.99"),
            (QualityGates(1.0, 0.9, 1.0), "Spearman 0.9000 < 0.99"),
            (QualityGates(1.0, 1.0, 0.87), "top-10 overlap 0.8700 < 0.88"),
            (QualityGates(math.nan, 1.0, 1.0), "mean cosine nan < 0.99"),
        ],
    )
    def test_words(self, gates: QualityGates, words: str) -> None:
        """What was missed is named with its number, also when it is none."""
        assert words == list_missed(gates)


class TestTexts:
    def test_enough(self) -> None:
        """There are some hundred texts, none of them twice or empty."""
        texts = calibration.load_texts()

        assert 300 < len(texts) < 500
        assert len(texts) == len(set(texts))
        assert all(text.strip() for text in texts)

    def test_variety(self) -> None:
        """Questions, code, other scripts, very short and very long texts are among them."""
        texts = calibration.load_texts()

        for part in ("?", "SELECT", "测试", "テスト", "тест", "```"):
            assert any(part in text for text in texts), part
        assert 5 > min(map(len, texts))
        assert 3_000 < max(map(len, texts))
