"""When a memory has earned a deeper layer, and the words for why it has not."""

from __future__ import annotations

import pytest

from cortex_actors.domain.memory import Layer
from cortex_actors.rules.decay import (
    HOUR,
    Earning,
    Judged,
    find_next_layer,
    find_ripe_time,
    is_deeper,
    judge,
)

#: layer, accesses, hours since it was said -> the layer earned, and why.
VECTORS = (
    (Layer.SENSORY, 1, 0, None, "Access count 1 < threshold 2"),
    (Layer.SENSORY, 2, 0, Layer.WORKING, "Access count 2 >= threshold 2"),
    (Layer.WORKING, 4, 900, None, "Access count 4 < threshold 5"),
    (Layer.WORKING, 5, 23.9, None, "Age 23.9h < minimum 24h"),
    (Layer.WORKING, 5, 23.999, None, "Age 23.9h < minimum 24h"),
    (
        Layer.WORKING,
        5,
        24,
        Layer.LONG_TERM,
        "Access count 5 >= threshold 5, age 24.0h >= minimum 24h",
    ),
    (Layer.LONG_TERM, 900, 9_000, None, "Requires special promotion criteria"),
    (Layer.CORTEX, 900, 9_000, None, "Already at cortex layer"),
)


class TestJudge:
    @pytest.mark.parametrize(("layer", "count", "hours", "to", "reason"), VECTORS)
    def test_document(
        self, layer: Layer, count: int, hours: float, to: Layer | None, reason: str
    ) -> None:
        """The steps and the reasons are the document's, and what is reached is enough."""
        assert Judged(to, reason) == judge(layer, count, age_us=round(hours * HOUR))

    def test_settings(self) -> None:
        """Every number of the document may be another one."""
        earning = Earning(sensory_accesses=1, working_accesses=3, working_age_h=0.5)

        assert Layer.WORKING == judge(Layer.SENSORY, 1, age_us=0, earning=earning).to
        assert "Access count 2 < threshold 3" == (
            judge(Layer.WORKING, 2, age_us=0, earning=earning).reason
        )
        assert "Age 0.2h < minimum 0.5h" == (
            judge(Layer.WORKING, 3, age_us=HOUR // 4, earning=earning).reason
        )


class TestOrder:
    def test_below(self) -> None:
        """Each layer leads to the next, and the cortex nowhere."""
        assert [Layer.WORKING, Layer.LONG_TERM, Layer.CORTEX, None] == [
            find_next_layer(each) for each in Layer
        ]

    def test_deeper(self) -> None:
        """No layer is deeper than itself."""
        assert is_deeper(Layer.CORTEX, Layer.SENSORY)
        assert not any(is_deeper(each, each) for each in Layer)
        assert not is_deeper(Layer.SENSORY, Layer.WORKING)


class TestRipe:
    def test_waits(self) -> None:
        """What was read often enough waits until it is a day old."""
        assert 25 * HOUR == find_ripe_time(Layer.WORKING, 5, said_at=HOUR)

    def test_waits_for_nothing(self) -> None:
        """What was not read often enough, or needs more than reading, does not wait."""
        found = [
            find_ripe_time(layer, count, said_at=0)
            for layer, count in ((Layer.WORKING, 4), (Layer.LONG_TERM, 99), (Layer.CORTEX, 99))
        ]

        assert [None, None, None] == found
