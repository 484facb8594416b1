"""A model that a home's vectors were made with and that is not on this machine any more."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cortex_actors.embedding.provider import State
from cortex_actors.errors import ModelMissing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.embedding.provider import Vectors


class AbsentProvider:
    """Stands for the model under its own id, so that its vectors are never compared with others.

    What is stored can still be searched by words; whatever would be embedded waits.
    """

    def __init__(self, model_id: str, dimension: int, reason: str) -> None:
        """Be missing for a reason, which names the mend."""
        self.model_id = model_id
        self.dimension = dimension
        self.max_tokens = sys.maxsize
        self.bulk = 1
        self.state = State.MISSING
        self.reason = reason
        self.counters: Mapping[str, int] = {}

    async def start(self) -> None:
        """Do nothing: there is nothing to load."""

    async def settled(self) -> State:
        """Return `missing`."""
        return self.state

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Raise `ModelMissing`."""
        del texts, urgent
        raise ModelMissing(self.reason)

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""
