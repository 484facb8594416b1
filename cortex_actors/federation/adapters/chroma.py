"""Chroma: a collection on a Chroma server, over its own REST interface (version 2).

Chroma's library was not taken for it: docs/decisions/0022-chroma-over-rest.md. A server measures
vectors and embeds nothing, so it is asked with our vector, and only where that means something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from pydantic import Field

from cortex_actors.endpoint.client import LeftAlone
from cortex_actors.endpoint.replies import Unwelcome
from cortex_actors.errors import StoreUnusable
from cortex_actors.federation.answers import (
    OutgoingQuestion,
    explain_mismatch,
    make_nearest,
    read_text,
    record,
    refuse_shape,
    require_object,
)
from cortex_actors.federation.remote import HttpAdapter
from cortex_actors.federation.schema import SHOWN, StoreOptions, Table, Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.endpoint.connection import StoreConnection
    from cortex_actors.federation.store import Answer, StoreSpec

#: Chroma's own names of the embedding function that a collection gets by default: it is
#: all-MiniLM-L6-v2, run by onnxruntime.
_DEFAULTS = frozenset({"default", "onnx_mini_lm_l6_v2"})

#: What it answers where there is no such collection.
_GONE = 404

#: What its answers have to be.
_SHAPE = "an answer of Chroma (version 2 of its interface)"


@dataclass(frozen=True, slots=True)
class Collection:
    """What a server says of a collection, as far as a question needs it.

    Attributes:
        dimension: how many numbers its vectors have; None while it is empty.
        space: `cosine`, `l2` or `ip`: what its distances are.
        model: whose vectors they are; empty when that is not said.

    """

    id: str
    dimension: int | None
    space: str
    model: str


class ChromaOptions(StoreOptions):
    """Its options (docs/stores.md)."""

    collection: Words
    model: Words = ""
    text_key: Words = ""
    where: Table = Field({})
    #: What it calls the owner and the group of a collection where none is named.
    tenant: Words = "default_tenant"
    database: Words = "default_database"


class Chroma(HttpAdapter):
    """Asks one collection of a Chroma server, with our vector.

    Added with `cortex stores add papers chroma http://127.0.0.1:8000 --option collection=papers`.
    What the collection says of itself is looked up with every question: it may have been made again
    under another id, filled, or given the vectors of another model since the last one.
    """

    #: A page of a busy collection; the server itself has no limit that is small.
    most: ClassVar[int] = 200

    def __init__(self, spec: StoreSpec, line: StoreConnection) -> None:
        """Check the options; nothing is sent."""
        super().__init__(spec, line)
        self._options = options = ChromaOptions.from_fields(spec)
        self._called = options.collection
        owner = f"tenants/{_part(options.tenant)}/databases/{_part(options.database)}"
        self._path = f"/api/v2/{owner}/collections/"

    async def search(self, asked: OutgoingQuestion) -> Answer:
        """Return the nearest documents, in the collection's own order.

        Raises `LeftAlone` where our vector means nothing to the collection's.
        """
        collection = await self._look_up(asked.seconds)
        # A person's word on the model comes first.
        model = self._options.model or collection.model
        if why := explain_mismatch(asked, model=model, dimension=collection.dimension):
            raise LeftAlone(why)
        assert asked.vector is not None  # noqa: S101 - `explain_mismatch` has seen to that
        query: dict[str, Any] = {
            "query_embeddings": [asked.vector.tolist()],
            "n_results": asked.limit,
            "include": ["documents", "metadatas", "distances"],
        }
        if self._options.where:
            query["where"] = self._options.where
        path = f"{self._path}{_part(collection.id)}/query"
        document = await self.line.post(path, query, seconds=asked.seconds)
        return self._read(document, collection, asked.limit)

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return the server's version and what it says of the collection."""
        version = read_text(await self.line.get("/api/v2/version", seconds=seconds))
        found = await self._look_up(seconds)
        return {
            "service": "Chroma",
            "version": version[:40],
            "collection": self._called,
            "dimension": found.dimension,
            "space": found.space,
            "model": self._options.model or found.model or None,
        }

    async def _look_up(self, seconds: float) -> Collection:
        """Return what the server says of the collection."""
        path = self._path + _part(self._called)
        try:
            document = await self.line.get(path, seconds=seconds)
        except Unwelcome as error:
            if error.status == _GONE:
                raise StoreUnusable(
                    f"has no collection {self._called[:SHOWN]!r}; see options.collection, tenant "
                    "and database"
                ) from error
            raise
        found = _collection(require_object(document, shape=_SHAPE))
        if not found.id:
            raise refuse_shape(_SHAPE)
        return found

    def _read(self, document: object, collection: Collection, limit: int) -> Answer:
        """Return the hits of an answer."""
        rows = _rows(require_object(document, shape=_SHAPE))
        for row in rows:
            row["metadata"] = record(row["metadata"])
            # Its document, or what takes its place in the metadata.
            row["text"] = read_text(row["text"]) or read_text(
                row["metadata"].get(self._options.text_key)
            )
        if rows and not any(row["text"] for row in rows):
            raise StoreUnusable(
                f"the collection {self._called[:SHOWN]!r} has vectors without texts; set "
                "options.text_key to what holds them in its metadata"
            )
        is_cosine = collection.space == "cosine"
        return make_nearest(self.name, rows, is_cosine=is_cosine, limit=limit, shape=_SHAPE)


def _rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row for each hit of the columns in which Chroma answers."""
    ids = _column(found, "ids", None)
    others = (_column(found, name, len(ids)) for name in ("documents", "metadatas", "distances"))
    names = ("id", "text", "metadata", "distance")
    return [dict(zip(names, row, strict=True)) for row in zip(ids, *others, strict=True)]


def _column(found: Mapping[str, Any], name: str, size: int | None) -> list[Any]:
    """Return the answer to the one question that was asked: a list for each question comes back."""
    lists = found.get(name)
    if size is not None and lists is None:
        return [None] * size
    only = lists[0] if isinstance(lists, list) and len(lists) == 1 else None
    if not isinstance(only, list) or (size is not None and len(only) != size):
        raise refuse_shape(_SHAPE)
    return only


def _collection(document: Mapping[str, Any]) -> Collection:
    """Return a collection from its description."""
    settings = record(document.get("configuration_json"))
    index = record(settings.get("hnsw")) or record(settings.get("spann"))
    dimension = document.get("dimension")
    return Collection(
        read_text(document.get("id")),
        dimension if isinstance(dimension, int) and not isinstance(dimension, bool) else None,
        read_text(index.get("space")) or "l2",
        _model(record(settings.get("embedding_function")), record(document.get("metadata"))),
    )


def _model(function: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """Return the model of a collection; its names are compared and never loaded."""
    settings = record(function.get("config"))
    if read_text(function.get("name")) in _DEFAULTS:
        return "all-MiniLM-L6-v2"
    named = (read_text(settings.get("model_name")), read_text(settings.get("model")))
    # Where clients of Chroma note the model of a collection that has no embedding function.
    noted = (read_text(metadata.get(key)) for key in ("embedding_model", "model"))
    return next((each[:200] for each in (*named, *noted) if each), "")


def _part(name: str) -> str:
    """Return a name as one part of a path."""
    return quote(name, safe="")
