"""Every behaviour of OTP's and Elixir's supervisors that applies here is proven by a test."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.architecture import rows
from tests.architecture.source import Module, modules

#: A test with its docstring's rows to come.
_TEST = 'def test_a():\n    """One.\n\n    Row: otp a\n    Row: elixir supervisor b/2: c\n    """\n'


def _claims() -> list[rows.Claim]:
    """Return what all tests say they prove."""
    return [claim for module in modules() for claim in rows.claims(module)]


class TestRows:
    def test_proven(self) -> None:
        """Every row that applies is carried by a test, and by none that is expected to fail."""
        claims = _claims()
        proven = {claim.title for claim in claims} - {c.title for c in claims if c.void}
        wanted = [row for row in rows.catalogue() if row.applies in {"Y", "A"}]
        missing = [row.title for row in wanted if row.title not in proven]

        assert not missing, f"{len(missing)} of {len(wanted)}:\n" + "\n".join(missing)

    def test_known(self) -> None:
        """Every row that a test carries is one that applies."""
        known = {row.title for row in rows.catalogue() if row.applies in {"Y", "A"}}
        unknown = [f"{c.place}: {c.title}" for c in _claims() if c.title not in known]

        assert not unknown, "\n".join(unknown)

    def test_reasons(self) -> None:
        """What does not apply says why, and only that."""
        wrong = [r.title for r in rows.catalogue() if (r.applies in {"N", "R"}) != bool(r.reason)]

        assert not wrong, "\n".join(wrong)

    def test_once(self) -> None:
        """No row is listed twice."""
        twice = [t for t, n in Counter(row.title for row in rows.catalogue()).items() if n > 1]

        assert not twice, "\n".join(twice)

    def test_count(self) -> None:
        """As many rows are listed as the suites that were looked through have tests."""
        assert {"Y": 120, "A": 14, "N": 144, "R": 11} == Counter(
            r.applies for r in rows.catalogue()
        )


class TestClaims:
    def test_of_a_test(self) -> None:
        """The rows of a test are read from the paragraph below its sentence."""
        module = Module.of("tests/test_a.py", _TEST)

        assert [
            ("tests/test_a.py:1", "otp a", False),
            ("tests/test_a.py:1", "elixir supervisor b/2: c", False),
        ] == list(rows.claims(module))
        assert "One." == rows.promise("One.\n\nRow: otp a\nRow: otp b")

    @pytest.mark.parametrize("mark", ["pytest.mark.xfail(reason='no')", "pytest.mark.skip"])
    def test_of_one_that_proves_nothing(self, mark: str) -> None:
        """A test that is expected to fail, or not run, takes its rows back."""
        module = Module.of("tests/test_a.py", f"@{mark}\n{_TEST}")

        assert [True, True] == [claim.void for claim in rows.claims(module)]

    def test_of_a_sentence(self) -> None:
        """A row in the middle of other words is no row, and stays part of the sentence."""
        words = "One.\n\nRow: otp a\nTwo."

        assert words == rows.promise(words)
