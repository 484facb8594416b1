"""Labelled pairs of statements, judged by the rules: the goals, and what is never to happen.

`CORTEX_TEST_DATA` may name a folder with `pairs.jsonl`; the statements are quoted from files of
others and are data.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks import quality

#: Pairs of our own, of each label, in the format of the file; their cosines are made up.
OURS = (
    ("duplicate", "Never commit secrets", "Do not commit secrets to the repository", 0.85),
    ("duplicate", "Close each session", "Close each session, always", 0.75),
    ("contradiction", "Use pnpm", "Package manager: npm", 0.6),
    ("contradiction", "The system has three queues", "The system has two queues", 0.99),
    ("related", "Use 4 spaces in Python code", "Use 2 spaces in TypeScript files", 0.7),
    ("unrelated", "Use tabs", "Never force-push", 0.05),
)


def _written(folder: Path) -> Path:
    """Write our own pairs into a folder."""
    rows = [
        {"label": label, "a": {"text": left}, "b": {"text": right}, "minilm_cos": cosine}
        for label, left, right, cosine in OURS
    ]
    path = folder / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def _pairs() -> Path:
    folder = os.environ.get("CORTEX_TEST_DATA")
    path = Path(folder or "") / "pairs.jsonl"
    if not folder or not path.exists():
        pytest.skip("CORTEX_TEST_DATA names no folder with pairs.jsonl")
    return path


class TestBenchmark:
    def test_ours(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The benchmark judges each label right, and shows the original's rule beside it."""
        words = ["--pairs", str(_written(tmp_path)), "--provider", "file"]

        assert 0 == quality.main(words)
        assert "the original's rule" in capsys.readouterr().out

    def test_json(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A program is told the same: the original merges what contradicts, the rules do not."""
        quality.main(["--pairs", str(_written(tmp_path)), "--provider", "file", "--json"])
        report = json.loads(capsys.readouterr().out)
        merged = {
            way: found["contradiction"]["judged"]["duplicate"]
            for way, found in report["scores"].items()
        }

        assert len(OURS) == report["pairs"]
        assert {"rules": 0, "the original's rule": 1} == merged


class TestRealPairs:
    def test_goals(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Every goal is met on pairs that people wrote; no contradiction is merged."""
        code = quality.main(["--pairs", str(_pairs()), "--provider", "file"])

        assert 0 == code, capsys.readouterr().out
