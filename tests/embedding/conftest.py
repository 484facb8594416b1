"""What the tests of the branch share."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cortex_actors.embedding.manifest import find_compiled
from cortex_actors.embedding.pool import Pool
from cortex_actors.runtime.actor import start_actor
from cortex_actors.runtime.names import Names
from tests.architecture.source import ROOT
from tests.embedding.asking import Asker
from tests.embedding.endpoint import FakeEndpoint, serving
from tests.embedding.support import ManualClock, StagedProvider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
def clock() -> ManualClock:
    """Give a clock that stands still."""
    return ManualClock()


@pytest.fixture
def provider() -> StagedProvider:
    """Give a provider that is ready and fails on demand."""
    return StagedProvider()


@pytest.fixture
def names() -> Names:
    """Give an empty register of names."""
    return Names()


@pytest.fixture
async def pool(names: Names, provider: StagedProvider, clock: ManualClock) -> AsyncIterator[Asker]:
    """Give a running pool of the documents' size with room for 100 texts."""
    make = partial(Pool, provider, clock, items=20, seconds=0.5, limit=100)
    handle = await start_actor(names, "pool", make)
    yield Asker(names, handle)
    handle.kill()
    await handle.exited()


@pytest.fixture(scope="session")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with `models/` and `extras/` of a real compile, made once in a run.

    The workers of a run share it: the first one compiles, the others wait for it.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "compiled-once"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / "said").exists():
            command = [sys.executable, "-m", "tests.embedding.compile_once", str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
            assert 0 == done.returncode, done.stderr
    return folder


@pytest.fixture(scope="session")
def compiled_model(compiled_once: Path) -> Path:
    """Give the folder of the compiled default model; nobody may write into it."""
    found = find_compiled(compiled_once / "models", "all-MiniLM-L6-v2")
    assert found is not None
    return found[0]


@pytest.fixture
async def endpoint() -> AsyncIterator[FakeEndpoint]:
    """Give an endpoint that listens."""
    async with serving() as found:
        yield found
