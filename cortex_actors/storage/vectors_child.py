"""The child process that Chroma lives in: `python -m cortex_actors.storage.vectors_child`.

Chroma rewrites its files in place without fsync, and a flipped byte in them is a segmentation
fault. So it has a process of its own, which may die, on a folder of its own, which may be deleted.
It is only ever given vectors, never texts: a collection's stored configuration can name a model to
load, and that must never happen here. The one door to chromadb.
"""

from __future__ import annotations

import os
from typing import Any

from cortex_actors.runtime import frames

#: Vectors Chroma takes in one call, and so do we.
CHUNK = 5_000


class Index:
    """The operations a parent may ask for; each takes JSON parameters and raw float32 rows."""

    def __init__(self) -> None:
        """Have nothing open."""
        self._client: Any = None
        self._collections: dict[str, Any] = {}

    def open(self, params: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        """Open the folder `path`, made when it is new; tell how much each collection holds."""
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        import chromadb  # noqa: PLC0415 - a second of import, after the parent has its answer pending
        from chromadb.config import Settings  # noqa: PLC0415

        settings = Settings(anonymized_telemetry=False, allow_reset=False)
        self._client = chromadb.PersistentClient(path=params["path"], settings=settings)
        for name in params["collections"]:
            self._collections[name] = self._client.get_or_create_collection(
                name,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine"}},
            )
        return {"counts": {name: each.count() for name, each in self._collections.items()}}, b""

    def put(self, params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Insert or replace `ids` of `collection` with the rows of the body."""
        collection = self._collections[params["collection"]]
        ids, rows = params["ids"], _rows(body, params["dimension"])
        for start in range(0, len(ids), CHUNK):
            collection.upsert(
                ids=ids[start : start + CHUNK], embeddings=rows[start : start + CHUNK]
            )
        return {"count": collection.count()}, b""

    def drop(self, params: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        """Remove `ids` of `collection`; ids it does not hold are fine."""
        collection = self._collections[params["collection"]]
        collection.delete(ids=params["ids"])
        return {"count": collection.count()}, b""

    def holds(self, params: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        """Tell how many of `ids` are in `collection`."""
        collection, ids = self._collections[params["collection"]], params["ids"]
        found = 0
        for start in range(0, len(ids), CHUNK):
            found += len(collection.get(ids=ids[start : start + CHUNK], include=[])["ids"])
        return {"count": found}, b""

    def query(self, params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the `limit` nearest ids of `collection` to the body's one row, and cosines."""
        collection = self._collections[params["collection"]]
        limit = min(params["limit"], collection.count())
        if limit == 0:
            return {"ids": [], "cosines": []}, b""
        found = collection.query(
            query_embeddings=_rows(body, params["dimension"]),
            n_results=limit,
            include=["distances"],
        )
        return {
            "ids": found["ids"][0],
            "cosines": [1.0 - distance for distance in found["distances"][0]],
        }, b""


def _rows(body: bytes, dimension: int) -> Any:
    """Return raw float32 bytes as rows."""
    import numpy as np  # noqa: PLC0415 - beside its only use

    return np.frombuffer(body, np.float32).reshape(-1, dimension)


def main() -> None:
    """Answer the parent until it goes."""
    index = Index()
    ops = (index.open, index.put, index.drop, index.holds, index.query)
    frames.main({op.__name__: op for op in ops})


if __name__ == "__main__":
    main()
