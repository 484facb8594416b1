from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cortex_actors.errors import StoreDown
from cortex_actors.federation.answers import (
    ID_BITS,
    ID_LIMIT,
    ROWS,
    answer,
    make_hit,
    read_hits,
    read_id,
    read_number,
    read_text,
    record,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.hit import RankedHit

#: Whatever JSON can hold.
JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=8,
)

SHAPE = "a store's answer"


def read(row: Mapping[str, Any]) -> RankedHit | None:
    """Return a hit, as an adapter would."""
    known, words = read_id(row.get("id")), read_text(row.get("text"))
    return make_hit("other", known, text=words) if known and words else None


class TestListed:
    @pytest.mark.parametrize(
        ("document", "notes"),
        [
            ({"hits": []}, ()),
            ({"hits": None}, ()),
            ({}, ("answered without hits, which counts as none",)),
        ],
    )
    def test_nothing(self, document: object, notes: tuple[str, ...]) -> None:
        """No hits is an answer; a document without a word of them is one too, and says so."""
        found = read_hits(document, read, limit=2, shape=SHAPE)

        assert ((), notes) == (found.hits, found.skipped)

    @pytest.mark.parametrize("document", [[], "hits", 5, None, {"hits": {}}, {"hits": "none"}])
    def test_other(self, document: object) -> None:
        """What is no object, or has something else than a list there, is no answer."""
        with pytest.raises(StoreDown, match="in a shape that is not a store's answer; see"):
            read_hits(document, read, limit=2, shape=SHAPE)


class TestAnswer:
    def test_order(self) -> None:
        """Hits stay in order, the first place of an id counts, and no more come than are wanted."""
        rows = [{"id": each, "text": f"{n}"} for n, each in enumerate(["b", "a", "b", 7, "c"])]
        found = answer(rows, read, limit=3, shape=SHAPE, notes=("of old",))

        assert [("b", "0"), ("a", "1"), ("7", "3")] == [(hit.id, hit.text) for hit in found.hits]
        assert ("of old",) == found.skipped

    @pytest.mark.parametrize("bad", [None, 5, [], {}, {"id": "x"}, {"text": "x"}])
    def test_some(self, bad: object) -> None:
        """What is no hit is left out and counted, unless it is all there is."""
        found = answer([bad, {"id": "a", "text": "x"}, bad], read, limit=9, shape=SHAPE)

        assert ["a"] == [hit.id for hit in found.hits]
        assert ("2 of its 3 hits have no id or no text and are left out",) == found.skipped
        with pytest.raises(StoreDown):
            answer([bad], read, limit=9, shape=SHAPE)

    def test_too_many(self) -> None:
        """Of many more rows than were asked for only the first few are looked at."""
        looked: list[object] = []

        def noted(row: Mapping[str, Any]) -> RankedHit | None:
            looked.append(row)
            return read(row)

        rows = [{"id": str(n), "text": "x"} for n in range(10_000)]
        found = answer(rows, noted, limit=5, shape=SHAPE)

        assert (5, 5 * ROWS) == (len(found.hits), len(looked))

    @given(document=JSON)
    def test_anything(self, document: object) -> None:
        """Whatever JSON comes is an answer or `StoreDown`, and every hit has an id and a text."""
        try:
            found = read_hits({"hits": document}, read, limit=2, shape=SHAPE)
        except StoreDown:
            return
        assert len(found.hits) <= 2
        assert all(hit.id and hit.text for hit in found.hits)


class TestValues:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("a", "a"),
            (17, "17"),
            (-3, "-3"),
            (2**ID_BITS, ""),
            ("x" * ID_LIMIT, "x" * ID_LIMIT),
            ("x" * (ID_LIMIT + 1), ""),
            ("a\nb", ""),
            ("a\u200bb", ""),
            (True, ""),
            (1.5, ""),
            (None, ""),
            (["a"], ""),
        ],
    )
    def test_id(self, value: object, expected: str) -> None:
        """An id is a word that can be seen, or a number that can be one."""
        assert expected == read_id(value)

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (1, 1.0),
            (0.5, 0.5),
            (True, None),
            ("1", None),
            (float("nan"), None),
            (float("inf"), None),
            (10**400, None),
            (None, None),
        ],
    )
    def test_number(self, value: object, expected: float | None) -> None:
        """A number is one that can be reckoned with."""
        assert expected == read_number(value)

    def test_text(self) -> None:
        """A text can be written; half of a character is a question mark."""
        assert ("a?b", "", "") == (read_text("a\ud800b"), read_text(5), read_text(None))

    def test_record(self) -> None:
        """An object is copied; anything else has nothing in it."""
        given = {"a": 1}
        copy = record(given)
        copy["b"] = 2

        assert ({"a": 1}, {}) == (given, record([given]))
