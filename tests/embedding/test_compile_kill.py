"""A death in the middle of a compile, at each change that it makes to the disk."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.embedding.compiler import compile_model
from cortex_actors.embedding.manifest import find_compiled, list_damaged, read
from cortex_actors.embedding.models import locate
from tests.architecture.source import ROOT
from tests.embedding.compiling import put

if TYPE_CHECKING:
    from pathlib import Path

#: Installs a model and dies, as by kill -9, before the n-th change of a file or a folder.
_DIES = """
import os, sys
from pathlib import Path
from tests.embedding.compiling import put

models, left = Path(sys.argv[1]), int(sys.argv[2])

def hook(event, given):
    global left
    writes = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
    if writes or event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod"):
        if str(models) in str(given[0]):
            left -= 1
            if left < 0:
                os._exit(9)

sys.addaudithook(hook)
put(models, "bert", b"new", at=2)
"""

#: Compiles the model in its first argument into the folder in its second, with torch.
_COMPILES = """
import asyncio, sys
from pathlib import Path
from cortex_actors.clock import SystemClock
from cortex_actors.embedding.compiler import compile_model
from cortex_actors.embedding.models import locate

asyncio.run(compile_model(locate(sys.argv[1]), Path(sys.argv[2]), clock=SystemClock()))
"""

#: How often a real compile is killed, at what moments, and seconds within which: importing torch
#: takes most of them.
COUNT = int(os.environ.get("CORTEX_COMPILE_COUNT", "12"))
SEED = int(os.environ.get("CORTEX_COMPILE_SEED", "1988"))
WITHIN = 12.0

#: More changes than installing a model makes.
MOST = 60


def died(models: Path, moment: int) -> bool:
    """Install a model in a process that dies at that moment; say whether it lived to see it."""
    command = [sys.executable, "-c", _DIES, str(models), str(moment)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode in (0, 9), done.stderr
    return 9 == done.returncode


@pytest.mark.slow
class TestAnyMoment:
    @pytest.mark.parametrize("before", ["nothing", "damaged"])
    def test_all(self, tmp_path: Path, before: str) -> None:
        """Whenever it dies there is a whole model or none, and the next one is not in its way."""
        moments = 0
        for moment in range(MOST):
            models = tmp_path / str(moment)
            if before == "damaged":
                old = models / put(models, "bert", b"new", at=1).model_id
                (old / "model.onnx").write_bytes(b"n")
            if not died(models, moment):
                break
            moments += 1
            found = find_compiled(models, "bert")
            assert found is None or read(found[0]).made_at in (1, 2)
            assert 3 == put(models, "bert", b"new", at=3).made_at
            assert 1 == len(list(models.iterdir()))

        assert 8 < moments < MOST


@pytest.mark.soak
class TestTorch:
    async def test_random(self, compiled_once: Path, tmp_path: Path) -> None:
        """Whenever a real compile is killed there is no half model, and the next one succeeds."""
        source, chance = compiled_once / "extras" / "roberta", random.Random(SEED)
        model = locate(str(source))
        for _ in range(COUNT):
            command = [sys.executable, "-c", _COMPILES, str(source), str(tmp_path)]
            with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as compiling:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    compiling.wait(chance.uniform(0, WITHIN))
                compiling.kill()
            assert {} == list_damaged(tmp_path), f"CORTEX_COMPILE_SEED={SEED}"
        manifest = await compile_model(model, tmp_path, clock=SystemClock())

        assert find_compiled(tmp_path, model.model_id) == (tmp_path / manifest.model_id, manifest)
        assert [] == list(tmp_path.glob(".making-*"))
