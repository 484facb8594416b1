from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.embedding import calibration
from cortex_actors.embedding import manifest as manifests
from cortex_actors.embedding.manifest import (
    QualityGates,
    WeightKind,
    find_by_id,
    find_compiled,
    list_damaged,
    read,
)
from cortex_actors.errors import CompileFailed, CompileNoRoom, ModelMissing
from tests.embedding.compiling import DAMAGES, FACTS, fill, put

if TYPE_CHECKING:
    from pathlib import Path


class TestRead:
    def test_what_was_written(self, tmp_path: Path) -> None:
        """A manifest comes back as it was written, with its types."""
        written = put(tmp_path, "bert")
        found = read(tmp_path / written.model_id)

        assert written == found
        assert (WeightKind.INT8, QualityGates(0.997, 0.996, 0.95)) == (found.kind, found.gates)
        assert ("input_ids", "attention_mask") == found.inputs

    def test_id(self, tmp_path: Path) -> None:
        """The id names the source, the kind and the start of the graph's hash."""
        found = put(tmp_path, "bert@0a1b2c3d", b"abc")

        assert "bert@0a1b2c3d+int8-ba7816bf" == found.model_id

    @pytest.mark.parametrize("kind", DAMAGES)
    def test_damage(self, tmp_path: Path, kind: str) -> None:
        """A damaged model is refused, and the cause and the mend are named."""
        folder = tmp_path / put(tmp_path, "bert").model_id
        damage, says = DAMAGES[kind]
        damage(folder)

        with pytest.raises(ModelMissing, match=says) as caught:
            read(folder)
        assert "cortex model prepare" in str(caught.value)
        assert find_compiled(tmp_path, "bert") is None
        assert find_by_id(tmp_path, folder.name) is None
        assert [folder.name] == list(list_damaged(tmp_path))

    def test_missing_folder(self, tmp_path: Path) -> None:
        """A folder that is not there is refused like a damaged one."""
        with pytest.raises(ModelMissing, match="manifest.json is missing"):
            read(tmp_path / "nowhere")


class TestFind:
    def test_latest(self, tmp_path: Path) -> None:
        """Of several compiled forms the one made last is found, and each by its id."""
        old = put(tmp_path, "bert", b"old", at=1)
        new = put(tmp_path, "bert", b"new", at=2)
        put(tmp_path, "other", b"other", at=3)

        assert find_compiled(tmp_path, "bert") == (tmp_path / new.model_id, new)
        assert find_by_id(tmp_path, old.model_id) == (tmp_path / old.model_id, old)

    def test_none(self, tmp_path: Path) -> None:
        """Where there is no folder of models there is no model, and nothing wrong."""
        assert find_compiled(tmp_path / "none", "bert") is None
        assert find_by_id(tmp_path / "none", "bert+int8-00000000") is None
        assert {} == list_damaged(tmp_path / "none")

    def test_renamed(self, tmp_path: Path) -> None:
        """A folder under another model's name is not taken for that model."""
        made = put(tmp_path, "bert")
        (tmp_path / made.model_id).rename(tmp_path / "bert+int8-ffffffff")

        assert find_compiled(tmp_path, "bert") is None
        assert find_by_id(tmp_path, "bert+int8-ffffffff") is None
        assert "rename it back" in list_damaged(tmp_path)["bert+int8-ffffffff"]

    def test_in_the_making(self, tmp_path: Path) -> None:
        """A model that is complete but not in its place yet is not found."""
        made = put(tmp_path, "bert")
        (tmp_path / made.model_id).rename(tmp_path / ".making-1")

        assert find_compiled(tmp_path, "bert") is None
        assert {} == list_damaged(tmp_path)


class TestInstall:
    def test_private(self, tmp_path: Path) -> None:
        """Only the owner may look into the folders."""
        made = put(tmp_path / "models", "bert")

        for folder in (tmp_path / "models", tmp_path / "models" / made.model_id):
            assert 0o700 == folder.stat().st_mode & 0o777

    def test_again(self, tmp_path: Path) -> None:
        """The same model made again takes the place of the one before, damaged or not."""
        first = put(tmp_path, "bert", at=1)
        (tmp_path / first.model_id / "model.onnx").unlink()

        assert 2 == put(tmp_path, "bert", at=2).made_at
        assert 2 == read(tmp_path / first.model_id).made_at
        assert [first.model_id] == [each.name for each in tmp_path.iterdir()]

    def test_damaged_forms(self, tmp_path: Path) -> None:
        """Damaged forms of the same model are deleted, those of others stay to be seen."""
        for source in ("bert", "other"):
            made = put(tmp_path, source, b"old")
            (tmp_path / made.model_id / "model.onnx").unlink()
        new = put(tmp_path, "bert", b"new")
        names = sorted(each.name for each in tmp_path.iterdir())

        assert [new.model_id, made.model_id] == names

    def test_sweep(self, tmp_path: Path) -> None:
        """What killed makers left is gone once another one begins."""
        left = calibration.begin_bench(tmp_path)
        fill(left)
        (tmp_path / ".replaced-1").mkdir()
        bench = calibration.begin_bench(tmp_path)

        assert [bench] == list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("number", "error"), [(28, CompileNoRoom), (122, CompileNoRoom), (5, CompileFailed)]
    )
    def test_disk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
    ) -> None:
        """A disk that is full, or fails, at the last sync is a typed error and leaves no model."""

        def fails(_descriptor: int) -> None:
            raise OSError(number, "no")

        monkeypatch.setattr("os.fsync", fails)
        bench = calibration.begin_bench(tmp_path)
        fill(bench)
        with pytest.raises(error, match="cortex model prepare") as caught:
            calibration.install(
                bench, {**FACTS, "versions": {}}, source="bert", source_hash="00", at=1
            )

        assert error is caught.type
        assert find_compiled(tmp_path, "bert") is None

    def test_no_folder(self, tmp_path: Path) -> None:
        """A place where no folder can be made is a typed error, too."""
        (tmp_path / "models").write_text("a file")
        with pytest.raises(CompileFailed, match="see to the folder"):
            calibration.begin_bench(tmp_path / "models")

    def test_every_file(self, tmp_path: Path) -> None:
        """The manifest vouches for everything that a model is made of."""
        assert set(manifests.FILES) == set(put(tmp_path, "bert").hashes)
