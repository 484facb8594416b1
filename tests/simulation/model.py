"""An embedding model that is slow, refuses, goes away and crashes whoever asks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.embedding.factory import HashingProvider
from cortex_actors.errors import BadInput, EmbedderDown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Vectors
    from tests.simulation.weather import Weather

#: Numbers in a vector: few, because nobody judges what is near.
DIMENSION = 16


class SimulatedModel(HashingProvider):
    """The hashing provider, in bad weather."""

    def __init__(self, weather: Weather, clock: Clock) -> None:
        super().__init__(DIMENSION)
        self._weather = weather
        self._clock = clock

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return one row a text, after a while, if all goes well."""
        await self._clock.sleep(self._weather.delay(0.03))
        if self._weather.is_down("model") or self._weather.strikes("the model is down", 0.05):
            raise EmbedderDown("the simulated model is down; ask again")
        if self._weather.strikes("the model refuses", 0.05):
            raise BadInput("the simulated model refuses this batch")
        if self._weather.strikes("the model fails inside", 0.03):
            raise RuntimeError("a fault planted in the model")
        return await super().embed(texts, urgent=urgent)
