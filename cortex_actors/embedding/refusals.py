"""Which models were found to have no compiled form, so that no start tries them again for nothing.

Remembered in the folder of compiled models with the versions of the libraries that could not do it:
another version tries once more. Losing or damaging a note costs one more attempt.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from cortex_actors import __version__
from cortex_actors.home import write_private

if TYPE_CHECKING:
    from pathlib import Path

#: The packages that, beside this one, decide what a compiled model is.
MAKERS = (
    "onnx",
    "onnxruntime",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a model has no compiled form, as of some versions."""

    source: str
    reason: str
    versions: dict[str, str]
    #: UTC microseconds.
    at: int


def versions() -> dict[str, str]:
    """Return the installed versions of what makes a compiled model; nothing is imported."""
    found = {"cortex-actors": __version__}
    for package in MAKERS:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def remember(models: Path, source: str, reason: str, *, at: int) -> None:
    """Keep why a model was refused; a disk that does not take it costs one more attempt."""
    content = {"source": source, "reason": reason, "versions": versions(), "at": at}
    with suppress(OSError):
        write_private(_path(models, source), json.dumps(content, indent=2) + "\n")


def forget(models: Path, source: str) -> None:
    """Drop a note, if there is one: the model has a compiled form after all."""
    with suppress(OSError):
        _path(models, source).unlink(missing_ok=True)


def refused(models: Path, source: str) -> str | None:
    """Return why a float model has no compiled form; None when nobody has found that out.

    Blocks for a moment: it reads some small files.
    """
    try:
        found = Refusal(**json.loads(_path(models, source).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    if found.source != source or found.versions != versions():
        return None
    return str(found.reason)


def _path(models: Path, source: str) -> Path:
    """Return where a model's note lies; ids may hold anything, so the name is a hash."""
    return models / f".refused-{sha256(source.encode()).hexdigest()[:16]}.json"
