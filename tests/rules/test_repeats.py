"""Which statement says nothing but what a shown one says."""

from __future__ import annotations

import pytest

from cortex_actors.domain.insight import Claim
from cortex_actors.rules.contradiction import repeats


class TestRepeats:
    @pytest.mark.parametrize(
        ("shown", "other"),
        [
            ("Use pnpm for every package.", "Use pnpm for every package."),
            ("**Always** use `pnpm` for packages", "Use `pnpm` for packages, always."),
            ("npm run build # for production", "npm run build # builds the site"),
            (
                "Run the formatter and the linter before a commit.",
                "Run the linter before a commit.",
            ),
        ],
    )
    def test_same(self, shown: str, other: str) -> None:
        """The same claim in other words, or less of it, is a repeat; so is the same command."""
        assert repeats(Claim(shown), Claim(other))

    @pytest.mark.parametrize(
        ("shown", "other"),
        [
            ("Tests run on port 5433.", "Tests run on port 5432."),
            ("Always squash commits.", "Never squash commits."),
            ("npm run build", "npm run lint"),
            (
                "Run the linter before a commit.",
                "Run the formatter and the linter before a commit.",
            ),
            ("Use tabs in Go files.", "Name branches after tickets."),
        ],
    )
    def test_other(self, shown: str, other: str) -> None:
        """What differs in a fact, says more or says otherwise is an answer of its own."""
        assert not repeats(Claim(shown), Claim(other))
