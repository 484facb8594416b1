"""The verbs about knowledge: documents that are handed in to be read, found and taken out again.

Every agent finds what they say; only the owner hands them in and takes them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from cortex_actors.api import parameters
from cortex_actors.api.registry import Call, operation
from cortex_actors.api.shapes import describe_question
from cortex_actors.domain.agent import format_given
from cortex_actors.domain.project import Trust
from cortex_actors.errors import BadInput, NotFound, UsageError
from cortex_actors.federation.store import LOCAL, Question
from cortex_actors.memory.librarian import GivenDocument, Librarian
from cortex_actors.storage import documents
from cortex_actors.storage.search.query import Where
from cortex_actors.text import hazards, terms
from cortex_actors.text.hazards import clear_secrets

if TYPE_CHECKING:
    from cortex_actors.storage.ledger.actor import Connection

#: Characters of a topic, and of the name under which a text is handed in.
_TOPIC, _NAME = 64, 500

#: Hex digits that name a text which was handed in without a name.
_DIGITS = 12

#: Topic of a text that was handed in without one.
GENERAL = "general"


@operation("knowledge.ingest", http="POST /knowledge")
async def ingest(
    call: Call,
    path: str | None = None,
    *,
    text: str | None = None,
    source: str | None = None,
    topic: str | None = None,
) -> dict[str, Any]:
    """Read a document, or all in a folder; what has not changed costs next to nothing.

    Or read a `text`, under the name `source`. Read again, a document's pieces are replaced in one
    transaction; one that has not changed costs a hash, and a folder's documents that are gone are
    withdrawn. Raises `BadInput`, `NotFound`, `FileTooLarge`, `NotText`, `Refused` for a secret in a
    name.
    """
    if (path is None) == (text is None):
        raise UsageError("cannot ingest: give either a path or a text")
    topic = _named(topic, "topic", most=_TOPIC)
    librarian = call.actors.librarian.limit(None)
    if path is not None:
        return await librarian.ask(Librarian.ingest, path, topic)
    if not text or not text.strip():
        raise BadInput("cannot ingest the text: it is empty")
    data = text.encode()
    name = _named(source, "source", most=_NAME) or f"text:{sha256(data).hexdigest()[:_DIGITS]}"
    if name.startswith("/"):
        raise BadInput(
            f"cannot ingest a text as {format_given(name)}: a path is read from its file"
        )
    given = GivenDocument(name, data, topic or GENERAL, trust=Trust.AGENT)
    return await librarian.ask(Librarian.take, given)


@operation("knowledge.search", http="GET /knowledge/search", agents=True)
async def knowledge_search(
    call: Call,
    query: str,
    limit: int = 5,
    *,
    topic: str | None = None,
    source: str | None = None,
    code: bool | None = None,
    language: str | None = None,
    tags: Sequence[str] = (),
) -> dict[str, Any]:
    """Find pieces of documents; `cortex recall` finds them among everything else.

    Those that answer the question best come first. Raises `BadInput`.
    """
    where = Where(
        reader=call.caller.choose_reader(None),
        topic=topic,
        source=source,
        code=code,
        language=language,
        tags=terms.normalise_tags(tags),
    )
    found = await call.recall(
        Question(query, limit, where=where, collections=(documents.COLLECTION,), stores=(LOCAL,))
    )
    return {**describe_question(found), "hits": [asdict(hit) for hit in found.hits]}


@operation("knowledge.topics", http="GET /knowledge/topics", agents=True)
async def knowledge_topics(call: Call) -> dict[str, Any]:
    """List the topics of documents, with how much each holds."""
    return await call.records.read(
        lambda c: {"topics": documents.list_topics(c), **documents.count_totals(c)}
    )


@operation("knowledge.documents", http="GET /knowledge", agents=True)
async def knowledge_documents(
    call: Call,
    limit: int = 100,
    skip: int = 0,
    *,
    topic: str | None = None,
    withdrawn: bool = False,
) -> dict[str, Any]:
    """List the documents that were read, of a topic or all, by source.

    Only the owner sees those that were taken out (`withdrawn`). Raises `NotYours`.
    """
    if withdrawn:
        call.caller.require_owner("list the documents that were taken out")
    parameters.check_page(limit, skip, of="documents")
    found, total = await call.records.read(
        lambda c: documents.list_documents(c, topic, limit=limit, skip=skip, withdrawn=withdrawn)
    )
    return {"documents": found, "total": total}


@operation("knowledge.remove", http="POST /knowledge/remove")
async def remove_knowledge(
    call: Call, *, topic: str | None = None, source: str | None = None
) -> dict[str, Any]:
    """Take a document or a topic out of what is found; `restore` brings it back.

    Raises `NotFound` for what is not there.
    """
    at = call.clock.now()

    def work(connection: Connection) -> list[str]:
        meant = _meant(connection, topic, source, withdrawn=False)
        return documents.withdraw(connection, meant, at=at)

    return {"withdrawn": await call.records.write(work), "topic": topic}


@operation("knowledge.restore", http="POST /knowledge/restore")
async def restore_knowledge(
    call: Call, *, topic: str | None = None, source: str | None = None
) -> dict[str, Any]:
    """Bring back a document or a topic that `remove` took out, as it was last read.

    Raises `NotFound` for what was not taken out.
    """

    def work(connection: Connection) -> list[str]:
        meant = _meant(connection, topic, source, withdrawn=True)
        return documents.withdraw(connection, meant, at=None)

    return {"restored": await call.records.write(work), "topic": topic}


def _named(given: str | None, what: str, *, most: int) -> str | None:
    """Return a name in its one form.

    Raises `BadInput` for one that is empty, long or hidden, `Refused` for a secret.
    """
    if given is None:
        return None
    name = " ".join(given.split())
    if not name or len(name) > most or hazards.find_hidden(name):
        raise BadInput(
            f"cannot take {format_given(given)} as a {what}: it needs 1 to {most} characters to be "
            "seen"
        )
    return clear_secrets(name, what=f"the {what}", redact=None)


def _meant(
    connection: Connection, topic: str | None, source: str | None, *, withdrawn: bool
) -> list[str]:
    """Return the sources that are meant. Raises `UsageError`, `NotFound`."""
    if (topic is None) == (source is None):
        raise UsageError("cannot tell which documents are meant: give either a topic or a source")
    if topic is not None:
        found = documents.list_of_topic(connection, topic, withdrawn=withdrawn)
    else:
        known = documents.load_documents(connection, [source or ""])
        found = [s for s, each in known.items() if (each.withdrawn_at is not None) == withdrawn]
    if not found:
        what = f"no document {'of the topic' if source is None else 'is called'} "
        how = " is taken out" if withdrawn else ""
        raise NotFound(
            f"{what}{format_given(topic or source or '')}{how}; see what there is with: "
            "cortex memory knowledge topics"
        )
    return found
