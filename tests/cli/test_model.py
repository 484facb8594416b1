"""`cortex model`, with a daemon that is played."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from cortex_actors.embedding.factory import report
from cortex_actors.home import Home
from tests.embedding.compiling import MAKING, put

if TYPE_CHECKING:
    from pathlib import Path

#: The shipped model.
DEFAULT = "all-MiniLM-L6-v2"

#: What the daemon knows of the model.
ASKED: dict[str, Any] = {"model_id": DEFAULT, "provider": "sentence-transformers", "compiles": True}


@pytest.fixture
def home(tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Give a home whose daemon answers what its files say of the model in `ASKED`."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    found = Home(tmp_home)

    def call(_: object, method: str, /, **_params: object) -> dict[str, Any]:
        assert "model" == method
        return {
            **report(found.models, **ASKED),
            "embedder": {"state": "ready", "reason": ""},
            "migration": {"state": "compiling", "making": MAKING},
        }

    monkeypatch.setattr("cortex_actors.client.connection.Client.call", call)
    return found


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run `cortex model ...` and return its exit code, output and errors."""
    code = entry.main(["model", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Run `cortex model ... --json` and return what it prints."""
    found: dict[str, Any] = json.loads(run(capsys, *words, "--json")[1])
    return found


class TestStatus:
    def test_compiled(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """A compiled form is shown with its gates, size, versions and folder."""
        made = put(home.models, DEFAULT)
        code, out, _ = run(capsys, "status")

        assert 0 == code
        assert "gates     mean cosine 0.9970, Spearman 0.9960, top-10 overlap 0.950\n" in out
        assert "made with onnx 1\n" in out
        assert f"folder    {home.models / made.model_id}\n" in out
        assert f"next      compiling {DEFAULT} since 1970-01-01T00:00:00Z: quantising\n" in out

    @pytest.mark.parametrize(
        ("asked", "why"),
        [
            ({"compiles": False}, "embedding.compile is false"),
            ({"provider": "hashing"}, "only models of sentence-transformers are"),
        ],
    )
    def test_why_not(self, tmp_path: Path, asked: dict[str, Any], why: str) -> None:
        """What will not be compiled says why."""
        assert why in report(tmp_path, **{**ASKED, **asked})["why"]

    def test_lost(self, home: Home) -> None:
        """A compiled model that answers and is gone is told, with the mend."""
        lost = f"{DEFAULT}+int8-00000000"
        found = report(home.models, **{**ASKED, "model_id": lost})

        assert "int8" == found["form"]
        assert "is not there" in found["damaged"][lost]
        assert "cortex model prepare" in found["damaged"][lost]
