"""How present a memory still is: one formula, and the greatest age a least attention allows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.domain.memory import Layer, Memory, Realm
from cortex_actors.rules.decay import (
    CLOSE,
    DECAYS,
    EVER,
    HOUR,
    Decay,
    attention,
    compute_attention,
    compute_bonus,
    find_floor,
    find_fresh_age,
    find_window,
)

#: The document's numbers: layer, hours since it was touched, accesses, attention.
VECTORS = (
    (Layer.SENSORY, 6, 0, 0.5),
    (Layer.SENSORY, 6, 3, 0.8),
    (Layer.SENSORY, 100, 0, 0.1),
    (Layer.WORKING, 72, 10, 1.0),
    (Layer.WORKING, 720, 2, 0.201),
    (Layer.LONG_TERM, 720, 0, 0.5),
    (Layer.LONG_TERM, 8_760, 0, 0.3),
    (Layer.CORTEX, 1_000_000, 0, 1.0),
)

layers = st.sampled_from(Layer)
counts = st.integers(0, 12)
ages = st.integers(0, 10**16)
decays = st.fixed_dictionaries(
    {
        layer: st.builds(
            Decay,
            half_life_h=st.floats(0.01, 100_000, allow_subnormal=False),
            floor=st.floats(0, 1),
        )
        for layer in DECAYS
    }
)


def memory(**known: object) -> Memory:
    """Return a memory that was said at the beginning of time."""
    fields = {"id": "mem_1", "realm": Realm.PRIVATE, "agent_id": "CLAUDE", "text": "x"}
    return Memory(**{**fields, "created_at": 0, **known})  # type: ignore[arg-type]


class TestAttention:
    @pytest.mark.parametrize(("layer", "hours", "count", "expected"), VECTORS)
    def test_document(self, layer: Layer, hours: int, count: int, expected: float) -> None:
        """The numbers of the document come out."""
        assert expected == round(attention(layer, hours * HOUR, count), 3)

    def test_ahead(self) -> None:
        """A time that lies ahead of the clock is now."""
        assert 1.0 == attention(Layer.WORKING, -5 * HOUR, 0)

    def test_most(self) -> None:
        """However often a memory was read, that adds a half and no more."""
        assert [0.0, 0.1, 0.5, 0.5] == [compute_bonus(count) for count in (0, 1, 5, 5_000)]
        assert 1.5 == attention(Layer.SENSORY, 0, 5_000)

    @given(layer=layers, count=counts, age=ages, older=ages, other=decays)
    def test_falls(
        self, layer: Layer, count: int, age: int, older: int, other: dict[Layer, Decay]
    ) -> None:
        """It never rises with age, and stays between nothing and one and a half."""
        young, old = sorted((age, older))
        found = [attention(layer, each, count, other) for each in (young, old)]

        assert 1.5 >= found[0] >= found[1] >= 0


class TestOf:
    def test_touched(self) -> None:
        """The age counts from when a memory was last said, read or promoted."""
        day = 24 * HOUR
        read = memory(accessed_at=day, access_count=1)
        promoted = memory(accessed_at=day, access_count=1, promoted_at=4 * day)

        assert 0.5 == compute_attention(memory(), 3 * day)
        assert 0.6 == compute_attention(read, 4 * day)
        assert 0.6 == compute_attention(promoted, 7 * day)

    def test_pinned(self) -> None:
        """What is pinned does not fade."""
        assert 1.0 == compute_attention(memory(pinned_at=1, layer=Layer.SENSORY), 10**15)


class TestWindow:
    def test_document(self) -> None:
        """A memory of the first layer that was never read is half forgotten after six hours."""
        assert 6 * HOUR == find_window(Layer.SENSORY, 0, 0.5)

    def test_ends(self) -> None:
        """What the floor or the accesses give holds at any age; what nothing gives, at none."""
        assert EVER == find_window(Layer.WORKING, 0, 0.2)
        assert EVER == find_window(Layer.WORKING, 5, 0.5)
        assert EVER == find_window(Layer.CORTEX, 0, 1.0)
        assert find_window(Layer.CORTEX, 9, 1.1) is None
        assert find_window(Layer.WORKING, 2, 1.3) is None

    @given(layer=layers, count=counts, age=ages, least=st.floats(0, 1.6), other=decays)
    def test_agrees(
        self, layer: Layer, count: int, age: int, least: float, other: dict[Layer, Decay]
    ) -> None:
        """A memory has the least attention exactly while it is not older than the window."""
        far = find_window(layer, count, least, other)

        is_within = far is not None and age <= far
        assert is_within == (attention(layer, age, count, other) >= least)

    @given(layer=layers, count=counts, least=st.floats(0, 1.6), other=decays)
    def test_edge(self, layer: Layer, count: int, least: float, other: dict[Layer, Decay]) -> None:
        """The window ends at the very microsecond."""
        far = find_window(layer, count, least, other)

        if far is not None and far != EVER:
            assert attention(layer, far, count, other) >= least
            assert attention(layer, far + 1, count, other) < least

    @given(layer=layers, count=counts, age=ages, other=decays)
    def test_own(self, layer: Layer, count: int, age: int, other: dict[Layer, Decay]) -> None:
        """What a memory has is within the window for it: equal is enough."""
        far = find_window(layer, count, attention(layer, age, count, other), other)

        assert far is not None
        assert far >= age


class TestFaded:
    def test_kept(self) -> None:
        """What a memory keeps for ever is its floor, or what its accesses give."""
        assert [0.1, 0.1, 0.2] == [find_floor(Layer.SENSORY, count) for count in (0, 1, 2)]
        assert 1.0 == find_floor(Layer.CORTEX, 0)

    @given(layer=st.sampled_from(sorted(DECAYS)), count=counts, age=ages, other=decays)
    def test_fresh(self, layer: Layer, count: int, age: int, other: dict[Layer, Decay]) -> None:
        """A memory has faded exactly when it is near what it keeps for ever."""
        fresh = find_fresh_age(layer, count, other)

        has_faded = attention(layer, age, count, other) <= find_floor(layer, count, other) + CLOSE
        assert has_faded == (fresh is None or age > fresh)

    def test_cortex(self) -> None:
        """What lies in the cortex never fades."""
        assert EVER == find_fresh_age(Layer.CORTEX, 0)
