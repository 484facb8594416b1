"""Compiled models without a model: files of a few bytes, hashed and moved as real ones are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cortex_actors.embedding import calibration
from cortex_actors.embedding.manifest import FILES, MANIFEST, ONNX, REFERENCE, TOKENIZER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from cortex_actors.embedding.manifest import Manifest

#: What a maker says of the model it made.
FACTS: Mapping[str, Any] = {
    "kind": "int8",
    "dimension": 2,
    "max_tokens": 9,
    "pooling": "mean",
    "normalize": True,
    "pad": 0,
    "inputs": ["input_ids", "attention_mask"],
    "gates": {"mean_cosine": 0.997, "spearman": 0.996, "overlap": 0.95},
    "note": "",
}

#: A compile that is under way, as the daemon tells it.
MAKING: Mapping[str, Any] = {"source": "all-MiniLM-L6-v2", "since": 0, "step": "quantising"}


def fill(bench: Path, graph: bytes = b"a graph") -> None:
    """Write what a maker leaves on a bench."""
    for name in FILES:
        (bench / name).write_bytes(graph if name == ONNX else name.encode())


def put(models: Path, source: str, graph: bytes = b"a graph", *, at: int = 1) -> Manifest:
    """Put a compiled form of a float model in its place."""
    bench = calibration.begin_bench(models)
    fill(bench, graph)
    facts = {**FACTS, "versions": {"onnx": "1"}}
    return calibration.install(bench, facts, source=source, source_hash="00", at=at)


def _edited(folder: Path, key: str, value: object) -> None:
    """Change a field of a manifest, as a person with an editor would."""
    content = json.loads((folder / MANIFEST).read_text())
    place = content if key in content else content["model"]
    place[key] = value
    (folder / MANIFEST).write_text(json.dumps(content))


def _flipped(path: Path) -> None:
    """Change one bit."""
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(bytes(content))


def _folder(folder: Path) -> None:
    """Put a folder in a file's place."""
    (folder / ONNX).unlink()
    (folder / ONNX).mkdir()


#: Kind of damage -> how it is done, and what is said of it.
DAMAGES: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "no manifest": (lambda f: (f / MANIFEST).unlink(), "manifest.json is missing"),
    "empty manifest": (lambda f: (f / MANIFEST).write_text(""), "is not a manifest"),
    "other JSON": (lambda f: (f / MANIFEST).write_text("[1]"), "is not a manifest"),
    "binary manifest": (lambda f: (f / MANIFEST).write_bytes(b"\xff\xfe"), "is not a manifest"),
    "other version": (lambda f: _edited(f, "version", 2), "is of version 2"),
    "edited": (lambda f: _edited(f, "dimension", 3), "was changed after it was written"),
    "no seal": (lambda f: _edited(f, "seal", None), "was changed after it was written"),
    "graph missing": (lambda f: (f / ONNX).unlink(), "model.onnx is missing"),
    "graph cut": (lambda f: (f / ONNX).write_bytes(b"a"), r"model.onnx \(1 bytes\) does not have"),
    "graph flipped": (lambda f: _flipped(f / ONNX), "model.onnx .* does not have the hash"),
    "graph a folder": (_folder, "model.onnx cannot be read"),
    "tokenizer missing": (lambda f: (f / TOKENIZER).unlink(), "tokenizer.json is missing"),
    "reference flipped": (lambda f: _flipped(f / REFERENCE), "reference.npy .* does not have"),
}
