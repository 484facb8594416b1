"""How much a principle matters to a file, by the document's weights."""

from __future__ import annotations

import pytest

from cortex_actors.rules.promotion import (
    RelevanceWeights,
    compute_score,
    compute_share,
    find_file_domains,
    split_paragraphs,
)

PYTHON = "Run pytest in the venv, and use pip to install python packages."
DATABASE = "Every migration of the postgres database is reviewed."
RUST = "Use cargo to build the rust crate."


class TestScore:
    @pytest.mark.parametrize(
        ("cosine", "rank", "shared", "expected"),
        [
            (1.0, 1.0, 1.0, 1.0),
            (0.8, 0.5, 1.0, 0.75),
            (0.4, 0.5, 0.5, 0.45),
            (0.0, 0.5, 0.0, 0.15),
            (-0.9, 0.5, 0.0, 0.15),
            (0.3, 0.4845837972570385, 0.0, 0.29537513917711155),
        ],
    )
    def test_document(self, cosine: float, rank: float, shared: float, expected: float) -> None:
        """Half is nearness, never below 0, three tenths rank, two tenths common domains."""
        assert pytest.approx(expected, abs=1e-15) == compute_score(cosine, rank, share=shared)

    @pytest.mark.parametrize(
        ("rank", "shared", "expected"), [(0.5, 1.0, 0.7), (0.5, 0.0, 0.3), (1.0, 1.0, 1.0)]
    )
    def test_without_vectors(self, rank: float, shared: float, expected: float) -> None:
        """Where nobody can tell how near the two are, the rest stands for all of it."""
        assert pytest.approx(expected, abs=1e-15) == compute_score(None, rank, share=shared)

    def test_weights(self) -> None:
        """Only how the weights stand to each other counts."""
        document, tenfold = compute_score(0.7, 0.4, share=0.5), RelevanceWeights(5.0, 3.0, 2.0)

        assert pytest.approx(document) == compute_score(0.7, 0.4, share=0.5, weights=tenfold)
        assert 0.4 == compute_score(0.7, 0.4, share=0.5, weights=RelevanceWeights(0.0, 1.0, 0.0))


class TestDomains:
    def test_share(self) -> None:
        """The share is that of the principle's own domains; without any there is none."""
        found = [
            compute_share(some, ("python", "testing"))
            for some in ((), ("python",), ("python", "go"))
        ]

        assert [0.0, 1.0, 0.5] == found

    def test_most_paragraphs(self) -> None:
        """A file is of the domains that most of its paragraphs are about, ties by the alphabet."""
        text = f"{RUST}\n\n{PYTHON}\n\nBe kind.\n\n{DATABASE}\n\n{PYTHON}"

        assert ("python", "database", "rust") == find_file_domains(text)

    def test_three(self) -> None:
        """It is of three at most, and a file about nothing is of none."""
        text = f"{RUST}\n\n{PYTHON}\n\n{DATABASE}\n\nDeploy with docker and kubernetes."

        assert 3 == len(find_file_domains(text))
        assert () == find_file_domains("Be kind.\n\nSmile.")

    def test_paragraphs(self) -> None:
        """Blank lines part paragraphs, however many and whatever blanks they hold."""
        assert ["a\nb", "c", "d"] == split_paragraphs("\n\na\nb\n \t\n\nc\n\n\n\nd\n")
