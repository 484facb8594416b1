"""Librarian: reads documents that it is given, piece by piece.

hears   -
says    -
asks    ledger
keeps   - (a document in hand is lost on a crash; whoever handed it in is told)
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.project import Became
from cortex_actors.errors import CortexError, LedgerDown
from cortex_actors.memory import shelves
from cortex_actors.memory.cataloguing import Given, catalogued
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.runtime.threads import Threads
from cortex_actors.storage import documents
from cortex_actors.text.documents import READ_AS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.domain.project import Document
    from cortex_actors.memorysections import MemorySettings
    from cortex_actors.storage.ledger.actor import Records

#: Documents in hand at once: their transactions share an fsync.
TOGETHER = 16

#: Threads that read and parse them; parsing keeps the interpreter to itself, so more gain nothing.
THREADS = 2


class Librarian(AsyncioActor):
    """Reads documents; each is one transaction, and one that has not changed costs a hash.

    Texts are embedded by the indexer when their turn comes; until then they are found by their
    words.
    """

    #: Documents handed in at once: two hundred are a flood, and wait.
    mailbox_limit = 200
    overflow = Overflow.BACK_PRESSURE

    def __init__(self, records: Records, *, clock: Clock, settings: MemorySettings) -> None:
        """Begin with nothing in hand."""
        super().__init__()
        self._records = records
        self._clock = clock
        self._settings = settings
        self._threads = Threads("librarian", THREADS)
        self._room = asyncio.Semaphore(TOGETHER)

    async def on_start(self) -> None:  # type: ignore[override]  # Pykka has it plain
        """Let the threads end with the actor."""
        self.actor_ref.on_end(self._threads.close)

    def ingest(self, path: str, topic: str | None = None) -> asyncio.Task[dict[str, Any]]:
        """Read a document, or all in a folder; return what became of each.

        A folder's documents that are there no more are withdrawn; one that was handed in alone
        and is none that a folder is read for stays while its file is there. One that cannot be read
        is told under `failed`, and what it said before stands. Raises `NotFound`, `BadInput`; of a
        single document whatever hinders reading it.
        """
        return self.spawn(self._ingest(path, topic), name="ingest")

    def take(self, given: Given) -> asyncio.Task[dict[str, Any]]:
        """Read a document that is handed in with its bytes; return what became of it.

        Raises `FileTooLarge`, `NotText`.
        """
        return self.spawn(self._take(given), name="take")

    async def _ingest(self, path: str, topic: str | None) -> dict[str, Any]:
        """Read what lies at a path."""
        skips = frozenset(self._settings.knowledge_skips)
        shelf = await self._threads.run(shelves.shelf, path, skips=skips)
        sources = [source for source, _ in shelf.files]
        known = await self._records.read(lambda c: documents.by_source(c, sources))
        single = sources == [shelf.root]
        work = (
            self._one(source, topic or _topic(known.get(source), place), known, single=single)
            for source, place in shelf.files
        )
        done = await asyncio.gather(*work)
        gone = [] if single or shelf.closed else await self._lost(shelf.root, sources)
        done += [_became(source, Became.WITHDRAWN) for source in gone]
        return {
            "root": shelf.root,
            "documents": done,
            "counts": dict(Counter(each["state"] for each in done)),
            "pieces": sum(each.get("pieces", 0) for each in done),
            "skipped": shelf.skipped,
            "closed": shelf.closed,
        }

    async def _one(
        self, source: str, topic: str, known: Mapping[str, Document], *, single: bool
    ) -> dict[str, Any]:
        """Read one file; one of several that cannot be read is told as failed."""
        async with self._room:
            try:
                data = await self._threads.run(shelves.read, source)
                return await self._keep(Given(source, data, topic), known.get(source))
            except LedgerDown:
                raise
            except CortexError as error:
                if single:
                    raise
                return {**_became(source, Became.FAILED), "error": str(error)}

    async def _take(self, given: Given) -> dict[str, Any]:
        """Read what was handed in."""
        known = await self._records.read(lambda c: documents.by_source(c, [given.source]))
        return await self._keep(given, known.get(given.source))

    async def _keep(self, given: Given, known: Document | None) -> dict[str, Any]:
        """Keep a document, unless it is known as it is."""
        if known is not None and _is_same(given, known):
            return _became(given.source, Became.UNCHANGED, known)
        # The moment tells the pieces of one reading from those of every other.
        at = max(self._clock.now(), known.read_at + 1 if known else 0)
        made = await self._threads.run(catalogued, given, at=at)
        await self._records.write(lambda c: documents.learn(c, made.document, made.chunks))
        found = known is not None and known.withdrawn_at is None
        became = _became(given.source, Became.CHANGED if found else Became.ADDED, made.document)
        return {**became, "pieces": len(made.chunks), "told": list(made.told)}

    async def _lost(self, root: str, sources: Sequence[str]) -> list[str]:
        """Withdraw the documents of a folder that lie there no more."""
        here, at = set(sources), self._clock.now()
        known = await self._records.read(lambda c: documents.below(c, root))
        gone = await self._threads.run(shelves.gone, [each for each in known if each not in here])
        return await self._records.write(lambda c: documents.withdraw(c, gone, at=at))


def _topic(known: Document | None, place: str) -> str:
    """Return the topic of a document: the one it has, or else that of where it lies."""
    return known.topic if known is not None else place


def _is_same(given: Given, known: Document) -> bool:
    """Whether a document is known as it is, and found."""
    return (
        known.content_hash == given.content_hash
        and known.read_as == READ_AS
        and known.topic == given.topic
        and known.withdrawn_at is None
    )


def _became(source: str, state: Became, document: Document | None = None) -> dict[str, Any]:
    """Return what became of a document, as JSON."""
    told: dict[str, Any] = {"source": source, "state": str(state)}
    if document is not None:
        told |= {"title": document.title, "topic": document.topic, "redacted": document.redacted}
    return told
