"""Runs the real SerenMemory with an embedder that needs no model: a program of its environment.

`python seren_memory_server.py CONFIG`. It is started with the python that has the package, never
imported by a test. Texts that share words are near each other, which is all that the tests need.
"""

from __future__ import annotations

import hashlib
import re
import sys
from importlib import import_module
from typing import Any

#: Numbers in a vector: few enough to be quick, many enough that words seldom share one.
WIDTH = 256


def main() -> None:
    """Serve until the process is ended."""
    memory = import_module("seren_memory.app")
    settings = import_module("seren_memory.config").load_config(sys.argv[1])
    app = memory.create_app(settings, embedding_function=_embedder())
    import_module("uvicorn").run(
        app, host=settings.server.host, port=settings.server.port, log_level="warning"
    )


def _embedder() -> Any:
    """Return an embedding function as Chroma wants one."""
    numpy = import_module("numpy")

    class Words(import_module("chromadb.api.types").EmbeddingFunction):  # type: ignore[misc]
        """Counts each word at its own place of the vector."""

        def __init__(self) -> None:
            """Need nothing."""

        def __call__(self, input: list[str]) -> list[Any]:  # noqa: A002 - Chroma checks the name
            """Return a vector for each text."""
            return [self._vector(text) for text in input]

        def _vector(self, text: str) -> Any:
            found = numpy.zeros(WIDTH, dtype=numpy.float32)
            for word in re.findall(r"\w+", text.lower()) or [""]:
                digest = hashlib.sha256(word.encode()).digest()
                found[int.from_bytes(digest[:4]) % WIDTH] += 1
            return found / numpy.linalg.norm(found)

        @staticmethod
        def name() -> str:
            """Return what Chroma writes down."""
            return "words"

        def get_config(self) -> dict[str, Any]:
            """Return nothing to write down."""
            return {}

        @staticmethod
        def build_from_config(config: dict[str, Any]) -> Words:
            """Return another one."""
            return Words()

    return Words()


if __name__ == "__main__":
    main()
