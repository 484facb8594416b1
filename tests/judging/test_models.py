from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import JudgeMissing
from cortex_actors.judging.nli import locate

if TYPE_CHECKING:
    from pathlib import Path

#: The outputs of a common model, not in our order.
LABELS = {"0": "ENTAILMENT", "1": "neutral", "2": "Contradiction"}


def saved(folder: Path, weights: bytes = b"w", **config: Any) -> Path:
    """Save what looks like a CrossEncoder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"id2label": LABELS, **config}))
    (folder / "model.safetensors").write_bytes(weights)
    return folder


class TestLocate:
    def test_folder(self, tmp_path: Path) -> None:
        """A folder's path is a model; its outputs are found by their names."""
        found = locate(str(saved(tmp_path / "nli")))

        assert (2, 0, 1) == found.outputs
        assert tmp_path / "nli" == found.folder
        assert found.model_id.startswith("nli@")

    def test_named(self, tmp_path: Path) -> None:
        """Who knows what a model's outputs are may say so, whatever its configuration says."""
        folder = saved(tmp_path / "nli", id2label={"0": "LABEL_0"})
        labels = ("contradiction", "entailment", "neutral")

        assert (0, 1, 2) == locate(str(folder), labels).outputs
        with pytest.raises(JudgeMissing, match="'neutral'"):
            locate(str(folder), labels[:2])

    def test_other_weights(self, tmp_path: Path) -> None:
        """Other weights are another model: what the first one said is not the second one's."""
        before = locate(str(saved(tmp_path / "nli")))

        assert before.model_id != locate(str(saved(tmp_path / "nli", b"x"))).model_id

    def test_not_there(self, tmp_path: Path) -> None:
        """A model that is nowhere is missing; the error says where was looked and how to mend."""
        with pytest.raises(JudgeMissing, match="hf download cross-encoder/nli") as caught:
            locate(str(tmp_path / "nli"))

        assert str(tmp_path / "nli") in str(caught.value)

    def test_no_entailment(self, tmp_path: Path) -> None:
        """A model that only scores is refused, because it cannot tell a contradiction."""
        folder = saved(tmp_path / "score", id2label={"0": "LABEL_0"})
        with pytest.raises(JudgeMissing, match="no entailment model.*'contradiction'"):
            locate(str(folder))

        (folder / "config.json").write_text("{}")
        with pytest.raises(JudgeMissing, match="no entailment model"):
            locate(str(folder))

    @pytest.mark.parametrize("config", ["[]", "{}x", '{"id2label": {"a": "neutral"}}'])
    def test_damaged(self, tmp_path: Path, config: str) -> None:
        """Files that are not a model's are missing, too."""
        folder = saved(tmp_path / "odd")
        (folder / "config.json").write_text(config)

        with pytest.raises(JudgeMissing, match="judging.cross_encoder"):
            locate(str(folder))

    def test_no_weights(self, tmp_path: Path) -> None:
        """A folder without weights is no model."""
        (saved(tmp_path / "empty") / "model.safetensors").unlink()

        with pytest.raises(JudgeMissing, match="holds no"):
            locate(str(tmp_path / "empty"))
