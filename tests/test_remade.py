"""What is said of a compiled model that was lost, while it is made again and before."""

from __future__ import annotations

from typing import Any

import pytest

from cortex_actors.api.system.daemon import meanwhile

LOST = "mini+int8-01234567"

#: An embedder whose compiled model is gone, and what it advises.
MISSING = {"id": LOST, "state": "missing", "reason": "do so now: cortex model prepare"}


class TestMeanwhile:
    def test_remade(self) -> None:
        """While it is compiled nothing is asked of anybody."""
        found = meanwhile(MISSING, {"state": "compiling", "making": {"source": "mini"}})

        assert f"the compiled model {LOST} is lost; it is being made again" == found["reason"]

    @pytest.mark.parametrize(
        ("model", "moving"),
        [
            (MISSING, {"making": None}),
            (MISSING, {"making": {"source": "maxi"}}),
            (MISSING, {}),
            ({**MISSING, "state": "ready"}, {"making": {"source": "mini"}}),
            ({"state": "away"}, {"making": {"source": "mini"}}),
        ],
    )
    def test_else(self, model: dict[str, Any], moving: dict[str, Any]) -> None:
        """In any other case the reason stays, with its mend."""
        assert model == meanwhile(model, moving)
