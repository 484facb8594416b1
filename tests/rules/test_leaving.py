"""Leaving a crumb: what is taken, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from cortex_actors.domain.memory import CrumbRecord, CrumbType, Priority
from cortex_actors.errors import BadInput, Refused
from cortex_actors.rules.admission import AdmissionRequest, make_crumb, to_request
from cortex_actors.testing import EPOCH

#: A key as an issuer shapes it, made up for this test.
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def left(**fields: Any) -> CrumbRecord:
    """Return the crumb that is made of what was given."""
    given = AdmissionRequest(**{"summary": "done", **fields})
    return make_crumb(given, agent="A", name="crm_1", at=EPOCH, saved_by="owner", session="A_1")


class TestTypes:
    @pytest.mark.parametrize(
        ("unfinished", "expected"), [([], "orientation"), (["x"], "task"), ([" "], "orientation")]
    )
    def test_default(self, unfinished: list[str], expected: str) -> None:
        """Without a type it is a task if something is unfinished, else for orientation [N-22]."""
        assert CrumbType(expected) is left(unfinished=unfinished).type

    def test_given(self) -> None:
        """A type and a priority that were given count, in whatever case."""
        found = left(unfinished=["x"], type="Technical", priority="high")

        assert (CrumbType.TECHNICAL, Priority.HIGH) == (found.type, found.priority)

    @pytest.mark.parametrize("field", ["type", "priority"])
    @pytest.mark.parametrize("word", ["BOGUS", "", 3])
    def test_unknown(self, field: str, word: object) -> None:
        """A word that nobody knows is refused with those there are [N-20]."""
        with pytest.raises(BadInput, match="there are"):
            left(**{field: word})


class TestTexts:
    def test_plain(self) -> None:
        """Texts lose what stands around them, and entries that say nothing are left out."""
        found = left(summary=" done\r\nwell ", discoveries=["", " a "], if_disoriented=["1"])

        assert ("done\nwell", ("a",), ("1",)) == (
            found.summary,
            found.discoveries,
            found.if_disoriented,
        )

    def test_numbers(self) -> None:
        """A feeling may be a number, and one reference may stand without a list."""
        found = left(emotional_state={"joy": 0.5}, references={"files": "a", "none": []})

        assert {"joy": "0.5"} == found.emotional_state
        assert {"files": ("a",)} == found.references

    def test_session(self) -> None:
        """The session's name is the one that was given, else the default."""
        assert ("A_1", "mine") == (left().session_id, left(session_id="mine").session_id)

    @pytest.mark.parametrize(
        "fields",
        [
            {"summary": " "},
            {"summary": None},
            {"summary": "\ud800"},
            {"summary": "x" * 70_000},
            {"discoveries": "a"},
            {"discoveries": [1]},
            {"unfinished": ["x"] * 101},
            {"emotional_state": []},
            {"emotional_state": {"joy": None}},
            {"emotional_state": {"a:b": "c"}},
            {"references": {"": "x"}},
            {"references": {"x" * 65: "x"}},
            {"references": {"files": [1]}},
            {"session_id": "two\nlines"},
            {"session_id": "x" * 129},
        ],
    )
    def test_refused(self, fields: dict[str, Any]) -> None:
        """What cannot be kept as it is, is refused."""
        with pytest.raises(BadInput):
            left(**fields)


class TestSecrets:
    @pytest.mark.parametrize(
        "fields",
        [
            {"summary": f"the key is {KEY}"},
            {"unfinished": ["x", f"rotate {KEY}"]},
            {"emotional_state": {"dread": KEY}},
            {"references": {"keys": [KEY]}},
            {"if_disoriented": [KEY]},
        ],
    )
    def test_refused(self, fields: dict[str, Any]) -> None:
        """A secret anywhere refuses the crumb, and the error does not repeat it."""
        with pytest.raises(Refused) as caught:
            left(**fields)

        assert KEY not in str(caught.value)
        assert "github" in str(caught.value)

    def test_masked(self) -> None:
        """Where that is wanted it is masked instead."""
        assert (
            "the key is [secret: github-token]"
            == left(summary=f"the key is {KEY}", redact=True).summary
        )


class TestAgain:
    def test_same(self) -> None:
        """A crumb that was taken is taken again as it is."""
        found = left(unfinished=["x"], references={"files": ["a", "b"]}, emotional_state={"a": "b"})
        given = to_request(found, redact=False)

        assert found == make_crumb(
            given, agent="A", name="crm_1", at=EPOCH, saved_by="owner", session="other"
        )
