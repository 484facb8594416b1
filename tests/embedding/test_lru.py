from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.embedding.cache import Lru


class TestForgetting:
    def test_least_recently_used(self) -> None:
        """What was not used for longest goes first, not what came first."""
        lru: Lru[str, int] = Lru(2)
        lru.put("a", 1)
        lru.put("b", 2)
        lru.get("a")
        lru.put("c", 3)

        assert 1 == lru.get("a")
        assert lru.get("b") is None

    def test_put_again(self) -> None:
        """Putting a key again renews it and takes no more room."""
        lru: Lru[str, int] = Lru(2)
        for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
            lru.put(key, value)

        assert 2 == len(lru)
        assert 3 == lru.get("a")
        assert "b" not in lru

    @given(
        st.integers(1, 4),
        st.lists(st.tuples(st.sampled_from("abcdefg"), st.booleans()), max_size=60),
    )
    def test_like_a_list(self, entries: int, steps: list[tuple[str, bool]]) -> None:
        """It holds what a list in order of use, cut at the same length, would hold."""
        lru: Lru[str, int] = Lru(entries)
        used: dict[str, int] = {}
        for number, (key, put) in enumerate(steps):
            if put:
                lru.put(key, number)
                used.pop(key, None)
                used[key] = number
            elif key in used:
                used[key] = used.pop(key)
            for oldest in list(used)[: max(0, len(used) - entries)]:
                del used[oldest]
            assert used.get(key) == lru.get(key)

        assert len(used) == len(lru)
