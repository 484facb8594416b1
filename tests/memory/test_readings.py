"""What was read is gathered within bounds, and sealed under one name until it is written."""

from __future__ import annotations

import pytest

from cortex_actors.domain.memory import Access
from cortex_actors.memory import custodian
from cortex_actors.memory.custodian import Readings
from cortex_actors.storage.memory.memory_attention import AccessCount


class TestReadings:
    def test_gathered(self) -> None:
        """A memory that is read again is one reading: how often, and when last."""
        some = Readings(relevance=0.3)
        some.take([Access("a", 0.5), Access("b", 0.5)], 5)
        some.take([Access("a", 0.3)], 3)
        sealed = some.seal("first")

        assert sealed is not None
        assert {"a": AccessCount(2, 5), "b": AccessCount(1, 5)} == sealed.readings

    def test_sealed(self) -> None:
        """What is sealed keeps its name and its content until it was written."""
        some = Readings(relevance=0.3)
        assert some.seal("none") is None
        some.take([Access("a", 0.5)], 1)
        first = some.seal("first")
        some.take([Access("a", 0.5), Access("b", 0.5)], 2)

        assert first == some.seal("later")
        assert 3 == len(some)
        some.forget_sealed()
        second = some.seal("second")
        assert first is not None
        assert second is not None
        assert ("first", "second") == (first.name, second.name)
        assert {"a", "b"} == set(second.readings)

    def test_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond its bound it takes down no other memories, and counts what it left out."""
        monkeypatch.setattr(custodian, "MOST", 2)
        some = Readings(relevance=0.3)
        some.take([Access(each, 0.5) for each in "abcab"], 1)

        assert (2, 1) == (len(some), some.lost)

    @pytest.mark.parametrize(
        ("access", "expected"),
        [
            (Access("a", 0.3), 0),
            (Access("a", 0.2999), 1),
            (Access("a"), 1),
            (Access("a", -1.0, by_words=True), 0),
        ],
    )
    def test_relevance(self, access: Access, expected: int) -> None:
        """What is near enough counts, and what shares words; equal is enough."""
        some = Readings(relevance=0.3)
        some.take([access], 1)

        assert expected == some.irrelevant
        assert 1 - expected == len(some)
