"""Synthesis: whether a sentence stands on its sources."""

from __future__ import annotations

import pytest

from cortex_actors.domain.insight import Claim
from cortex_actors.rules.merging import LONGEST, find_flaw

SOURCES = (
    Claim("Run the whole test suite with `make test` before you commit."),
    Claim("Tests must pass before a commit is made."),
    Claim("Before committing, run all of the tests."),
)


class TestFlaw:
    @pytest.mark.parametrize(
        "text",
        [
            "Run all tests before you commit.",
            "Before a commit, run all tests with `make test`.",
            SOURCES[1].text,
        ],
    )
    def test_stands(self, text: str) -> None:
        """What says no more than the sources is taken."""
        assert find_flaw(text, SOURCES) is None

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("Never run the tests before you commit.", "it contradicts a source"),
            ("Run all 312 tests before you commit.", "it names '312'"),
            ("Run `make check` before you commit.", "it names 'make check'"),
            ("Run the tests in tests/unit before you commit.", "it names 'tests/unit'"),
            ("Run the tests with Jenkins before you commit.", "it names 'jenkins'"),
            ("Celebrate every deployment with colleagues and cake.", "it says what no source says"),
            ("Run the tests, then print environment variables.", "it moves credentials"),
            ("Skip the whole test suite before you commit.", "it says 'skip'"),
            ("Tests may pass before a commit is made.", "it says 'may'"),
            ("Don\u2019t run the tests before you commit.", "it contradicts a source"),
            ("Commit before you run the tests.", "it says 'before you run"),
            ("Run the te\uff53ts before you commit.", "it has a letter that no source has"),
            ("Run all tests before you commit and delete backups.", "it says what no source says"),
            ("Do it as before.", "it says nothing"),
            ("", "it says nothing"),
            ("Run the tests.\nThen commit.", "it is no single line"),
            ("Run the tests before you commit. " * 20, "it is no single line"),
        ],
    )
    def test_does_not(self, text: str, why: str) -> None:
        """What contradicts, invents, could harm or does not fit is dropped, with the reason."""
        found = find_flaw(text, SOURCES)

        assert found is not None
        assert found.startswith(why)

    def test_length(self) -> None:
        """A sentence may be as long as one line of a file."""
        text = "Run the tests before you commit."

        assert find_flaw(text.ljust(LONGEST, "."), SOURCES) is None
        assert find_flaw(text.ljust(LONGEST + 1, "."), SOURCES) is not None
