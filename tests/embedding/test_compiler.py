from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.embedding import compiler, manifest
from cortex_actors.embedding.compiler import compile_model
from cortex_actors.embedding.manifest import find_compiled, find_refusal, list_damaged
from cortex_actors.embedding.models import Model
from cortex_actors.errors import CompileFailed, CompileNoRoom, NotCompilable
from tests.architecture.source import ROOT
from tests.embedding.compiling import DAMAGES, put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cortex_actors.embedding.manifest import Manifest
    from tests.embedding.support import ManualClock

#: The process that stands in for torch's.
FAKE = "tests.embedding.fake_compiler"

#: A program that compiles the model in its first argument into the folder in its second.
_COMPILES = """
import asyncio, sys
from pathlib import Path
from tests.embedding import test_compiler as test

asyncio.run(test.made(test.Model("tiny@00", Path(sys.argv[1]), 2, 9), Path(sys.argv[2])))
"""


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """Give a float model whose child does as it should."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "behaviour").write_text("good")
    os.mkfifo(folder / "alive")
    return Model("tiny@00", folder, 2, 9)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Give the path of a folder of models that is not there yet."""
    return tmp_path / "models"


def behave(model: Model, how: str) -> None:
    """Have the child do something else from now on."""
    (model.folder / "behaviour").write_text(how)


def calls(model: Model) -> int:
    """Return how many children were asked to compile."""
    path = model.folder / "calls"
    return len(path.read_text()) if path.exists() else 0


async def made(
    model: Model, models: Path, on_line: Callable[[str], None] | None = None, timeout: float = 20
) -> Manifest:
    """Compile with the fake child."""
    return await compile_model(
        model, models, clock=SystemClock(), on_line=on_line, timeout=timeout, child=FAKE
    )


def leftovers(models: Path) -> list[str]:
    """Return what lies in the folder of models beside models and the lock."""
    return [each.name for each in models.iterdir() if each.name.startswith((".m", ".rep"))]


@pytest.mark.slow
class TestCompile:
    async def test_new(self, model: Model, models: Path) -> None:
        """A model is compiled by a child, and found from then on; the steps are told."""
        said: list[str] = []
        manifest = await made(model, models, said.append)

        assert find_compiled(models, "tiny@00") == (models / manifest.model_id, manifest)
        assert ["half way", "moving the compiled model to its place"] == said
        assert [] == leftovers(models)

    async def test_again(self, model: Model, models: Path) -> None:
        """What is compiled is not compiled again: no child is started."""
        first = await made(model, models)

        assert first == await made(model, models)
        assert 1 == calls(model)

    async def test_at_once(self, model: Model, models: Path) -> None:
        """Of two that compile at once one does the work and both have the result."""
        first, second = await asyncio.gather(made(model, models), made(model, models))

        assert first == second
        assert 1 == calls(model)

    @pytest.mark.parametrize(
        "kind", ["no manifest", "other version", "graph missing", "graph cut", "graph flipped"]
    )
    async def test_damaged(self, model: Model, models: Path, kind: str) -> None:
        """A damaged form is made again; which damage is noticed, test_manifest.py asks."""
        folder = models / put(models, "tiny@00").model_id
        DAMAGES[kind][0](folder)
        manifest = await made(model, models)

        assert find_compiled(models, "tiny@00") == (folder, manifest)
        assert {} == list_damaged(models)


class TestLock:
    async def test_other_process(self, model: Model, models: Path, clock: ManualClock) -> None:
        """While another process compiles it is waited for, and its result taken."""
        models.mkdir()
        said: list[str] = []
        with (models / compiler.LOCK).open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            waiting = asyncio.create_task(
                compile_model(model, models, clock=clock, on_line=said.append, child=FAKE)
            )
            assert compiler.POLL == await clock.next_alarm()
            theirs = put(models, "tiny@00")
            fcntl.flock(held, fcntl.LOCK_UN)
            await clock.advance(compiler.POLL)

            assert theirs == await waiting
        assert ["another process compiles a model here; waiting for it"] == said
        assert 0 == calls(model)


@pytest.mark.slow
class TestFailure:
    @pytest.mark.parametrize(
        ("how", "error", "says"),
        [
            ("refuse", NotCompilable, "has no compiled form: its modules LSTM"),
            ("full", CompileNoRoom, "no room for a compiled model"),
            ("fail", CompileFailed, r"RuntimeError: the weights cannot be read\)"),
            ("die", CompileFailed, "by SIGKILL"),
            ("other width", CompileFailed, "promise vectors of 2 numbers and the model makes 3"),
        ],
    )
    async def test_typed(
        self, model: Model, models: Path, how: str, error: type[Exception], says: str
    ) -> None:
        """Each failure has its class and leaves nothing; the next attempt is a fresh one."""
        behave(model, how)
        with pytest.raises(error, match=says) as caught:
            await made(model, models)

        assert error is caught.type
        assert [] == leftovers(models)
        assert find_compiled(models, "tiny@00") is None
        behave(model, "good")
        assert 2 == (await made(model, models)).dimension

    async def test_lost(self, model: Model, models: Path) -> None:
        """A float model whose weights cannot be read any more is a failure like others."""
        (model.folder / "model.safetensors").unlink()
        (model.folder / "model.safetensors").mkdir()
        with pytest.raises(CompileFailed, match="Is a directory.*cortex model prepare"):
            await made(model, models)

        assert [] == leftovers(models)

    async def test_timeout(self, model: Model, models: Path) -> None:
        """A compile that takes too long is ended, and nothing of it is left."""
        behave(model, "hang")
        alive = os.open(model.folder / "alive", os.O_RDONLY | os.O_NONBLOCK)
        with pytest.raises(CompileFailed, match="not compiled within 0.4 s"):
            await made(model, models, timeout=0.4)

        os.close(alive)
        assert [] == leftovers(models)

    async def test_cancelled(self, model: Model, models: Path) -> None:
        """Cancelling ends the child before it returns, and sweeps its bench."""
        behave(model, "hang")
        working = asyncio.create_task(made(model, models))
        # Opening returns once the child has opened its end, half way.
        alive = await asyncio.to_thread(os.open, model.folder / "alive", os.O_RDONLY)
        assert 1 == len(leftovers(models))
        working.cancel()
        await asyncio.wait({working})

        assert working.cancelled()
        assert [] == leftovers(models)
        await asyncio.to_thread(_wait_for_end, alive)


@pytest.mark.slow
class TestKilled:
    async def test_everybody(self, model: Model, models: Path) -> None:
        """A kill -9 of the process that compiles leaves no model, no child, and no obstacle."""
        behave(model, "hang")
        command = [sys.executable, "-c", _COMPILES, str(model.folder), str(models)]
        with subprocess.Popen(command, cwd=ROOT) as parent:
            alive = await asyncio.to_thread(os.open, model.folder / "alive", os.O_RDONLY)
            parent.kill()
        # The end of the pipe is the end of the child, which was never told anything.
        await asyncio.to_thread(_wait_for_end, alive)

        assert find_compiled(models, "tiny@00") is None
        assert 1 == len(leftovers(models))
        behave(model, "good")
        await made(model, models)
        assert [] == leftovers(models)


class TestRefusals:
    def test_remembered(self, tmp_path: Path) -> None:
        """A refusal is remembered for that model until it is forgotten."""
        manifest.remember_refusal(tmp_path, "bert", "it is odd", at=1)

        assert "it is odd" == find_refusal(tmp_path, "bert")
        assert find_refusal(tmp_path, "other") is None
        manifest.forget_refusal(tmp_path, "bert")
        assert find_refusal(tmp_path, "bert") is None

    def test_versions(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another version of a library gets another try."""
        manifest.remember_refusal(tmp_path, "bert", "it is odd", at=1)
        monkeypatch.setattr(manifest, "version", lambda package: "99")

        assert find_refusal(tmp_path, "bert") is None

    @pytest.mark.parametrize("content", ["", "[]", '{"source": 1}', "\x00"])
    def test_damaged(self, tmp_path: Path, content: str) -> None:
        """A damaged note costs another try and nothing else."""
        manifest.remember_refusal(tmp_path, "bert", "it is odd", at=1)
        next(tmp_path.glob(".refused-*")).write_text(content)

        assert find_refusal(tmp_path, "bert") is None

    def test_no_folder(self, tmp_path: Path) -> None:
        """Where nothing can be written, nothing is remembered and nothing fails."""
        manifest.remember_refusal(tmp_path / "none", "bert", "it is odd", at=1)

        assert find_refusal(tmp_path / "none", "bert") is None

    async def test_by_compiling(self, model: Model, models: Path) -> None:
        """Compiling a model that has no compiled form notes why; success takes the note away."""
        behave(model, "refuse")
        with pytest.raises(NotCompilable):
            await made(model, models)
        assert "its modules LSTM are not among Transformer" == find_refusal(models, "tiny@00")

        behave(model, "good")
        await made(model, models)
        assert find_refusal(models, "tiny@00") is None


def _wait_for_end(descriptor: int) -> None:
    """Return once nobody holds the other end of a pipe: the child that had it has ended."""
    with os.fdopen(descriptor, "rb") as pipe:
        pipe.read()
