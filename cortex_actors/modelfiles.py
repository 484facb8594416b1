"""The files of a model in a folder: which hold its weights, and what tells it from another one."""

from __future__ import annotations

from hashlib import blake2b, file_digest, sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Bytes at each end of a weights file that make up its fingerprint: reading 90 MB and more at each
#: start would take longer than it is worth, and other training changes all of a file.
SAMPLE = 1_048_576


def weights(folder: Path) -> Iterator[Path]:
    """Yield the folder's files of weights, in an order of their own."""
    yield from sorted(folder.glob("*.safetensors"))
    yield from sorted(folder.glob("pytorch_model*.bin"))


def weights_hash(folder: Path) -> str:
    """Return the SHA-256 over a model's weights, in hex; reads all of them. Raises `OSError`."""
    seen = sha256()
    for path in weights(folder):
        with path.open("rb") as file:
            seen.update(file_digest(file, "sha256").digest())
    return seen.hexdigest()


def fingerprint(folder: Path) -> str:
    """Return eight hex digits that change when the model is another one. Raises `OSError`."""
    seen = blake2b(digest_size=4)
    for config in sorted(folder.rglob("config.json")):
        seen.update(config.read_bytes())
    for path in weights(folder):
        size = path.stat().st_size
        seen.update(size.to_bytes(8, "big"))
        with path.open("rb") as file:
            seen.update(file.read(SAMPLE))
            file.seek(max(0, size - SAMPLE))
            seen.update(file.read(SAMPLE))
    return seen.hexdigest()
