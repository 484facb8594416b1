"""What the tests of the village share: agents that speak, in directions that a test chooses."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select

from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.domain.event import Ids
from cortex_actors.errors import EmbedderDown
from cortex_actors.memory.request import Message
from cortex_actors.memory.village import NAME, Village
from cortex_actors.runtime.names import NamedActor
from cortex_actors.sections import MemorySettings
from cortex_actors.storage import embeddings, memory_records, village
from cortex_actors.storage.search.matrix import VectorMatrix
from cortex_actors.storage.tables.schema import posts_due
from cortex_actors.testing import eventually
from cortex_actors.topics import CONVERGENCE_DETECTED
from tests.storage.vectored import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.domain.memory import Memory
    from cortex_actors.storage.embeddings import Matrix
    from tests.pipeline.support import Office

#: The vector space, and its dimension.
MODEL, DIMENSION = "test/8", 8


def direction(main: int, lean: float = 0.0) -> Matrix:
    """Return a unit vector along one axis, leaning towards the last: its cosine is as told."""
    row = np.zeros(DIMENSION, np.float32)
    row[main], row[-1] = np.sqrt(1 - lean * lean), lean
    return row


class Speaking:
    """A village in an office; `meanings` says which vector a text gets."""

    def __init__(self, office: Office, **settings: Any) -> None:
        self.office = office
        self.settings = MemorySettings(**settings)
        self.meanings: dict[str, Matrix] = {}
        self.is_away = False
        self._post: Callable[..., Any] = partial(
            NamedActor[Any](NAME, office.names).ask, Village.post
        )
        self.converge: Callable[..., Any] = partial(
            partial(NamedActor[Any](NAME, office.names).ask, Village.converge),
            reader=None,
            min_agents=2,
            threshold=0.7,
        )

    async def begin(self) -> Speaking:
        """Have the village at work."""
        make = partial(
            Village,
            self.office.bus,
            self.office.records,
            clock=self.office.clock,
            settings=self.settings,
            matrix=VectorMatrix(MODEL, 64),
            embed=self.embed,
        )
        self.handle = await self.office.employ(NAME, make)
        return self

    async def embed(self, texts: Sequence[str], **_: object) -> Matrix:
        """Return the vectors of texts, unless the model is away."""
        if self.is_away:
            raise EmbedderDown("the model is away")
        return np.stack([self.meanings[text] for text in texts])

    async def say(self, agent: str, text: str, meaning: Matrix | None = None, **more: Any) -> str:
        """Post a text, with its vector where it has one already; return its id."""
        if meaning is not None:
            await self.means(text, meaning)
        return str((await self.post(text, agent=agent, **more))["id"])

    async def post(
        self, text: str, *, agent: str | None = None, caller: Caller = OWNER, **more: Any
    ) -> dict[str, Any]:
        """Post a text; return what became of it."""
        posted: dict[str, Any] = await self._post(Message(text, **more), agent=agent, caller=caller)
        return posted

    async def means(self, text: str, meaning: Matrix) -> None:
        """Give a text its vector."""
        self.meanings[text] = meaning
        rows = {digest(text): meaning}
        await self.office.write(lambda c: embeddings.keep_vectors(c, MODEL, rows))

    async def compared(self) -> None:
        """Return once every post was compared, turning the clock while the village rests.

        What the village says of them is heard after the commit: that is waited for.
        """
        office = self.office

        async def nothing() -> bool:
            office.clock.advance(office.clock.due)
            return 0 == await office.read(village.count_waiting) and await office.told()

        await eventually(nothing)

    def told(self) -> list[set[str]]:
        """Return the groups that were told of, in order."""
        said = [e.payload for e in self.office.said if e.topic == CONVERGENCE_DETECTED]
        return [set(each.ids) for each in said if isinstance(each, Ids)]

    async def one(self, memory_id: str) -> Memory:
        """Return a post, whatever its state."""
        states = ("active", "merged", "archived", "superseded")
        found = await self.office.read(lambda c: memory_records.read(c, [memory_id], states))  # type: ignore[arg-type]
        return found[memory_id]

    async def waiting(self) -> list[str]:
        """Return which posts wait."""
        query = select(posts_due.c.memory_id).order_by(posts_due.c.memory_id)
        return await self.office.read(lambda c: list(c.execute(query).scalars()))
