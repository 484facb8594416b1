"""Agreeing: posts that are near a question, or near a new post, and which of them say alike.

The ledger is read in one transaction; comparing takes a thread, because reading two texts for what
they are against takes a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.rules import convergence
from cortex_actors.rules.convergence import Found, Group, Voice
from cortex_actors.storage.search.matrix import cosine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cortex_actors.runtime.threads import Threads
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records
    from cortex_actors.storage.village import NearPosts, Post

#: Posts that are compared with one another, as the document has it.
MOST = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question found: the posts that are near it, by id, and what of them agrees."""

    posts: Mapping[str, Post]
    found: Found


class Agreeing:
    """Compares posts in the vectors of one model."""

    def __init__(self, records: Records, near: NearPosts, threads: Threads) -> None:
        """Read posts from the ledger."""
        self._records = records
        self._near = near
        self._threads = threads

    async def about(
        self,
        row: Matrix,
        *,
        reader: str | None,
        floor: float,
        threshold: float,
        min_agents: int,
    ) -> Answer:
        """Return what the posts nearest to a question have in common, as somebody may read them.

        `floor` is the cosine from which a post is about the question at all.
        """
        posts = await self._records.read(
            lambda c: self._near.near(c, row, reader=reader, most=MOST, floor=floor)
        )
        find = partial(convergence.converging, threshold=threshold, min_agents=min_agents)
        found = await self._threads.run(lambda: find(_voices(posts), _likeness(posts)))
        return Answer({each.memory.id: each for each in posts}, found)

    async def with_others(self, memory_id: str, *, threshold: float) -> Group | None:
        """Return the group of other agents' posts that a post joins; None where nobody agrees.

        So it is for one that is found no more, or has no vector.
        """
        posts = await self._records.read(lambda c: self._beside(c, memory_id, threshold))
        if len(posts) < convergence.HARMONY:
            return None
        find = partial(convergence.around, threshold=threshold)
        return await self._threads.run(lambda: find(_voices(posts), _likeness(posts)))

    def _beside(self, connection: Connection, memory_id: str, threshold: float) -> list[Post]:
        """Return a post with the nearest of other agents."""
        mine = self._near.posts(connection, [memory_id])
        if not mine:
            return []
        first = mine[0]
        others = self._near.near(
            connection,
            first.row,
            reader=None,
            most=MOST,
            floor=threshold,
            but=first.memory.agent_id,
        )
        return [first, *others]


def _voices(posts: Sequence[Post]) -> list[Voice]:
    """Return posts as they are compared."""
    return [Voice(each.memory.id, each.memory.agent_id, each.memory.text) for each in posts]


def _likeness(posts: Sequence[Post]) -> Callable[[int, int], float]:
    """Return the cosines of posts, each made once."""
    rows = [each.row for each in posts]
    made = [[cosine(one, other) for other in rows] for one in rows]
    return lambda one, other: made[one][other]
