from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cortex_actors.storage import documents, memory_records, passages
from cortex_actors.storage.ledger import backups, faults, offline
from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger.files import read_finding
from cortex_actors.testing import EPOCH
from tests.storage.damage import damaged, recovered
from tests.storage.ledgers import Filed
from tests.storage.things import document, memory, put_passages

if TYPE_CHECKING:
    from pathlib import Path

#: An insight: its content, and whether it is in the backup.
BEFORE, AFTER = "use ruff", "ports stay"


@pytest.fixture
def filed(tmp_path: Path) -> Filed:
    """Give a ledger with one insight in the backup and one after it."""
    filed = Filed(tmp_path, events=150)
    learn(filed, "a", BEFORE)
    backups.take(filed.path, filed.home.backups, at=EPOCH)
    learn(filed, "b", AFTER)
    return filed


def learn(filed: Filed, letter: str, content: str) -> None:
    """Write an active insight with its passage and its words, as a daemon would."""
    name = f"ins_{letter * 20}"
    filed.run(
        "INSERT INTO insights (id, content, content_hash, category, tags, confidence, status,"
        " first_seen_at, last_seen_at, text_hash) VALUES (?, ?, ?, 'fact', '[]', 0.5, 'active',"
        " 1, 2, ?)",
        *(name, content, letter * 64, letter.encode() * 32),
    )
    engine = opening.open_writing(filed.path)
    with engine.begin() as connection:
        made = passages.make_passages(content, collection="cortex_insights", item_id=name)
        put_passages(connection, made)
    engine.dispose()


def found(filed: Filed, query: str) -> list[str]:
    """Return the texts that are found by words, in either list."""
    return sorted(
        str(text)
        for words in passages.LISTS
        for (text,) in filed.ask(
            f"SELECT p.text FROM {words} JOIN passages AS p ON p.id = {words}.rowid"  # noqa: S608 - ours
            f" WHERE {words} MATCH '{query}'"
        )
    )


def agree(filed: Filed) -> bool:
    """Tell whether the words are those of the passages."""
    engine = opening.open_writing(filed.path)
    with engine.begin() as connection:
        left = passages.list_disagreeing(connection)
    engine.dispose()
    return not left


class TestRecovery:
    @pytest.mark.parametrize("how", ["first page", "list of tables", "table leaf", "truncated"])
    def test_finds_by_words(self, filed: Filed, how: str) -> None:
        """A recovered ledger finds by its words what it has, and nothing else."""
        damaged(filed, how)
        recovered(filed)
        there = sorted(str(text) for (text,) in filed.ask("SELECT content FROM insights"))

        assert sorted([*there, *there]) == found(filed, "ruff OR ports")
        assert BEFORE in there
        assert agree(filed)

    def test_brings_back(self, filed: Filed) -> None:
        """What only the damaged file knew is found by its words, and the index hears of it."""
        damaged(filed, "first page")
        recovered(filed)

        assert [AFTER, AFTER] == found(filed, "port")
        assert ("ins_" + "b" * 20,) in filed.ask("SELECT item_id FROM index_ops")

    def test_every_kind(self, filed: Filed) -> None:
        """Memories and pieces of documents are found again, alone and with what is before them."""
        engine = opening.open_writing(filed.path)
        with engine.begin() as connection:
            memory_records.save(connection, [memory("one"), memory("two", 1)])
            documents.learn_chunks(connection, "/a.md", document("/a.md", "first", "second"))
        engine.dispose()
        query = "SELECT collection, item_id, place, text FROM passages ORDER BY item_id, place"
        before = filed.ask(query)
        damaged(filed, "first page")
        recovered(filed)

        assert before == filed.ask(query)
        assert ["one\ntwo", "two"] == found(filed, "two")
        assert ["first\nsecond", "second"] == found(filed, "second")

    def test_words_of_the_backup(self, filed: Filed) -> None:
        """Words that were damaged in the backup are made anew."""
        (copy,) = backups.list_backups(filed.home.backups)
        with closing(sqlite3.connect(copy.path)) as opened, opened:
            opened.execute("UPDATE words_alone_data SET block = x'0011' WHERE id > 1")
        damaged(filed, "no database")
        recovered(filed)

        assert [BEFORE, BEFORE] == found(filed, "ruff")
        assert agree(filed)


class TestRestore:
    def test_words(self, filed: Filed) -> None:
        """A restored ledger finds by its words, whatever those of the backup were."""
        (copy,) = backups.list_backups(filed.home.backups)
        with closing(sqlite3.connect(copy.path)) as opened, opened:
            opened.execute("UPDATE words_paired_data SET block = x'0011' WHERE id > 1")
        choice = offline.choose(filed.home, offline.LATEST)
        offline.restore(filed.home, choice, at=filed.clock.now())

        assert [BEFORE, BEFORE] == found(filed, "ruff")
        assert agree(filed)

    def test_what_is_missing(self, filed: Filed) -> None:
        """Who compares a backup with the ledger is told of insights, not of tables made of them."""
        choice = offline.choose(filed.home, offline.LATEST)

        assert {"insights": 1} == choice.missing


class TestCheck:
    def test_words_are_no_damage(self, filed: Filed) -> None:
        """A ledger whose words are damaged is not given up."""
        filed.run("UPDATE words_alone_data SET block = x'0011' WHERE id > 1")
        faults.suspect(filed.path, "a test")

        assert "" == faults.find_damage(filed.path)

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("ok", ""),
            ("malformed inverted index for FTS5 table main.words_alone", ""),
            ("Tree 5 page 9:\nbtreeInitPage() returns error code 11", "Tree 5 page 9: btree"),
        ],
    )
    def test_what_sqlite_says(self, said: str, expected: str) -> None:
        """Versions of SQLite that read words name them; pages that are damaged still count."""
        assert expected == read_finding(said)[: len(expected) or None]

    def test_words_of_a_copy(self, filed: Filed, tmp_path: Path) -> None:
        """A copy has the words of the ledger."""
        made = backups.take_to(filed.path, tmp_path / "copy.db", at=EPOCH)
        with closing(sqlite3.connect(made.path)) as opened:
            rows = opened.execute(
                "SELECT count(*) FROM words_alone WHERE words_alone MATCH 'ruff OR port'"
            ).fetchall()

        assert [(2,)] == rows
