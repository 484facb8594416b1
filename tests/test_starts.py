"""What is quick, and that a test which is not and does not say so fails."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.starts import BUSY, Starts, Watch

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]

#: A file of tests: which of them must fail.
FILE = """
import subprocess, sys
import pytest

def test_starts():
    subprocess.run([sys.executable, "-c", ""], check=True)

def test_quick():
    pass

@pytest.mark.slow
def test_says_so():
    subprocess.run([sys.executable, "-c", ""], check=True)
"""


class TestWatch:
    def test_process(self) -> None:
        """A process that a test starts is noticed."""
        watch = Watch(Starts())
        assert "" == watch.complaint()

        subprocess.run([sys.executable, "-c", ""], check=True)

        assert "Python was started, times: 1" == watch.complaint()

    def test_another_program(self) -> None:
        """A program that takes no time, such as git, is let be."""
        watch = Watch(Starts())

        subprocess.run(["true"], check=True)

        assert "" == watch.complaint()

    def test_busy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A test that computes for long is noticed."""
        used = [0.0]
        monkeypatch.setattr("tests.starts.used", lambda: used[0])
        watch = Watch(Starts())
        used[0] = BUSY + 1

        assert f"it used {BUSY + 1:.1f} s of the processor" == watch.complaint()


class TestRun:
    def test_fails(self, tmp_path: Path) -> None:
        """A quick test that starts Python fails among the quick; of all, quick files are last."""
        (tmp_path / "rules").mkdir()
        (tmp_path / "rules/test_a.py").write_text("def test(): pass\n")
        (tmp_path / "rules/test_b.py").write_text(FILE)
        settings = ["-c", "pyproject.toml", "--rootdir", str(tmp_path), "-p", "no:randomly"]
        run = [
            sys.executable,
            "-m",
            "pytest",
            *settings,
            "-v",
            "-p",
            "tests.conftest",
            str(tmp_path),
        ]
        quick, every = (
            subprocess.run([*run, *more], cwd=ROOT, capture_output=True, text=True, check=False)
            for more in (["--quick"], [])
        )

        assert ["test_starts"] == re.findall(r"^ERROR .*::(\w+)", quick.stdout, re.MULTILINE)
        assert 0 == every.returncode, every.stdout
        assert every.stdout.index("test_says_so") < every.stdout.index("test_a.py::test ")
