"""The real tree on a home that stays, with its index in memory: each life starts at once."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from cortex_actors.assembly.context import Outside
from cortex_actors.clock import SystemClock
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from cortex_actors.settings import Settings
from cortex_actors.tree import grow
from tests.simulation.index import Shelf

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.tree import Tree
    from tests.simulation.weather import Weather

#: No rests, and no looks but at the start and after the kernel's hints.
QUICK = {
    "embedding": {"provider": "hashing", "batch_ms": 1},
    "watching": {"sweep_s": 60.0, "debounce_ms": 10},
}


class Calm:
    """The weather of a simulation in which nothing happens."""

    def delay(self, _usual: float) -> float:
        """Return no seconds."""
        return 0.0

    def strikes(self, _what: str, _share: float) -> bool:
        """Tell that nothing strikes."""
        return False


@asynccontextmanager
async def standing(root: Path, **sections: Any) -> AsyncIterator[Tree]:
    """Run the tree of a home; stop it afterwards, if the process still is."""
    home, clock = Home.find(root, {}), SystemClock()
    home.create()
    logs = LogStream(home.logs / "cortex.ndjson", clock)
    shelf = Shelf(cast("Weather", Calm()), clock)
    settings = Settings.model_validate({**QUICK, **sections})
    tree = grow(home, settings, clock, logs, outside=Outside(spawn=shelf.spawn))
    await tree.start()
    try:
        yield tree
    finally:
        await tree.stop(8)
        logs.close()
