from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.embedding import manifest
from cortex_actors.embedding.compiled import Begun, Runner
from cortex_actors.embedding.tokens import TokenPiece
from cortex_actors.errors import BadInput, EmbedderDown, ModelMissing
from tests.embedding.real_child import TEXTS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runner(compiled_model: Path) -> Runner:
    """Give the default model, loaded."""
    return Runner(compiled_model, manifest.read(compiled_model))


class TestRows:
    def test_float(self, runner: Runner, compiled_once: Path) -> None:
        """Its rows are near to the float model's of the same texts."""
        reference = np.load(compiled_once / "extras" / "vectors.npy")
        short = [number for number, text in enumerate(TEXTS) if len(text) < 500]
        rows = runner.embed_texts([TEXTS[number] for number in short])
        cosines = np.einsum("ij,ij->i", rows, reference[short])

        assert cosines.mean() > 0.99
        assert cosines.min() > 0.97

    def test_budget(self, runner: Runner) -> None:
        """The size of the micro-batches changes no row by more than the last bit of a number."""
        apart = runner.embed_texts(TEXTS[::3], budget=64) - runner.embed_texts(
            TEXTS[::3], budget=1_024
        )

        assert np.abs(apart).max() < 2e-7


class TestFaults:
    def test_numbers(self, runner: Runner) -> None:
        """Tokens that the model does not know are the text's fault."""
        with pytest.raises(BadInput, match="leave out that text"):
            runner.run(Begun([TokenPiece(0, [101, 99_999, 102], 1, "?")], [[0]]), [0])

    def test_shape(self, compiled_model: Path) -> None:
        """Rows of another width than promised are the model's fault."""
        promised = replace(manifest.read(compiled_model), dimension=7)
        with pytest.raises(EmbedderDown, match="rows of shape"):
            Runner(compiled_model, promised).embed_texts(["a"])

    def test_inputs(self, compiled_model: Path) -> None:
        """A model that wants other inputs than its manifest says is the model's fault."""
        promised = replace(manifest.read(compiled_model), inputs=("input_ids",))
        with pytest.raises((BadInput, EmbedderDown), match=promised.model_id[:10]):
            Runner(compiled_model, promised).embed_texts(["a"])

    def test_no_tokeniser(self, compiled_model: Path, tmp_path: Path) -> None:
        """A file that is no tokeniser makes no model."""
        (tmp_path / manifest.TOKENIZER).write_text("{}")
        with pytest.raises(ModelMissing, match="is not a tokeniser"):
            Runner(tmp_path, manifest.read(compiled_model))

    def test_no_graph(self, compiled_model: Path, tmp_path: Path) -> None:
        """A graph that cannot be loaded says which file and why."""
        (tmp_path / manifest.TOKENIZER).write_bytes(
            (compiled_model / manifest.TOKENIZER).read_bytes()
        )
        (tmp_path / manifest.ONNX).write_bytes(b"no graph")
        with pytest.raises(EmbedderDown, match="cannot be loaded"):
            Runner(tmp_path, manifest.read(compiled_model))
