"""What a compiled model is: the folder it lies in, and the manifest that vouches for its files.

`<home>/models/<model_id>/` holds `model.onnx`, `tokenizer.json`, the texts and float vectors it was
checked against, and `manifest.json`, written last. A folder whose manifest, or any file that the
manifest names, is not byte for byte what was written is no compiled model: it is refused, said, and
made again. Reading checks every hash (22 MB take 20 to 60 ms), so it belongs on a thread.

Which models were found to have no compiled form, so that no start tries them again for nothing.

Remembered in the folder of compiled models with the versions of the libraries that could not do it:
another version tries once more. Losing or damaging a note costs one more attempt.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from hashlib import file_digest, sha256
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from cortex_actors import __version__
from cortex_actors.errors import ModelMissing
from cortex_actors.home import write_private

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


#: Form of the manifest. Another one is refused and the model made again, which takes seconds.
VERSION = 1

#: The files of a compiled model.
MANIFEST, ONNX, TOKENIZER = "manifest.json", "model.onnx", "tokenizer.json"

#: The texts a model was checked against, and the float model's vectors of them.
TEXTS, REFERENCE = "calibration.jsonl", "reference.npy"

#: What a folder must hold beside its manifest.
FILES = (ONNX, TOKENIZER, TEXTS, REFERENCE)

#: The graph's one output: float32 (batch, dimension), pooled and not scaled to length 1.
OUTPUT = "embedding"

#: Hex digits of the ONNX file's SHA-256 in a model's id.
ID_DIGITS = 8


class WeightKind(StrEnum):
    """The numbers a compiled model's weights are."""

    INT8 = "int8"
    #: Kept where int8 lost too much.
    FP32 = "fp32"


@dataclass(frozen=True, slots=True)
class QualityGates:
    """How near compiled vectors are to the float model's, over the calibration texts.

    `mean_cosine` of a text's two vectors, `spearman` of the similarities of pairs of texts,
    `overlap` of the ten nearest of each text; 1.0 is the same.
    """

    mean_cosine: float
    spearman: float
    overlap: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelForm:
    """How a compiled model is fed, and what it gives."""

    #: The name of its vector space: `<source>+<kind>-<start of the ONNX file's SHA-256>`.
    model_id: str
    dimension: int
    #: Tokens of a window, the special ones included.
    max_tokens: int
    #: How token vectors become one, inside the graph: "mean", "cls", "max" ...
    pooling: str
    #: Whether the float model scales to length 1 by itself; we always do, and outside the graph.
    normalize: bool
    #: The token that fills a short row; RoBERTa counts positions by it.
    pad: int
    #: The graph's int64 inputs of shape (batch, length), in its order.
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(ModelForm):
    """What a compiled model is made of, and how good it was found."""

    #: The float model's id.
    source: str
    kind: WeightKind
    #: File -> SHA-256 in hex.
    hashes: Mapping[str, str]
    #: SHA-256 over the source's weights.
    source_hash: str
    #: Package -> version it was made with.
    versions: Mapping[str, str]
    gates: QualityGates
    #: Why the float form was kept, in words; empty for int8.
    note: str
    #: UTC microseconds.
    made_at: int


def parse_manifest(content: Mapping[str, Any]) -> Manifest:
    """Return a manifest of its values in JSON; raises `KeyError`, `TypeError` or `ValueError`."""
    found = Manifest(**content)
    gates = QualityGates(**content["gates"])
    return replace(found, kind=WeightKind(found.kind), inputs=tuple(found.inputs), gates=gates)


def hash_file(path: Path) -> str:
    """Return a file's SHA-256 in hex; raises `OSError`."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into its folder; raises `OSError`. Syncing is the caller's."""
    content = asdict(manifest)
    sealed = {"version": VERSION, "seal": _seal(content), "model": content}
    write_private(folder / MANIFEST, json.dumps(sealed, indent=2) + "\n")


def read(folder: Path) -> Manifest:
    """Return a folder's manifest once it and every file it names were found unharmed.

    Raises `ModelMissing` saying what is wrong and how to mend it.
    """
    try:
        manifest = _unsealed(folder / MANIFEST)
        for name in FILES:
            _compare(folder / name, manifest.hashes.get(name, "none"))
    except _Damaged as wrong:
        raise ModelMissing(
            f"the compiled model in {folder} cannot be used: {wrong}. The daemon makes it again "
            "when it starts, `cortex model prepare` does so now"
        ) from wrong
    return manifest


def find_compiled(models: Path, source_id: str) -> tuple[Path, Manifest] | None:
    """Return the compiled form of a float model that was made last, if there is a good one."""
    good = (find_by_id(models, folder.name) for folder in _folders(models))
    found = [each for each in good if each is not None and each[1].source == source_id]
    return max(found, key=lambda each: each[1].made_at, default=None)


def find_by_id(models: Path, model_id: str) -> tuple[Path, Manifest] | None:
    """Return the compiled model of that vector space, if it is there and good."""
    folder = models / model_id
    try:
        manifest = read(folder)
    except ModelMissing:
        return None
    return (folder, manifest) if manifest.model_id == model_id else None


def list_damaged(models: Path) -> dict[str, str]:
    """Return the folders that are no usable models, and what is wrong with each."""
    wrong = {}
    for folder in _folders(models):
        try:
            manifest = read(folder)
        except ModelMissing as error:
            wrong[folder.name] = str(error)
            continue
        if manifest.model_id != folder.name:
            wrong[folder.name] = f"{folder} holds the model {manifest.model_id}; rename it back"
    return wrong


class _Damaged(Exception):
    """A folder is not what was written."""


def _folders(models: Path) -> list[Path]:
    """Return the folders in which models lie or lay; those being made begin with a dot."""
    try:
        found = sorted(models.iterdir())
    except OSError:
        return []
    return [each for each in found if not each.name.startswith(".") and each.is_dir()]


def _unsealed(path: Path) -> Manifest:
    """Return what a manifest says; raises `_Damaged`."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        version, seal, content = found["version"], found.get("seal"), found.get("model")
    except FileNotFoundError:
        raise _Damaged(f"{path.name} is missing") from None
    except OSError as error:
        raise _Damaged(f"{path.name} cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _Damaged(f"{path.name} is not a manifest") from error
    if version != VERSION:
        raise _Damaged(f"{path.name} is of version {version!r} and this program reads {VERSION}")
    if not isinstance(content, dict) or seal != _seal(content):
        raise _Damaged(f"{path.name} was changed after it was written")
    try:
        return parse_manifest(content)
    except (KeyError, TypeError, ValueError) as error:
        raise _Damaged(f"{MANIFEST} does not say what it should ({error})") from error


def _seal(content: Mapping[str, Any]) -> str:
    """Return what changes with any value of a manifest."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def _compare(path: Path, expected: str) -> None:
    """Raise `_Damaged` when a file is not the one that was written."""
    try:
        found = hash_file(path)
    except FileNotFoundError:
        raise _Damaged(f"{path.name} is missing") from None
    except OSError as error:
        raise _Damaged(f"{path.name} cannot be read ({error.strerror})") from error
    if found != expected:
        size = path.stat().st_size
        raise _Damaged(f"{path.name} ({size} bytes) does not have the hash it was made with")


#: The packages that, beside this one, decide what a compiled model is.
MAKERS = ("onnx", "onnxruntime", "sentence-transformers", "tokenizers", "torch", "transformers")


def list_versions() -> dict[str, str]:
    """Return the installed versions of what makes a compiled model; nothing is imported."""
    found = {"cortex-actors": __version__}
    for package in MAKERS:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def remember_refusal(models: Path, source: str, reason: str, *, at: int) -> None:
    """Keep why a model was refused, at a time in UTC microseconds.

    A disk that does not take it costs one more attempt.
    """
    content = {"source": source, "reason": reason, "versions": list_versions(), "at": at}
    with suppress(OSError):
        write_private(_path(models, source), json.dumps(content, indent=2) + "\n")


def forget_refusal(models: Path, source: str) -> None:
    """Drop a note, if there is one: the model has a compiled form after all."""
    with suppress(OSError):
        _path(models, source).unlink(missing_ok=True)


def find_refusal(models: Path, source: str) -> str | None:
    """Return why a float model has no compiled form; None when that is not known.

    Blocks for a moment: it reads some small files.
    """
    try:
        found = json.loads(_path(models, source).read_text(encoding="utf-8"))
        is_current = found["source"] == source and found["versions"] == list_versions()
        return str(found["reason"]) if is_current else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _path(models: Path, source: str) -> Path:
    """Return where a model's note lies; ids may hold anything, so the name is a hash."""
    return models / f".refused-{sha256(source.encode()).hexdigest()[:16]}.json"
