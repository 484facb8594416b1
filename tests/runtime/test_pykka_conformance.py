from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Tests in Pykka 4.5.0 that run once for each runtime.
RUNTIME_TESTS = 137

#: The line of Pykka's tests/conftest.py before which its table of runtimes is complete.
SEAM = '@pytest.fixture(scope="session", params=RUNTIMES.values())'

ADDED = """
import pykka_plugin
from pykka_plugin import mocker
RUNTIMES["asyncio"] = pytest.param(pykka_plugin.runtime(Runtime), id="asyncio")


"""


@pytest.fixture
def pykka_tests(tmp_path: Path) -> Path:
    """Give the source distribution of the installed Pykka, with one more runtime."""
    version = importlib.metadata.version("pykka")
    # Of Pykka alone: with `:all:` pip would build the tools that build it from their sources, too.
    wanted = ("--no-deps", "--no-binary=pykka", "--dest", str(tmp_path), f"pykka=={version}")
    fetched = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", *wanted],
        capture_output=True,
        text=True,
        check=False,
    )
    if fetched.returncode and not os.environ.get("CI"):
        pytest.skip(f"pip cannot fetch Pykka's source: {fetched.stderr.strip()[-200:]}")
    assert 0 == fetched.returncode, fetched.stderr
    with tarfile.open(tmp_path / f"pykka-{version}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / f"pykka-{version}"
    # A configuration of its own, or pytest would look for one in the folders above.
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    shutil.copy(Path(__file__).with_name("pykka_plugin.py"), folder)
    conftest = folder / "tests" / "conftest.py"
    before, seam, after = conftest.read_text("utf-8").partition(SEAM)
    assert seam, "Pykka's conftest.py has changed: find its table of runtimes again"
    conftest.write_text(before + ADDED + seam + after, "utf-8")
    return folder


@pytest.mark.slow
class TestConformance:
    def test_own_suite(self, pykka_tests: Path) -> None:
        """Every test that Pykka runs on its own actors passes on AsyncioActor."""
        options = ("-p", "no:randomly", "-p", "no:asyncio", "-p", "no:cacheprovider")
        path = os.pathsep.join((str(pykka_tests), str(ROOT)))
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "tests", "-k", "asyncio", *options],
            cwd=pykka_tests,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        passed = re.search(r"(\d+) passed", run.stdout)

        assert 0 == run.returncode, run.stdout[-4_000:]
        assert passed is not None
        assert RUNTIME_TESTS <= int(passed[1])
