"""The verbs about knowledge: documents that are handed in to be read, found and taken out again.

Every agent finds what they say; only the owner hands them in and takes them out.
"""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from cortex_actors.api import registry
from cortex_actors.api.registry import Verbs
from cortex_actors.domain.agent import OWNER, Caller, shown
from cortex_actors.domain.project import Trust
from cortex_actors.errors import BadInput, NotFound, UsageError
from cortex_actors.federation.store import LOCAL, Question
from cortex_actors.memory.librarian import Given, Librarian
from cortex_actors.storage import documents
from cortex_actors.storage.search.query import Where
from cortex_actors.text import hazards, terms
from cortex_actors.text.credentials import cleared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.storage.ledger.actor import Connection

#: Characters of a topic, and of the name under which a text is handed in.
_TOPIC, _NAME = 64, 500

#: Hex digits that name a text which was handed in without a name.
_DIGITS = 12

#: Topic of a text that was handed in without one.
GENERAL = "general"


class KnowledgeVerbs(Verbs):
    """Part of the front desk."""

    async def ingest(
        self,
        path: str | None = None,
        *,
        text: str | None = None,
        source: str | None = None,
        topic: str | None = None,
    ) -> dict[str, Any]:
        """Read a document, or every document in a folder; or a text, under the name `source`.

        Read again, a document's pieces are replaced in one transaction; one that has not changed
        costs a hash, and a folder's documents that are gone are withdrawn. Raises `BadInput`,
        `NotFound`, `FileTooLarge`, `NotText`, `Refused` for a secret in a name.
        """
        if (path is None) == (text is None):
            raise UsageError("cannot ingest: give either a path or a text")
        topic = _named(topic, "topic", most=_TOPIC)
        librarian = self._actors.librarian.within(None)
        if path is not None:
            return await librarian.ask(Librarian.ingest, path, topic)
        return await librarian.ask(Librarian.take, _given(text or "", source, topic))

    async def knowledge_search(
        self,
        query: str,
        limit: int = 5,
        *,
        topic: str | None = None,
        source: str | None = None,
        code: bool | None = None,
        language: str | None = None,
        tags: Sequence[str] = (),
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return the pieces of documents that answer a question best. Raises `BadInput`."""
        where = Where(
            reader=caller.reader(None),
            topic=topic,
            source=source,
            code=code,
            language=language,
            tags=terms.tags(tags),
        )
        found = await self._recall(
            Question(
                query, limit, where=where, collections=(documents.COLLECTION,), stores=(LOCAL,)
            )
        )
        return {
            "query": found.query,
            "hits": [asdict(hit) for hit in found.hits],
            "failed": [{"store": name, "reason": why} for name, why in found.failed],
            "skipped": [{"store": name, "reason": why} for name, why in found.skipped],
            "took_ms": round(found.took_ms, 3),
        }

    async def knowledge_topics(
        self,
        *,
        caller: Caller = OWNER,  # every agent may know them
    ) -> dict[str, Any]:
        """Return each topic with what it holds, and how much that is in all."""
        return await self._parts.records.read(
            lambda c: {"topics": documents.topics(c), **documents.stats(c)}
        )

    async def knowledge_documents(
        self,
        limit: int = 100,
        skip: int = 0,
        *,
        topic: str | None = None,
        withdrawn: bool = False,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return the documents that were read, of a topic or all, by source.

        Those that were taken out (`withdrawn`) only the owner is told. Raises `NotYours`.
        """
        if withdrawn:
            caller.require_owner("list the documents that were taken out")
        registry.page(limit, skip, of="documents")
        found, total = await self._parts.records.read(
            lambda c: documents.listed(c, topic, limit=limit, skip=skip, withdrawn=withdrawn)
        )
        return {"documents": found, "total": total}

    async def remove_knowledge(
        self, *, topic: str | None = None, source: str | None = None
    ) -> dict[str, Any]:
        """Let a document, or all of a topic, be found no more; `restore_knowledge` takes it back.

        Raises `NotFound` for what is not there.
        """
        at = self._parts.clock.now()

        def work(connection: Connection) -> list[str]:
            meant = _meant(connection, topic, source, withdrawn=False)
            return documents.withdraw(connection, meant, at=at)

        gone = await self._parts.records.write(work)
        return {"withdrawn": gone, "topic": topic}

    async def restore_knowledge(
        self, *, topic: str | None = None, source: str | None = None
    ) -> dict[str, Any]:
        """Let a document, or all of a topic, be found again that was taken out.

        Raises `NotFound` for what was not.
        """

        def work(connection: Connection) -> list[str]:
            return documents.restore(connection, _meant(connection, topic, source, withdrawn=True))

        return {"restored": await self._parts.records.write(work), "topic": topic}


def _given(text: str, source: str | None, topic: str | None) -> Given:
    """Return a text as a document. Raises `BadInput`."""
    if not text.strip():
        raise BadInput("cannot ingest the text: it is empty")
    data = text.encode()
    name = _named(source, "source", most=_NAME) or f"text:{sha256(data).hexdigest()[:_DIGITS]}"
    if name.startswith("/"):
        raise BadInput(f"cannot ingest a text as {shown(name)}: a path is read from its file")
    return Given(name, data, topic or GENERAL, trust=Trust.AGENT)


def _named(given: str | None, what: str, *, most: int) -> str | None:
    """Return a name in its one form.

    Raises `BadInput` for one that is empty, long or hidden, `Refused` for a secret.
    """
    if given is None:
        return None
    name = " ".join(given.split())
    if not name or len(name) > most or hazards.hidden(name):
        raise BadInput(
            f"cannot take {shown(given)} as a {what}: it needs 1 to {most} characters to be seen"
        )
    return cleared(name, what=f"the {what}", redact=None)


def _meant(
    connection: Connection, topic: str | None, source: str | None, *, withdrawn: bool
) -> list[str]:
    """Return the sources that are meant. Raises `UsageError`, `NotFound`."""
    if (topic is None) == (source is None):
        raise UsageError("cannot tell which documents are meant: give either a topic or a source")
    if topic is not None:
        found = documents.of_topic(connection, topic, withdrawn=withdrawn)
    else:
        known = documents.by_source(connection, [source or ""])
        found = [s for s, each in known.items() if (each.withdrawn_at is not None) == withdrawn]
    if not found:
        what = f"no document {'of the topic' if source is None else 'is called'} "
        how = " is taken out" if withdrawn else ""
        raise NotFound(
            f"{what}{shown(topic or source or '')}{how}; see what there is with: cortex knowledge "
            "topics"
        )
    return found
