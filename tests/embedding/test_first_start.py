"""The way from the float model to its compiled form, with the real ones."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.assembly.context import Outside
from cortex_actors.home import Home
from cortex_actors.storage.models import ChosenModel
from cortex_actors.testing import eventually
from tests.flow.support import copied, first, follow, grown

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.tree import Tree

#: The default model, compiled as soon as it may be.
REAL: dict[str, Any] = {"provider": "sentence-transformers", "batch_ms": 20}

#: Seconds a first start may take on a busy machine.
PATIENCE = 120.0

pytestmark = pytest.mark.slow


def kinds(tree: Tree) -> dict[str, str]:
    """Return which class of provider each actor of the branch was handed."""
    made = tree.parts.make
    return {name: type(made[name].args[0]).__name__ for name in ("cache", "pool")}  # type: ignore[attr-defined]


class TestFirstStart:
    async def test_compiled(self, tmp_path: Path, tmp_home: Path, compiled_model: Path) -> None:
        """A home begins with the float model and goes on with the compiled one, by itself."""
        roots = copied(tmp_path, "atlas-api")
        folder = Home.find(tmp_home, {}).models
        folder.mkdir()
        shutil.copytree(compiled_model, folder / compiled_model.name)
        async with grown(tmp_home, embedding=REAL) as tree:
            begun = tree.parts.model, kinds(tree)
            await eventually(lambda: compiled_model.name == tree.parts.model, PATIENCE)
            await follow(tree, *roots, within=PATIENCE)
            hit = await first(tree, "which port does the test database use")
            found = await tree.cortex.migration()
            kept = [each["model_id"] for each in found["retired"]]
            status = await tree.cortex.status()

        assert ("all-MiniLM-L6-v2", dict.fromkeys(("cache", "pool"), "SentenceProvider")) == begun
        assert "5433" in hit["text"]
        assert ["all-MiniLM-L6-v2"] == kept
        assert (compiled_model.name, "ready") == (status["model"]["id"], status["model"]["state"])
        async with grown(tmp_home, embedding=REAL) as again:
            assert dict.fromkeys(("cache", "pool"), "CompiledProvider") == kinds(again)
            assert hit["id"] == (await first(again, "which port does the test database use"))["id"]

    async def test_damaged(self, tmp_path: Path, tmp_home: Path, compiled_model: Path) -> None:
        """A compiled model that lost a byte answers nothing wrong: what is asked finds words."""
        roots = copied(tmp_path, "atlas-api")
        folder = Home.find(tmp_home, {}).models
        folder.mkdir()
        shutil.copytree(compiled_model, folder / compiled_model.name)
        # A home that has come so far: the float model is not loaded once more for it.
        form = ChosenModel(compiled_model.name, "sentence-transformers", "all-MiniLM-L6-v2", 384)
        outside = Outside(chosen=lambda _: form)
        async with grown(tmp_home, outside=outside, embedding=REAL) as tree:
            await follow(tree, *roots, within=PATIENCE)
        graph = folder / compiled_model.name / "model.onnx"
        graph.write_bytes(graph.read_bytes()[:-1])
        async with grown(tmp_home, embedding={**REAL, "compile": False}) as tree:
            hit = await first(tree, "which port does the test database use")
            status = await tree.cortex.status()

        assert "5433" in hit["text"]
        assert (compiled_model.name, "missing") == (status["model"]["id"], status["model"]["state"])
        assert any("cortex model prepare" in reason for reason in status["reasons"])
