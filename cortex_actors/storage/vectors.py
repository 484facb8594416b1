"""Vectors: the actor that owns the child process with the vector index.

hears   -
says    -
asks    ledger (which generation of the index is in use, and what it must hold)
keeps   - (its keeper has the child process and remembers of what its lives ended: lost on a crash,
        and the next one begins with no pauses)
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.errors import BadInput, IndexDown
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.child import ChildProcess
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.storage.endings import Ending, Kind
from cortex_actors.storage.generations import Generations
from cortex_actors.storage.indexlife import Spawn
from cortex_actors.storage.keeper import Keeper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cortex_actors.clock import Clock
    from cortex_actors.sections import StorageSettings
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Records
    from cortex_actors.storage.verification import Verdict

__all__ = ["COLLECTIONS", "IndexInfo", "Spawn", "Vectors"]

#: Every collection of the index; `_paired` holds texts with their predecessor in front.
COLLECTIONS = (
    "cortex_insights",
    "cortex_insights_paired",
    "cortex_principles",
    "cortex_knowledge",
    "cortex_knowledge_paired",
    "cortex_private",
    "cortex_private_paired",
    "cortex_village",
    "cortex_village_paired",
    "cortex_bridges",
    "cortex_bridges_paired",
    "cortex_crumbs",
)

#: Rows sent to the child at once: 0.1 s of work, for which a question has to wait.
SLICE = 100

#: Seconds a question waits for the index: comparing every vector is quicker than waiting longer.
PATIENCE = 1.0


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """What `status` tells of the index; a `reason` is there when a person should know of it."""

    #: opening, checking, ready, or away: it is tried again after a pause.
    state: str
    generation: int
    reason: str = ""
    #: Deaths of the child, and generations given up, in this life of the actor.
    deaths: int = 0
    given_up: int = 0
    verified: Verdict | None = None


class Vectors(AsyncioActor):
    """Tells the index what to hold and asks it for neighbours.

    The child starts in the background: the daemon is ready before Chroma has been imported. No
    question is put to an index before it was found good; until then, and whenever it is away, the
    asker gets `IndexDown` and compares every vector of the ledger. Nothing that happens to the
    index ends this actor.
    """

    #: Questions and changes not yet passed to the child, of which the indexer has one at a time
    #: and everybody who recalls another; they wait rather than fail.
    mailbox_limit = 1_000
    overflow = Overflow.BACK_PRESSURE

    def __init__(
        self,
        folder: Path,
        records: Records,
        *,
        settings: StorageSettings,
        model: str,
        clock: Clock,
        on_line: Callable[[str], None],
        spawn: Spawn = ChildProcess.spawn,
    ) -> None:
        """Remember where generations lie; `model` names whose vectors they hold."""
        super().__init__()
        self._model = model
        self._keeper = Keeper(
            Generations(folder, settings, COLLECTIONS),
            records,
            settings=settings,
            model=model,
            clock=clock,
            spawn=spawn,
            on_line=on_line,
        )

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Begin to open the index."""
        self.spawn(self._keeper.run(), name="vectors-keeper")

    async def on_stop(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Let the child close its files."""
        await self._keeper.close()

    def describe(self) -> IndexInfo:
        """Return how the index is."""
        keeper, record = self._keeper, self._keeper.record
        return IndexInfo(
            keeper.phase,
            keeper.state.generation if keeper.state else 0,
            keeper.reason,
            record.deaths,
            record.given_up,
            keeper.verdict,
        )

    def generation(self) -> int:
        """Return the generation that answers questions; raises `IndexDown` while none does."""
        return self._keeper.ready().generation

    def put(self, collection: str, ids: Sequence[str], rows: Matrix) -> asyncio.Task[None]:
        """Insert or replace vectors. Raises `IndexDown` while the index is not open."""
        return self.spawn(self._put(_known(collection), list(ids), rows), name="put")

    def drop(self, collection: str, ids: Sequence[str]) -> asyncio.Task[None]:
        """Remove vectors. Raises `IndexDown` while the index is not open."""
        return self.spawn(self._drop(_known(collection), list(ids)), name="drop")

    def query(
        self, collection: str, vector: Matrix, limit: int, model: str | None = None
    ) -> asyncio.Task[list[tuple[str, float]]]:
        """Return the nearest (id, cosine), best first.

        Raises `IndexDown` when it cannot: it is not open or not found good yet, it is busy for
        longer than `PATIENCE`, or the vector is of another `model` than those it holds.
        """
        return self.spawn(self._query(_known(collection), vector, limit, model), name="query")

    def verify(self) -> asyncio.Task[Verdict]:
        """Compare the index with the ledger now; raises `IndexDown` while it is not open.

        An index that fails is given up for a new generation, without asking.
        """
        return self.spawn(self._keeper.verify(), name="verify")

    def renew(self, reason: str) -> None:
        """Give the index up for a new generation; does nothing while none is open."""
        if self._keeper.life is not None:
            self._keeper.life.end(Ending(Kind.BROKEN, reason))

    async def _put(self, collection: str, ids: list[str], rows: Matrix) -> None:
        """Send rows to the child, some at a time."""
        for start in range(0, len(ids), SLICE):
            some = rows[start : start + SLICE]
            params = {"collection": collection, "dimension": rows.shape[1]}
            await self._keeper.opened().ask(
                "put", {**params, "ids": ids[start : start + SLICE]}, some.tobytes()
            )

    async def _drop(self, collection: str, ids: list[str]) -> None:
        """Have the child forget ids, some at a time."""
        for start in range(0, len(ids), SLICE):
            some = ids[start : start + SLICE]
            await self._keeper.opened().ask("drop", {"collection": collection, "ids": some})

    async def _query(
        self, collection: str, vector: Matrix, limit: int, model: str | None
    ) -> list[tuple[str, float]]:
        """Ask the child for neighbours."""
        life, body = self._keeper.ready(), vector.tobytes()
        question = hashlib.sha256(collection.encode() + body).digest()
        self._refuse(question, model)
        params = {"collection": collection, "dimension": vector.shape[-1], "limit": limit}
        asking = asyncio.ensure_future(life.ask("query", params, body, question=question))
        # Not cancelled when nobody waits any more: how it ends says something of the child.
        asking.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.wait({asking}, timeout=PATIENCE)
        if not asking.done():
            message = f"the vector index was busy for {PATIENCE:g} s"
            raise IndexDown(message)
        answer, _ = asking.result()
        return list(zip(answer["ids"][0], answer["cosines"][0], strict=True))

    def _refuse(self, question: bytes, model: str | None) -> None:
        """Raise `IndexDown` for a question that must not be put to the index."""
        if model not in (None, self._model):
            message = f"the index holds vectors of {self._model}, the question is one of {model}"
            raise IndexDown(message)
        if self._keeper.record.deadly(question):
            message = "the vector index has died of this question several times; it is not asked"
            raise IndexDown(message)


def _known(collection: str) -> str:
    """Return the name of a collection; raises `BadInput` for one that there is not."""
    if collection not in COLLECTIONS:
        message = f"the index has no collection {collection}; there are {', '.join(COLLECTIONS)}"
        raise BadInput(message)
    return collection
