"""What tests of commands share that are answered from a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.cli import entry
from cortex_actors.storage.ledger import connection
from cortex_actors.storage.ledger.connection import migrate
from tests.cli.answering import answering

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.answering import Asked

    Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_home: Path) -> Asked:
    """Answer every call from the table `ANSWERS` of a test's module; give what was asked."""
    monkeypatch.setenv("CORTEX_HOME", str(tmp_home))
    return answering(monkeypatch, request.module.ANSWERS)


@pytest.fixture
def cortex(capsys: pytest.CaptureFixture[str]) -> Run:
    """Give the command line: exit code, output, error."""

    def run(*words: str) -> tuple[int, str, str]:
        code = entry.main(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a ledger with nothing in it."""
    path = tmp_path_factory.mktemp("empty") / "cortex.db"
    engine = connection.open_writing(path)
    migrate(engine, path)
    engine.dispose()
    return path
