"""Where a CrossEncoder's files are, and which of its outputs is which; no network, no torch."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.errors import JudgeMissing
from cortex_actors.modelfiles import fingerprint, weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: What an entailment model has to tell apart, as its configuration names its outputs.
LABELS = ("contradiction", "entailment", "neutral")

#: A name on the Hugging Face hub.
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)

#: The mend of a model that cannot be used.
_SET = (
    "set judging.cross_encoder (variable CORTEX_JUDGING__CROSS_ENCODER) to an entailment model's "
    "folder or name, such as cross-encoder/nli-deberta-v3-small, or to nothing"
)


@dataclass(frozen=True, slots=True)
class EntailmentModel:
    """A model folder, and the numbers of its outputs in the order of `LABELS`."""

    model_id: str
    folder: Path
    outputs: tuple[int, ...]


def locate(
    name: str, labels: Sequence[str] = (), *, environ: Mapping[str, str] = os.environ
) -> EntailmentModel:
    """Return the model of that name: a folder's path, or a name in the cache of Hugging Face's hub.

    `labels` are its outputs where its configuration does not name them. Its id changes with its
    weights. Raises `JudgeMissing` saying where was looked and how to mend
    it. Reads some small files.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _model(folder, folder.resolve().name, labels)
    cached = _cached(name, environ)
    if cached is None:
        raise JudgeMissing(
            f"the entailment model {name!r} is not on this machine: there is no folder "
            f"{folder.absolute()} and no such model in {_cache(environ)}. Fetch it (`hf download "
            f"{name}`), or {_SET}"
        )
    return _model(cached, name, labels)


def _model(folder: Path, name: str, named: Sequence[str]) -> EntailmentModel:
    """Return what a folder's files say; raises `JudgeMissing` when they are no such model's."""
    if not any(weights(folder)):
        raise JudgeMissing(f"{folder} holds no *.safetensors or pytorch_model.bin; {_SET}")
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        labels = dict(enumerate(named)) or config.get("id2label", {})
        by_label = {str(label).lower(): int(number) for number, label in labels.items()}
        outputs = tuple(by_label[label] for label in LABELS)
        return EntailmentModel(f"{name}@{fingerprint(folder)}", folder.absolute(), outputs)
    except KeyError as error:
        raise JudgeMissing(
            f"the model in {folder} is no entailment model: its configuration names no output "
            f"{error.args[0]!r}; name its outputs in judging.cross_encoder_labels, or {_SET}"
        ) from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise JudgeMissing(
            f"the files in {folder} are not a CrossEncoder's ({error}); {_SET}"
        ) from error


def _cached(name: str, environ: Mapping[str, str]) -> Path | None:
    """Return the folder of a model's newest revision that the hub's cache has."""
    if not _HUB_NAME.fullmatch(name):
        return None
    place = _cache(environ) / f"models--{name.replace('/', '--')}"
    try:
        revision = (place / "refs" / "main").read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    folder = place / "snapshots" / revision
    return folder if folder.is_dir() else None


def _cache(environ: Mapping[str, str]) -> Path:
    """Return where Hugging Face's libraries keep what they have fetched."""
    if hub := environ.get("HF_HUB_CACHE"):
        return Path(hub).expanduser()
    caches = environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = environ.get("HF_HOME") or f"{caches}/huggingface"
    return Path(home).expanduser() / "hub"
