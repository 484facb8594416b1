"""The real Chroma, PostgreSQL and MCP server, with something in them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import numpy as np

from cortex_actors.embedding.factory import HashingProvider
from tests.contract.adapters import TOKEN, Case
from tests.contract.chromaserver import ChromaServer
from tests.contract.chromaserver import serving as chroma_serving
from tests.federation import mcpserver, mcpservers, postgres

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cortex_actors.storage.embeddings import Matrix

#: What makes the vectors here.
MODEL = HashingProvider().model_id

#: Id, text and topic of what every store here knows, and a question that finds the first.
NOTES = mcpserver.NOTES
QUESTION = "deploys happen on mondays"

#: Where Chroma has its collections.
COLLECTIONS = "api/v2/tenants/default_tenant/databases/default_database/collections"


def row_of(text: str) -> Matrix:
    """Return the vector of a text."""
    provider = HashingProvider()
    return np.asarray(provider._rows([text])[0])


@contextmanager
def chroma(folder: Path) -> Iterator[Case]:
    """Run a Chroma server with a collection of notes; it knows no tokens, and minds none."""
    with chroma_serving(folder / "chroma") as server:
        fill(server, "notes", NOTES, metadata={"model": MODEL})
        yield Case(
            type="chroma",
            url=server.url,
            question=QUESTION,
            ids=("n1",),
            options={"collection": "notes"},
            vector=row_of,
            model=MODEL,
        )


@contextmanager
def pgvector(folder: Path) -> Iterator[Case]:
    """Run a PostgreSQL with a table of notes."""
    with postgres.serving() as server:
        notes(server, "notes", NOTES)
        yield Case(
            type="pgvector",
            url=server.url,
            question=QUESTION,
            ids=("n1",),
            options={"table": "notes", "model": MODEL, "metadata": ["topic"]},
            token=postgres.PASSWORD,
            vector=row_of,
            model=MODEL,
        )


@contextmanager
def mcp(folder: Path) -> Iterator[Case]:
    """Run an MCP server with a tool that finds notes."""
    with mcpservers.serving(TOKEN) as server:
        options = {
            "tool": "search",
            "arguments": {"query": "{query}", "top_k": "{limit}"},
            "hits": "found.notes",
        }
        yield Case(
            type="mcp",
            url=server.url,
            question=QUESTION,
            ids=("n1",),
            options=options,
            token=TOKEN,
        )


def fill(
    server: ChromaServer,
    name: str,
    rows: Sequence[tuple[str, str | None, str]],
    *,
    space: str = "cosine",
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Make a collection of some notes."""
    made = call(
        server,
        "",
        {"name": name, "configuration": {"hnsw": {"space": space}}, "metadata": metadata},
    )
    document = {
        "ids": [id_ for id_, _, _ in rows],
        "documents": [text for _, text, _ in rows],
        "metadatas": [{"topic": topic} for _, _, topic in rows],
        "embeddings": [row_of(text or topic).tolist() for _, text, topic in rows],
    }
    if rows:
        call(server, f"/{made['id']}/add", document)


def call(server: ChromaServer, path: str, document: object, method: str = "POST") -> Any:
    """Ask Chroma for something."""
    request = Request(  # noqa: S310 - an address of ours
        f"{server.url}/{COLLECTIONS}{path}",
        data=json.dumps(document).encode(),
        headers={"Content-Type": "application/json"},
        method=method,
    )
    with urlopen(request, timeout=20) as answer:  # noqa: S310 - as above
        return json.load(answer)


def notes(
    server: postgres.Postgres, table: str, rows: Sequence[tuple[str, str, str]], size: str = "(384)"
) -> None:
    """Make a table of some notes."""
    server.run(f"CREATE TABLE {table} (id text, text text, topic text, embedding vector{size})")
    for id_, text, topic in rows:
        vector = str(row_of(text).tolist())
        server.run(f"INSERT INTO {table} VALUES (%s, %s, %s, %s)", id_, text, topic, vector)  # noqa: S608
