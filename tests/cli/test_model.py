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
from cortex_actors.storage.ledger.connection import migrate
from cortex_actors.storage.models import ChosenModel
from tests.embedding.compiling import DAMAGES, MAKING, put

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: The shipped model.
DEFAULT = "all-MiniLM-L6-v2"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a ledger with nothing in it."""
    path = tmp_path_factory.mktemp("empty") / "cortex.db"
    engine = connection.writing(path)
    migrate(engine, path)
    engine.dispose()
    return path


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
    engine = connection.writing(home.ledger)
    with engine.begin() as opened:
        models.settle(opened, chosen, 1)
    engine.dispose()


def rows(home: Home) -> dict[str, ChosenModel | None]:
    """Return the models in the ledger."""
    engine = connection.writing(home.ledger)
    with engine.begin() as opened:
        found = {"active": models.active(opened), "coming": models.coming(opened)}
    engine.dispose()
    return found


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
        manifest.remember(home.models, DEFAULT, "its modules LSTM are not among", at=1)

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


class TestVerify:
    def test_none(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """Where nothing is compiled there is nothing wrong."""
        code, out, _ = run(capsys, "verify")

        assert 0 == code
        assert "no compiled model to check" in out

    @pytest.mark.parametrize("kind", ["graph cut", "graph missing", "edited", "no manifest"])
    def test_damaged(self, home: Home, capsys: pytest.CaptureFixture[str], kind: str) -> None:
        """Damage is exit code 1, named, with the mend."""
        DAMAGES[kind][0](home.models / put(home.models, DEFAULT).model_id)
        code, out, _ = run(capsys, "verify")

        assert 1 == code
        assert "wrong     all-MiniLM-L6-v2+int8-" in out
        assert "`cortex model prepare` does so now" in out

    def test_not_a_model(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """Files that are as they were written and no model all the same are found out."""
        folder = home.models / put(home.models, DEFAULT).model_id
        code, out, _ = run(capsys, "verify")

        assert 1 == code
        assert f"Delete the folder {folder}, then make it again: cortex model prepare" in out


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


class TestUse:
    def test_no_ledger(self, home: Home, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Before there is a ledger the settings choose, and it says how."""
        code, _, err = run(capsys, "use", str(tiny))

        assert 69 == code
        assert f"CORTEX_EMBEDDING__MODEL={tiny} cortex start" in err

    def test_first(self, ledger: Home, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A home without a model has it from the next start on."""
        assert "first" == shown(capsys, "use", str(tiny))["how"]

        chosen = rows(ledger)["active"]
        assert chosen is not None
        assert (str(tiny), 2) == (chosen.name, chosen.dimension)

    def test_another(
        self,
        ledger: Home,
        tiny: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A home that has a model begins a migration; a folder may be given from where one is."""
        settle(ledger, ChosenModel(DEFAULT, "sentence-transformers", DEFAULT, 384))
        monkeypatch.chdir(tiny.parent)

        assert "next start" == shown(capsys, "use", "tiny")["how"]
        coming = rows(ledger)["coming"]
        assert coming is not None
        assert str(tiny) == coming.name

    def test_same(self, ledger: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """The model that answers, compiled or not, is refused."""
        settle(
            ledger, ChosenModel(f"{DEFAULT}+int8-00000000", "sentence-transformers", DEFAULT, 384)
        )
        code, _, err = run(capsys, "use", DEFAULT)

        assert 77 == code
        assert "answers already" in err

    def test_unknown(self, ledger: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """A model that is nowhere is refused with the mend."""
        code, _, err = run(capsys, "use", "no-such-model")

        assert 78 == code
        assert "not on this machine" in err


class TestDaemon:
    def test_verbs(
        self,
        home: Home,
        tiny: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
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
            "migrate": {"coming": {"model_id": "tiny@00"}},
        }

        def call(_: object, method: str, /, **params: object) -> dict[str, Any]:
            asked.append((method, params))
            return answers[method]

        monkeypatch.setattr("cortex_actors.client.connection.Client.call", call)
        told = f"next      compiling {DEFAULT} since 1970-01-01T00:00:00Z: quantising\n"
        assert told in run(capsys, "status")[1]
        assert made.model_id in run(capsys, "prepare")[1]
        assert "migrating to tiny@00 in the background" in run(capsys, "use", str(tiny))[1]
        assert ["model", "model", "prepare_model", "migrate"] == [name for name, _ in asked]
        assert {"to": str(tiny)} == asked[-1][1]
