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
            (
                "Run the formatter and the linter before a commit.",
                "Run the linter before a commit.",
            ),
        ],
    )
    def test_same(self, shown: str, other: str) -> None:
        """The same claim in other words, or less of it, is a repeat."""
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

    def test_command(self) -> None:
        """A command with another remark is the same in one project, and another one in another."""
        shown, other = Claim("make test # all of it"), Claim("make test # needs docker")

        assert repeats(shown, other, within=True)
        assert not repeats(shown, other)
        assert not repeats(shown, Claim("make lint # all of it"), within=True)
