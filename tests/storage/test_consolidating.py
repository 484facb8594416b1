"""Which of two memories is kept that say the same."""

from __future__ import annotations

import pytest

from cortex_actors.domain.memory import Layer, Realm
from cortex_actors.errors import BadInput
from cortex_actors.rules.decay import DECAYS, HOUR
from cortex_actors.storage.memory import memory_merge
from cortex_actors.testing import EPOCH
from tests.storage.things import mem, memory

#: Read more often, and with more attention: one is long-term, the other was said just now.
OFTEN = memory("often", -200 * HOUR, access_count=3, layer=Layer.SENSORY)
FRESH = memory("fresh", layer=Layer.WORKING, access_count=1)


class TestChosen:
    @pytest.mark.parametrize(
        ("keep", "kept"),
        [
            ("higher_access", OFTEN),
            ("higher_attention", FRESH),
            (" Higher_Attention ", FRESH),
            (mem("fresh"), FRESH),
            (f"#{mem('fresh')}", FRESH),
            (mem("often").removeprefix("mem_"), OFTEN),
        ],
    )
    def test_kept(self, keep: str, kept: object) -> None:
        """Kept is whichever was asked for, in whichever order the two are named."""
        for both in ((OFTEN, FRESH), (FRESH, OFTEN)):
            chosen = memory_merge.choose_kept(*both, keep, now=EPOCH, decays=DECAYS)
            assert kept == chosen[0]
            assert set(both) == set(chosen)

    @pytest.mark.parametrize("keep", ["higher_access", "higher_attention"])
    def test_equal(self, keep: str) -> None:
        """Of two that are equal the first is kept."""
        both = memory("b"), memory("a")

        assert both == memory_merge.choose_kept(*both, keep, now=EPOCH, decays=DECAYS)

    @pytest.mark.parametrize("keep", ["", "both", "mem_", "mem_0000000", mem("another")])
    def test_wrong(self, keep: str) -> None:
        """Any other word is refused with the words there are, and so is what means both."""
        with pytest.raises(BadInput, match="higher_access, higher_attention"):
            memory_merge.choose_kept(OFTEN, FRESH, keep, now=EPOCH, decays=DECAYS)

    def test_other_readers(self) -> None:
        """On a bridge, one does not stand for another that others may read."""
        one = memory("one", realm=Realm.BRIDGE, related=("B",))
        other = memory("other", realm=Realm.BRIDGE, related=("C",))

        with pytest.raises(BadInput, match="others may read"):
            memory_merge.choose_kept(one, other, "higher_access", now=EPOCH, decays=DECAYS)
