from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.embedding.tokens import make_batches

LENGTHS = st.lists(st.integers(2, 300), max_size=60)


class TestBatches:
    @settings(max_examples=50)
    @given(lengths=LENGTHS, budget=st.integers(1, 600), threads=st.integers(1, 4))
    def test_each_once(self, lengths: list[int], budget: int, threads: int) -> None:
        """Every piece is in exactly one batch."""
        batches = make_batches(lengths, budget=budget, threads=threads)

        assert list(range(len(lengths))) == sorted(n for batch in batches for n in batch)

    @settings(max_examples=50)
    @given(lengths=LENGTHS, budget=st.integers(1, 600), threads=st.integers(1, 4))
    def test_budget(self, lengths: list[int], budget: int, threads: int) -> None:
        """A batch holds no more than its budget, padding included, or a single piece."""
        for batch in make_batches(lengths, budget=budget, threads=threads):
            padded = len(batch) * max(lengths[number] for number in batch)
            assert padded <= budget or 1 == len(batch)

    def test_longest_first(self) -> None:
        """The longest pieces go first, together with those of like length."""
        assert [[1], [3, 0], [2, 4]] == make_batches([20, 90, 5, 22, 4], budget=50, threads=1)

    def test_shares(self) -> None:
        """What would leave a thread without work in the last round is cut into equal shares."""
        sizes = [len(b) for b in make_batches([10] * 60, budget=256, threads=2)]

        assert [15, 15, 15, 15] == sizes

    def test_nothing(self) -> None:
        """No texts are no batches."""
        assert [] == make_batches([], budget=256, threads=2)
