from __future__ import annotations

import pytest

from cortex_actors.text.claims import ranges
from cortex_actors.text.lexicon import standard, wording
from cortex_actors.text.polarity import senses


def _found(text: str) -> dict[str, tuple[float, bool]]:
    said = wording(text)
    found = ranges(said, senses(said, standard()), lexicon=standard())
    return {slot: (each.least, each.is_exact) for slot, each in found.items()}


class TestMeasures:
    @pytest.mark.parametrize(
        ("text", "slot", "least"),
        [
            ("Line length: 100", "line-length", 100),
            ("max 88 chars per line", "line-length", 88),
            ("Python max line length is 120, not 88", "line-length", 120),
            ("Functions have at most twelve lines", "function-length", 12),
            ("2-space indentation", "indentation-width", 2),
            ("Coverage \u2265 80%", "coverage", 80),
        ],
    )
    def test_number(self, text: str, slot: str, least: float) -> None:
        """A number belongs to the measure whose words stand beside it."""
        assert least == _found(text)[slot][0]

    def test_two_numbers(self) -> None:
        """A measure with two numbers in one statement is left out."""
        assert {} == _found("Files have 200 lines, tests in files 400 lines")

    def test_no_measure(self) -> None:
        """A number alone measures nothing."""
        assert {} == _found("There are 80 things and 3 reasons")


class TestVersions:
    def test_exact(self) -> None:
        """A version stands for all its releases, and "or later" for all that come."""
        exact = {"version of python": (3_011_000.0, True)}

        assert exact == _found("Use Python 3.11")
        assert {"version of node": (18_000_000.0, False)} == _found("Node.js 18 or newer")
