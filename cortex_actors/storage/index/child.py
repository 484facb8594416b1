"""The child process that Chroma lives in: `python -m cortex_actors.storage.index.child`.

Chroma rewrites its files in place without fsync, and a flipped byte in them is a segmentation
fault. So it has a process of its own, which may die, on a folder of its own, which may be deleted.
It answers one request at a time, so send many vectors in small requests.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from cortex_actors.runtime import child
from cortex_actors.storage.index import chroma

#: What an op is given and gives: JSON values and raw bytes.
Params: TypeAlias = dict[str, Any]
Reply: TypeAlias = tuple[dict[str, Any], bytes]

#: Most vectors in one call of Chroma (its own limit is 5,461).
CHUNK = 5_000


class Index:
    """The operations a parent may ask for; each takes JSON parameters and raw float32 rows."""

    def __init__(self) -> None:
        """Have nothing open."""
        self._client: Any = None
        self._collections: dict[str, Any] = {}
        self._remote = False
        self._folder: int | None = None
        #: Asks two collections at once: Chroma lets others run while it looks. At 1,000 rows both
        #: take 3.6 ms in place of 6.0.
        self._threads = ThreadPoolExecutor(2, "query")

    def load(self, _params: Params, _body: bytes) -> Reply:
        """Import Chroma: apart from `open`, because a slow import says nothing of a folder."""
        chroma.load()
        return {}, b""

    def open(self, params: Params, _body: bytes) -> Reply:
        """Open the folder `path` or the `server`; tell how much each collection holds."""
        server = params.get("server")
        self._remote = server is not None
        with self._faults():
            if server is None:
                self._folder = chroma.lock_folder(params["path"])
                self._client = chroma.open_folder(params["path"])
            else:
                self._client = chroma.open_server(**server)
            make = partial(self._client.get_or_create_collection, embedding_function=None)
            self._collections = {  # made where they are new
                name: make(name + params["suffix"], configuration=chroma.CONFIGURATION)
                for name in params["collections"]
            }
            return {"counts": {name: each.count() for name, each in self._collections.items()}}, b""

    def put(self, params: Params, body: bytes) -> Reply:
        """Insert or replace `ids` of `collection` with the rows of the body."""
        collection = self._collections[params["collection"]]
        ids, rows = params["ids"], _rows(body, params["dimension"])
        with self._faults(), chroma.map_caller_faults():
            for start in range(0, len(ids), CHUNK):
                upto = start + CHUNK
                collection.upsert(ids=ids[start:upto], embeddings=rows[start:upto])
        return {}, b""

    def drop(self, params: Params, _body: bytes) -> Reply:
        """Remove `ids` of `collection`; ids it does not hold are fine."""
        with self._faults():
            self._collections[params["collection"]].delete(ids=params["ids"])
        return {}, b""

    def get(self, params: Params, _body: bytes) -> Reply:
        """Return which of `ids` are in `collection`, or a page of all, and their rows if wanted."""
        wanted = ["embeddings"] if params.get("rows") else []
        collection = self._collections[params["collection"]]
        with self._faults():
            if "ids" in params:
                found = collection.get(ids=params["ids"], include=wanted)
            else:
                page = {"limit": params["limit"], "offset": params["offset"]}
                found = collection.get(**page, include=wanted)
        if not wanted or not found["ids"]:
            return {"ids": found["ids"], "dimension": 0}, b""
        rows = np.ascontiguousarray(found["embeddings"], np.float32)
        return {"ids": found["ids"], "dimension": rows.shape[1]}, rows.tobytes()

    def query(self, params: Params, body: bytes) -> Reply:
        """Return the `limit` nearest ids of each of `collections` to each row, and cosines."""
        rows, names = _rows(body, params["dimension"]), params["collections"]

        def find(name: str) -> dict[str, Any]:
            with self._faults(), chroma.map_caller_faults():
                # Counting first would take longer than the question: 1 ms at 20,000.
                found = self._collections[name].query(
                    query_embeddings=rows, n_results=params["limit"], include=["distances"]
                )
            cosines = [[1.0 - distance for distance in row] for row in found["distances"]]
            return {"ids": found["ids"], "cosines": cosines}

        return dict(zip(names, self._threads.map(find, names), strict=True)), b""

    def forget(self, params: Params, _body: bytes) -> Reply:
        """Delete the `collections` of other generations on a server, by their `suffixes`."""
        with self._faults():
            for suffix in params["suffixes"]:
                chroma.delete_generation(self._client, params["collections"], suffix)
        return {}, b""

    def close(self, _params: Params, _body: bytes) -> Reply:
        """Close the files, or the connection."""
        self._collections = {}
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None
        return {}, b""

    def _faults(self) -> AbstractContextManager[None]:
        """Return what tells a server's trouble from an index's; a folder has only its own."""
        return chroma.map_server_faults() if self._remote else nullcontext()


def _rows(body: bytes, dimension: int) -> Any:
    """Return raw float32 bytes as rows."""
    return np.frombuffer(body, np.float32).reshape(-1, dimension)


#: What a parent may ask for: methods of `Index`.
OPS = ("load", "open", "put", "drop", "get", "query", "forget", "close")


def main() -> None:
    """Answer the parent until it goes."""
    index = Index()
    child.serve({op: getattr(index, op) for op in OPS}, child.take_socket(sys.argv))


if __name__ == "__main__":
    main()
