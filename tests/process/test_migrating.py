"""A change of the embedding model in a daemon that is killed again and again."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from tests.flow.support import SAMPLES
from tests.process.commands import Commands, kill, until

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = ("recall", "which port does the test database use", "--json")

#: Lives that are killed.
KILLS = 3

#: Sections that make a migration last some seconds: each unit rests.
SECTIONS = 200

pytestmark = pytest.mark.slow


def shown(cortex: Commands, *words: str) -> Any:
    """Return the JSON that a command printed."""
    done = cortex(*words)
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


def rows(home: Path, query: str) -> list[tuple[Any, ...]]:
    """Return rows of the ledger, past the daemon."""
    with closing(sqlite3.connect(home / "cortex.db")) as ledger:
        return ledger.execute(query).fetchall()


@pytest.fixture
def known(cortex: Commands, tmp_path: Path) -> str:
    """Start a daemon that knows a project with many sections; return what answers a question."""
    root = tmp_path / "atlas-api"
    shutil.copytree(SAMPLES / "atlas-api", root)
    more = [f"## Rule {n}\n\nShelf number {n} holds jar {n * 7}.\n" for n in range(SECTIONS)]
    (root / "AGENTS.md").write_text("\n".join(more))
    assert 0 == cortex("start").returncode
    assert 0 == cortex("init", str(root)).returncode

    def is_known() -> bool:
        found = cortex.status()
        return bool(found["insights"] > SECTIONS and 0 == found["waiting"] == found["unembedded"])

    until(is_known, "everything is known and embedded")
    return str(shown(cortex, *QUESTION)["hits"][0]["id"])


class TestKilled:
    def test_resumes(self, cortex: Commands, known: str) -> None:
        """However often it is killed while it migrates, it answers, and at last with the other."""
        seed = random.randrange(10**6)
        chance = random.Random(seed)
        begun = cortex("embeddings", "migrate", "--to", "hashing-v1-256", "--no-wait")
        assert 0 == begun.returncode, begun.stderr
        made = []
        for _ in range(KILLS):
            time.sleep(chance.uniform(0, 0.4))
            kill(cortex.status()["pid"])
            made.append(rows(cortex.home, "SELECT count(*) FROM vectors WHERE model GLOB '*256'"))
            assert 0 == cortex("start").returncode
            assert known == shown(cortex, *QUESTION)["hits"][0]["id"], f"seed {seed}"

        def is_over() -> bool:
            found = shown(cortex, "embeddings", "status", "--json")
            return bool("hashing-v1-256" == found["active"]["model_id"] and not found["coming"])

        until(is_over, f"the other model answers (seed {seed})")
        assert sorted(made) == made, f"seed {seed}"
        assert known == shown(cortex, *QUESTION)["hits"][0]["id"], f"seed {seed}"
        without = """SELECT count(*) FROM passages WHERE text_hash NOT IN
            (SELECT text_hash FROM vectors WHERE model = 'hashing-v1-256')"""
        assert [(0,)] == rows(cortex.home, without), f"seed {seed}"
        models = rows(cortex.home, "SELECT id, state FROM embedding_models ORDER BY id")
        assert [("hashing-v1-256", "active"), ("hashing-v1-384", "retired")] == models


class TestCommand:
    def test_by_hand(self, cortex: Commands, capsys: pytest.CaptureFixture[str]) -> None:
        """A person watches it to its end, and is refused what cannot be."""
        assert 0 == cortex("start").returncode

        def said(*words: str) -> tuple[int, str]:
            code = entry.main(["embeddings", *words, "--home", str(cortex.home)])
            found = capsys.readouterr()
            return code, found.out + found.err

        until(lambda: "hashing-v1-384" in said("status")[1], "the model is written down")
        migrated = said("migrate", "--to", "hashing-v1-128")
        again = said("migrate", "--to", "hashing-v1-128")
        unknown = said("migrate", "--to", "nonesuch")
        status = said("status")
        cancel = said("cancel")

        assert (0, True) == (migrated[0], "hashing-v1-128 answers now\n" in migrated[1])
        assert (77, True) == (again[0], "it is the model that answers now" in again[1])
        assert (78, True) == (unknown[0], "cannot migrate to nonesuch" in unknown[1])
        assert "answers   hashing-v1-128 (hashing, 128 numbers)" in status[1]
        assert "kept      hashing-v1-384, replaced" in status[1]
        assert (66, True) == (cancel[0], "no migration runs" in cancel[1])
