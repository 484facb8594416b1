"""Tags: one form for what is filed, so that it is found however it is written."""

from __future__ import annotations

import pytest

from cortex_actors.errors import BadInput
from cortex_actors.text.terms import LONGEST, MOST, normalise_tags


class TestForm:
    def test_one_form(self) -> None:
        """Case, blanks and the way an accent is written make no difference; each comes once."""
        given = ["Deploy  Notes", " deploy notes ", "caf\u00e9", "cafe\u0301", "priority:HIGH"]

        assert ("deploy notes", "caf\u00e9", "priority:high") == normalise_tags(given)

    def test_none(self) -> None:
        """No tags are no tags."""
        assert () == normalise_tags([]) == normalise_tags(())

    def test_stable(self) -> None:
        """A tag in its form stays as it is."""
        made = normalise_tags(["A b", "\u0130stanbul", "\u1e9e"])

        assert made == normalise_tags(list(made))


class TestRefused:
    @pytest.mark.parametrize("given", ["deploy", None, 5, {"a": 1}, [5], [None], [""], [" "]])
    def test_no_tags(self, given: object) -> None:
        """What is no list of words is refused."""
        with pytest.raises(BadInput, match="tags"):
            normalise_tags(given)

    @pytest.mark.parametrize(
        "letter", ["\0", "\x1b", "\u200b", "\u202e", "\ud800", "\u2800", "\u3164"]
    )
    def test_hidden(self, letter: str) -> None:
        """So is one with a character that nobody sees."""
        with pytest.raises(BadInput, match="nothing that can be read"):
            normalise_tags([f"a{letter}b"])

    def test_limits(self) -> None:
        """The longest and the most are taken, and no more."""
        assert MOST == len(
            normalise_tags([str(number) * LONGEST for number in range(10)] + list(_others()))
        )
        with pytest.raises(BadInput, match="too long"):
            normalise_tags(["x" * (LONGEST + 1)])
        with pytest.raises(BadInput, match=f"{MOST + 1} tags"):
            normalise_tags([f"t{number}" for number in range(MOST + 1)])


def _others() -> list[str]:
    """Return the tags that are missing to the most."""
    return [f"t{number}" for number in range(MOST - 10)]
