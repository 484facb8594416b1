"""torch's child as it is, but that it compiles small models too: importing torch takes seconds.

What it leaves in the folder that `CORTEX_TEST_EXTRAS` names: `vectors.npy`, the default model's of
TEXTS, and `long.npy`, its vectors of long texts as the float provider answers them; for each small
model its folder, a bench `<name>.bench` with what was built on it, the float model's `<name>.npy`,
and `extras.json`, what `compile` answered for each.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from cortex_actors.embedding import torch_child
from cortex_actors.embedding.calibration import load_texts
from tests.embedding.long_texts import long_texts
from tests.embedding.tiny_models import MODELS

#: How many of the calibration texts are embedded by the float models: every seventh.
TEXTS = load_texts()[::7]

#: The class as it is, before `Extras` takes its place.
Real = torch_child.Embedder


class Extras(Real):
    """Compiles the small models after the one it was asked for."""

    def compile(self, params: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        answer = super().compile(params, body)
        folder = Path(os.environ["CORTEX_TEST_EXTRAS"])
        _save_rows(self._folder, folder / "vectors.npy")
        _save_long(self._folder, folder / "long.npy")
        said = {name: _compiled(folder, name) for name in MODELS}
        (folder / "extras.json").write_text(json.dumps(said))
        return answer


def _compiled(folder: Path, name: str) -> dict[str, Any]:
    """Save a small model and compile it; return what its maker says, or its error."""
    from cortex_actors.embedding.torch_build import silence  # noqa: PLC0415

    bench = folder / f"{name}.bench"
    bench.mkdir()
    import_module("torch").manual_seed(len(name))
    with silence():
        MODELS[name](folder / name)
    try:
        answer, _ = Real(str(folder / name)).compile({"folder": str(bench)}, b"")
    except Exception as error:  # noqa: BLE001
        return {"error": type(error).__name__, "text": str(error)}
    _save_rows(str(folder / name), folder / f"{name}.npy")
    return answer


def _save_rows(model: str, path: Path) -> None:
    """Save what sentence-transformers makes of the texts."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    loaded = SentenceTransformer(model, device="cpu", local_files_only=True)
    np.save(path, loaded.encode(TEXTS, batch_size=8, normalize_embeddings=True))


def _save_long(model: str, path: Path) -> None:
    """Save what the float provider's process makes of texts longer than a window."""
    embedder = Real(model)
    answer, _ = embedder.load({}, b"")
    _, rows = embedder.embed({}, json.dumps(long_texts()).encode())
    np.save(path, np.frombuffer(rows, dtype="<f4").reshape(-1, answer["dimension"]))


if __name__ == "__main__":
    # Everybody waits for it here, and another worker is as busy as this one.
    torch_child.COMPILING_NICENESS = 0
    torch_child.Embedder = Extras  # type: ignore[misc]  # the one thing that is not as it is
    torch_child.main(sys.argv[1:], niceness=0)
