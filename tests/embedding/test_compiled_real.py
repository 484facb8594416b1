"""Real compiles, made once in a run: the default model, and small ones of other shapes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cortex_actors.embedding import calibration
from cortex_actors.embedding.compiled import Runner
from cortex_actors.embedding.manifest import ONNX, Manifest, QualityGates, WeightKind, read
from tests.embedding.real_child import TEXTS
from tests.embedding.tiny_models import WINDOW

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.embedding.provider import Vectors

pytestmark = pytest.mark.slow

#: Texts of which every model here reads the whole: what a model makes of windows is told elsewhere.
SHORT = [number for number, text in enumerate(TEXTS) if len(text.encode()) < WINDOW - 2]

#: Bytes an int8 form of the default model may have; the float form has 90 million.
SMALL = 24_000_000


@pytest.fixture
def extras(compiled_once: Path) -> dict[str, Any]:
    """Give what compiling said of each small model."""
    found: dict[str, Any] = json.loads((compiled_once / "extras" / "extras.json").read_text())
    return found


def cosines(compiled_once: Path, said: dict[str, Any], name: str) -> np.ndarray[Any, Any]:
    """Return how near a small model's compiled form is to sentence-transformers'."""
    extras = compiled_once / "extras"
    ours = Runner(extras / f"{name}.bench", manifest_of(said)).embed_texts(
        [TEXTS[i] for i in SHORT]
    )
    return calibration.compute_cosines(np.load(extras / f"{name}.npy")[SHORT], ours)


def manifest_of(said: dict[str, Any]) -> Manifest:
    """Return what a maker's answer becomes."""
    known = {**said, "kind": WeightKind(said["kind"]), "gates": QualityGates(**said["gates"])}
    return Manifest(
        **{**known, "inputs": tuple(said["inputs"]), "model_id": "small"},
        source="small",
        hashes={},
        source_hash="",
        versions={},
        made_at=0,
    )


class TestDefault:
    def test_gates(self, compiled_model: Path) -> None:
        """The shipped model is compiled to int8, passes every gate, and is a quarter as large."""
        manifest = read(compiled_model)

        assert WeightKind.INT8 is manifest.kind
        assert "" == calibration.list_missed(manifest.gates)
        assert SMALL > (compiled_model / ONNX).stat().st_size

    def test_description(self, compiled_model: Path) -> None:
        """The manifest says how the model is fed, and what it was made with."""
        manifest = read(compiled_model)

        assert (384, 256, "mean", 0) == (
            manifest.dimension,
            manifest.max_tokens,
            manifest.pooling,
            manifest.pad,
        )
        assert ("input_ids", "attention_mask", "token_type_ids") == manifest.inputs
        assert {"onnx", "onnxruntime", "torch"} < manifest.versions.keys()

    def test_vectors(self, compiled_once: Path, compiled_model: Path) -> None:
        """Its vectors are those of sentence-transformers but for the loss of int8."""
        floats: Vectors = np.load(compiled_once / "extras" / "vectors.npy")
        whole = [i for i, text in enumerate(TEXTS) if len(text) < 700]
        ours = Runner(compiled_model, read(compiled_model)).embed_texts([TEXTS[i] for i in whole])
        found = calibration.compute_cosines(floats[whole], ours)

        assert 40 < len(whole)
        assert 0.98 < found.min()

    def test_progress(self, compiled_once: Path) -> None:
        """Only the steps are told; what libraries write while they export is told nobody."""
        steps = {
            "loading the model",
            "exporting the model",
            "embedding the calibration texts with the float model",
            "comparing the export with the float model",
            "quantising to int8 and checking it",
            "moving the compiled model to its place",
        }

        assert steps == set((compiled_once / "said").read_text().splitlines())


class TestSmall:
    @pytest.mark.parametrize(("name", "pooling"), [("roberta", "mean"), ("mpnet", "max")])
    def test_int8(
        self, compiled_once: Path, extras: dict[str, Any], name: str, pooling: str
    ) -> None:
        """A model without token types and with positions of its own compiles to int8."""
        said = extras[name]

        assert ("int8", pooling, 1) == (said["kind"], said["pooling"], said["pad"])
        assert ["input_ids", "attention_mask"] == said["inputs"]
        assert 0.99 < cosines(compiled_once, said, name).min()

    def test_bert(self, compiled_once: Path, extras: dict[str, Any]) -> None:
        """First-token pooling and a dense layer are compiled; where int8 fails, float is kept."""
        said = extras["bert"]

        # With random weights all its vectors are nearly one, which int8 cannot tell apart.
        assert ("fp32", "cls", 24) == (said["kind"], said["pooling"], said["dimension"])
        assert "the int8 form missed its gates" in said["note"]
        assert calibration.SAME < cosines(compiled_once, said, "bert").min()

    def test_refused(self, compiled_once: Path, extras: dict[str, Any]) -> None:
        """A module that has no compiled form is a typed refusal that names it."""
        assert "NotCompilable" == extras["recurrent"]["error"]
        assert "its modules LSTM are not among" in extras["recurrent"]["text"]
        assert [] == list((compiled_once / "extras" / "recurrent.bench").iterdir())
