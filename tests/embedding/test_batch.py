from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.embedding.batch import Line
from cortex_actors.errors import MailboxFull


@pytest.fixture
def line() -> Line:
    """Give a line with batches of three, half a second and room for five."""
    return Line(items=3, seconds=0.5, limit=5)


class TestDue:
    def test_empty(self, line: Line) -> None:
        """Nothing is ever due in an empty line."""
        assert line.due(0.0) is None
        assert [] == line.take(99.0)

    def test_time(self, line: Line) -> None:
        """A few texts go when the oldest has waited long enough."""
        line.add(["a"], urgent=False, at=1.0)
        line.add(["b"], urgent=False, at=1.4)

        assert 0.25 == line.due(1.25)
        assert [] == line.take(1.25)
        assert ["a", "b"] == line.take(1.5)

    def test_items(self, line: Line) -> None:
        """A full batch goes at once, in the order of arrival, and leaves the rest."""
        line.add("abcd", urgent=False, at=1.0)

        assert ["a", "b", "c"] == line.take(1.0)
        assert 0.5 == line.due(1.0)
        assert 1 == len(line)


class TestUrgent:
    def test_first(self, line: Line) -> None:
        """An urgent text is due at once and goes without the patient ones."""
        line.add("abc", urgent=False, at=1.0)
        line.add("q", urgent=True, at=1.0)

        assert ["q"] == line.take(1.0)
        assert ["a", "b", "c"] == line.take(1.0)

    def test_moves_up(self, line: Line) -> None:
        """A waiting text that has become urgent goes once, and now."""
        line.add("ab", urgent=False, at=1.0)
        line.add("b", urgent=True, at=1.0)

        assert ["b"] == line.take(1.0)
        assert ["a"] == line.take(1.5)

    def test_stays_urgent(self, line: Line) -> None:
        """A patient request does not slow an urgent one of the same text."""
        line.add("a", urgent=True, at=1.0)
        line.add("a", urgent=False, at=1.0)

        assert ["a"] == line.take(1.0)
        assert 0 == len(line)


class TestLimit:
    def test_all_or_none(self, line: Line) -> None:
        """Texts that do not fit are refused together, and the error names the setting."""
        line.add("abcd", urgent=False, at=0.0)

        with pytest.raises(MailboxFull, match="embedding.queue_limit = 5"):
            line.add("ef", urgent=False, at=0.0)
        assert 4 == len(line)

    def test_known_texts(self, line: Line) -> None:
        """Texts that wait already take no more room."""
        line.add("abcde", urgent=False, at=0.0)
        line.add("edcba", urgent=False, at=0.0)

        assert 5 == len(line)

    def test_urgent_room(self, line: Line) -> None:
        """A line full of patient texts has room for the urgent."""
        line.add("abcde", urgent=False, at=0.0)
        line.add("q", urgent=True, at=0.0)

        assert ["q"] == line.take(0.0)


class TestEveryText:
    @given(st.lists(st.tuples(st.text("abcdefgh", max_size=4), st.booleans()), max_size=20))
    def test_goes_once(self, requests: list[tuple[str, bool]]) -> None:
        """Every text that was added goes exactly once, in batches of the size allowed."""
        line = Line(items=3, seconds=0.5, limit=100)
        for texts, urgent in requests:
            line.add(texts, urgent=urgent, at=0.0)
        batches = []
        while batch := line.take(1.0):
            batches.append(batch)

        gone = [text for batch in batches for text in batch]
        assert {letter for texts, _ in requests for letter in texts} == set(gone)
        assert len(set(gone)) == len(gone)
        assert all(len(batch) <= 3 for batch in batches)
