"""`cortex model`, without a daemon and with one that is played."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from cortex_actors.embedding import manifest
from cortex_actors.home import Home
from cortex_actors.storage import models
from cortex_actors.storage.ledger import connection
from cortex_actors.storage.models import ChosenModel
from tests.embedding.compiling import MAKING, put

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: The shipped model.
DEFAULT = "all-MiniLM-L6-v2"


@pytest.fixture
def home(tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Give a home that nobody has started yet."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    return Home(tmp_home)


@pytest.fixture
def ledger(home: Home, empty: Path) -> Home:
    """Give a home whose ledger knows no model yet."""
    shutil.copy(empty, home.ledger)
    return home


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Give the folder of another float model."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text('{"hidden_size": 2}')
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run `cortex model ...` and return its exit code, output and errors."""
    code = entry.main(["model", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Run `cortex model ... --json` and return what it prints."""
    found: dict[str, Any] = json.loads(run(capsys, *words, "--json")[1])
    return found


def settle(home: Home, chosen: ChosenModel) -> None:
    """Let a model be the one that answers."""
    engine = connection.open_writing(home.ledger)
    with engine.begin() as opened:
        models.settle(opened, chosen, 1)
    engine.dispose()


class TestStatus:
    def test_new_home(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """Before the first start it says which model there will be, and that it is not compiled."""
        code, out, _ = run(capsys, "status")

        assert 0 == code
        assert f"space     {DEFAULT}\n" in out
        assert "compiled  no: not compiled yet" in out
        assert "no daemon runs" in out

    def test_compiled(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """A compiled form is shown with its gates, size, versions and folder."""
        made = put(home.models, DEFAULT)
        code, out, _ = run(capsys, "status")

        assert 0 == code
        assert "gates     mean cosine 0.9970, Spearman 0.9960, top-10 overlap 0.950\n" in out
        assert "made with onnx 1\n" in out
        assert f"folder    {home.models / made.model_id}\n" in out

    @pytest.mark.parametrize(
        ("environ", "why"),
        [
            ({"CORTEX_EMBEDDING__COMPILE": "false"}, "embedding.compile is false"),
            ({"CORTEX_EMBEDDING__PROVIDER": "hashing"}, "only models of sentence-transformers are"),
        ],
    )
    def test_why_not(
        self,
        home: Home,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        environ: Mapping[str, str],
        why: str,
    ) -> None:
        """What will not be compiled says why."""
        for name, value in environ.items():
            monkeypatch.setenv(name, value)

        assert why in shown(capsys, "status")["why"]

    def test_refused(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """A model that has no compiled form says what stands in the way."""
        home.models.mkdir()
        manifest.remember_refusal(home.models, DEFAULT, "its modules LSTM are not among", at=1)

        assert "its modules LSTM are not among" == shown(capsys, "status")["why"]

    def test_ledger(self, ledger: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """The ledger's model counts, not the settings'."""
        settle(ledger, ChosenModel("tiny@00", "sentence-transformers", "/tiny", 2))

        assert "tiny@00" == shown(capsys, "status")["id"]

    def test_lost(self, ledger: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """A compiled model that answers and is gone is told, with the mend."""
        lost = f"{DEFAULT}+int8-00000000"
        settle(ledger, ChosenModel(lost, "sentence-transformers", DEFAULT, 384))
        found = shown(capsys, "status")

        assert "int8" == found["form"]
        assert "is not there" in found["damaged"][lost]
        assert "cortex model prepare" in found["damaged"][lost]


class TestPrepare:
    def test_again(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """What is compiled is left as it is."""
        made = put(home.models, DEFAULT)
        found = shown(capsys, "prepare")

        assert not found["made"]
        assert made.model_id == found["compiled"]["model_id"]

    def test_nothing_to_compile(
        self, home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A model of another provider is left alone."""
        monkeypatch.setenv("CORTEX_EMBEDDING__PROVIDER", "hashing")
        code, out, _ = run(capsys, "prepare")

        assert 0 == code
        assert "nothing to do: only models of sentence-transformers" in out

    def test_unused(
        self, home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What nobody will use is made all the same, and said so."""
        monkeypatch.setenv("CORTEX_EMBEDDING__COMPILE", "false")
        put(home.models, DEFAULT)

        assert "embedding.compile is false, so the float model" in run(capsys, "prepare")[1]

    def test_moved(self, ledger: Home, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A float model that is not what it was is no source of the compiled form."""
        settle(ledger, ChosenModel("tiny@00", "sentence-transformers", str(tiny), 2))
        code, _, err = run(capsys, "prepare")

        assert 66 == code
        assert "cannot compile tiny@00: its files are not where they were" in err


class TestDaemon:
    def test_verbs(
        self, home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With a daemon the answers are its own, and it is told what was prepared."""
        made = put(home.models, DEFAULT)
        asked: list[tuple[str, dict[str, object]]] = []
        answers: dict[str, dict[str, Any]] = {
            "model": {
                **shown(capsys, "status"),
                "embedder": {"state": "ready", "reason": ""},
                "migration": {"state": "compiling", "making": MAKING},
            },
            "prepare_model": {},
        }

        def call(_: object, method: str, /, **params: object) -> dict[str, Any]:
            asked.append((method, params))
            return answers[method]

        monkeypatch.setattr("cortex_actors.client.connection.Client.call", call)
        told = f"next      compiling {DEFAULT} since 1970-01-01T00:00:00Z: quantising\n"
        assert told in run(capsys, "status")[1]
        assert made.model_id in run(capsys, "prepare")[1]
        assert ["model", "model", "prepare_model"] == [name for name, _ in asked]
