from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.embedding.pool import EmbeddingQueue
from cortex_actors.errors import MailboxFull


@pytest.fixture
def line() -> EmbeddingQueue:
    """Give a line with batches of three, half a second and room for five."""
    return EmbeddingQueue(items=3, seconds=0.5, limit=5)


def taken(line: EmbeddingQueue, at: float, *, urgent: bool = False) -> list[str]:
    """Return the texts that a lane gives now."""
    return line.take(at, urgent=urgent)


class TestDue:
    def test_empty(self, line: EmbeddingQueue) -> None:
        """Nothing is ever due in an empty line."""
        assert line.find_due(0.0, urgent=False) is None
        assert line.find_due(0.0, urgent=True) is None
        assert [] == line.take(99.0, urgent=False)

    def test_time(self, line: EmbeddingQueue) -> None:
        """A few texts go when the oldest has waited long enough."""
        line.add(["a"], urgent=False, at=1.0)
        line.add(["b"], urgent=False, at=1.4)

        assert 0.25 == line.find_due(1.25, urgent=False)
        assert [] == taken(line, 1.25)
        assert ["a", "b"] == taken(line, 1.5)

    def test_items(self, line: EmbeddingQueue) -> None:
        """A full batch goes at once, in the order of arrival, and leaves the rest."""
        line.add("abcd", urgent=False, at=1.0)

        assert ["a", "b", "c"] == taken(line, 1.0)
        assert 0.5 == line.find_due(1.0, urgent=False)
        assert 1 == len(line)


class TestBulk:
    def test_more(self) -> None:
        """When more than a batch waits, as many go at once as the model likes best."""
        line = EmbeddingQueue(items=2, seconds=0.5, limit=50, bulk=5)
        line.add("abcdefg", urgent=False, at=0.0)

        assert list("abcde") == taken(line, 0.0)
        assert list("fg") == taken(line, 0.0)

    def test_never_fewer(self) -> None:
        """A model that likes small batches still gets those that the settings ask for."""
        line = EmbeddingQueue(items=3, seconds=0.5, limit=50, bulk=1)
        line.add("abcd", urgent=False, at=0.0)

        assert list("abc") == taken(line, 0.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    texts: str
    urgent: bool


class TestUrgent:
    def test_first(self, line: EmbeddingQueue) -> None:
        """An urgent text is due at once and goes without the patient ones."""
        line.add("ab", urgent=False, at=1.0)
        line.add("q", urgent=True, at=1.0)

        assert 0.0 == line.find_due(1.0, urgent=True)
        assert ["q"] == taken(line, 1.0, urgent=True)
        assert [] == taken(line, 1.0)
        assert ["a", "b"] == taken(line, 1.5)

    def test_moves_up(self, line: EmbeddingQueue) -> None:
        """A waiting text that has become urgent goes once, and now."""
        line.add("ab", urgent=False, at=1.0)
        line.add("b", urgent=True, at=1.0)

        assert 2 == len(line)
        assert ["b"] == taken(line, 1.0, urgent=True)
        assert ["a"] == taken(line, 1.5)

    def test_stays_urgent(self, line: EmbeddingQueue) -> None:
        """A patient request does not slow an urgent one of the same text."""
        line.add("a", urgent=True, at=1.0)
        line.add("a", urgent=False, at=1.0)

        assert ["a"] == taken(line, 1.0, urgent=True)
        assert 0 == len(line)

    def test_many(self, line: EmbeddingQueue) -> None:
        """More urgent texts than fit into a batch go in several, in their order."""
        line.add("abcd", urgent=True, at=1.0)

        assert list("abc") == taken(line, 1.0, urgent=True)
        assert ["d"] == taken(line, 1.0, urgent=True)


class TestLimit:
    def test_all_or_none(self, line: EmbeddingQueue) -> None:
        """Texts that do not fit are refused together, and the error names the setting."""
        line.add("abcd", urgent=False, at=0.0)

        with pytest.raises(MailboxFull, match="embedding.queue_limit = 5"):
            line.add("ef", urgent=False, at=0.0)
        assert 4 == len(line)

    def test_known_texts(self, line: EmbeddingQueue) -> None:
        """Texts that wait already take no more room."""
        line.add("abcde", urgent=False, at=0.0)
        line.add("edcba", urgent=False, at=0.0)

        assert 5 == len(line)

    def test_urgent_room(self, line: EmbeddingQueue) -> None:
        """A line full of patient texts has room for the urgent."""
        line.add("abcde", urgent=False, at=0.0)
        line.add("q", urgent=True, at=0.0)

        assert ["q"] == taken(line, 0.0, urgent=True)


class TestEveryText:
    @given(
        st.lists(st.builds(Asked, st.text("abcdefgh", max_size=4), st.booleans()), max_size=20),
        st.integers(0, 20),
    )
    def test_goes_once(self, requests: list[Asked], after: int) -> None:
        """Every text that was added goes exactly once, in batches of the size allowed."""
        line = EmbeddingQueue(items=3, seconds=0.5, limit=100)
        batches = []
        for number, asked in enumerate(requests):
            line.add(asked.texts, urgent=asked.urgent, at=0.0)
            if number == after:
                batches += [taken(line, 1.0), taken(line, 1.0, urgent=True)]
        known = {letter for asked in requests[after + 1 :] for letter in asked.texts}
        early = {text for batch in batches for text in batch}
        rest = []
        for urgent in (True, False):
            while batch := taken(line, 1.0, urgent=urgent):
                rest.append(batch)

        gone = [text for batch in rest for text in batch]
        wanted = {letter for asked in requests for letter in asked.texts}
        assert wanted - early <= set(gone) <= (wanted - early) | known
        assert len(set(gone)) == len(gone)
        assert all(len(batch) <= 3 for batch in batches + rest)
        assert 0 == len(line)
