"""An actor of the real tree that hangs: what the log and the topics say of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from cortex_actors import topics
from cortex_actors.testing import eventually
from tests.flow.support import grown

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.domain.event import Event, Payload


@pytest.mark.slow
class TestHanging:
    async def test_is_told(self, tmp_home: Path) -> None:
        """It is crashed by the tree's own watchdog, its branch goes on, and everybody hears why."""
        said: list[tuple[str, str, str]] = []

        def hear(event: Event[Payload]) -> None:
            payload = event.payload
            said.append((event.topic, payload.name, payload.reason))  # type: ignore[attr-defined]

        async with grown(tmp_home) as tree:
            tree.bus.subscribe("actor:*", hear)
            ref = tree.parts.names.list_known()["organiser"]
            ref.life.spawn(asyncio.Event().wait(), "held", 0.05)
            await eventually(lambda: any(topics.ACTOR_RESTARTED == topic for topic, *_ in said))
            alive = tree.parts.names.list_known()

        ((name, reason),) = [(who, why) for what, who, why in said if what == topics.ACTOR_CRASHED]
        assert "organiser" == name
        assert reason.startswith("Stuck('organiser has been at held for ")
        assert "organiser" in alive
        assert [] == [who for what, who, _ in said if what == topics.ACTOR_GAVE_UP]
