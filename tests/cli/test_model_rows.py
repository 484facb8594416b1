"""`cortex embeddings` without a daemon: no migration keeps a home from being of use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cortex_actors.cli import entry
from cortex_actors.cli.system.models import _migration_lines as lines
from cortex_actors.home import Home
from cortex_actors.storage import embeddings, models
from cortex_actors.storage.ledger import connection
from cortex_actors.storage.ledger.connection import migrate
from cortex_actors.storage.models import ChosenModel, read_chosen
from tests.embedding.compiling import put

if TYPE_CHECKING:
    from pathlib import Path

#: The model that answers, and one that no daemon could make a vector with.
SMALL = ChosenModel("hashing-v1-8", "hashing", "hashing-v1-8", 8)
HUGE = ChosenModel("hashing-v1-999999999", "hashing", "hashing-v1-999999999", 999_999_999)

#: What a model is to the home: the one that answers, and the next one.
STATES = ("active", "coming")

#: The shipped model.
MINI = "all-MiniLM-L6-v2"


@pytest.fixture
def home(tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Give a home whose daemon is down and that is on the way to a model that cannot be."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    found = Home(tmp_home)
    engine = connection.open_writing(found.ledger)
    migrate(engine, found.ledger)
    with engine.begin() as opened:
        models.settle(opened, SMALL, 1)
        models.begin(opened, HUGE, 2)
        rows = {bytes(32): np.ones(4, dtype=np.float32)}
        embeddings.keep_vectors(opened, HUGE.model_id, rows)
    engine.dispose()
    return found


def shown(capsys: pytest.CaptureFixture[str], verb: str) -> tuple[int, dict[str, Any]]:
    """Run `cortex embeddings VERB --json` and return its exit code and answer."""
    code = entry.main(["embeddings", verb, "--json"])
    return code, json.loads(capsys.readouterr().out or "{}")


class TestDown:
    def test_cancel(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """The migration is called off once, and the model before it stays."""
        code, found = shown(capsys, "cancel")

        assert (0, HUGE.model_id) == (code, found["cancelled"]["model_id"])
        assert (SMALL, None) == tuple(read_chosen(home.ledger, state=each) for each in STATES)
        assert 66 == shown(capsys, "cancel")[0]


class TestPrepare:
    def test_coming(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        """The model on its way is looked at, too: its compiled form is made, or there already."""
        code = entry.main(["embeddings", "cancel"])
        engine = connection.open_writing(home.ledger)
        with engine.begin() as opened:
            models.begin(opened, ChosenModel(MINI, "sentence-transformers", MINI, 384), 3)
        engine.dispose()
        made = put(home.models, MINI)
        capsys.readouterr()

        assert (0, 0) == (code, entry.main(["model", "prepare"]))
        assert f"coming    {made.model_id}: there already" in capsys.readouterr().out


class TestFailed:
    def test_row(self) -> None:
        """What failed while work goes on is not called waiting."""
        models_of: dict[str, Any] = {"active": None, "coming": None, "retired": []}
        found = {**models_of, "failed": 0, "reason": "no room", "note": "", "differs": ""}

        assert "failed    no room" in lines({**found, "state": "migrating"})
        assert "waiting   no room" in lines({**found, "state": "waiting"})


@pytest.mark.parametrize("verb", ["status", "cancel"])
def test_no_ledger(
    tmp_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """A home that nobody has started says how to."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))

    assert 69 == entry.main(["embeddings", verb])
    assert "cortex start" in capsys.readouterr().err
