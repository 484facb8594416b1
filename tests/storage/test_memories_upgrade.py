from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from alembic import command
from alembic.config import Config

from cortex_actors.clock import SystemClock
from cortex_actors.doctor import doctor
from cortex_actors.domain.memory import Memory, MemoryStatus, Realm
from cortex_actors.home import Home
from cortex_actors.storage import memory_records, passages
from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger import migrate
from cortex_actors.storage.memory_records import held_at
from cortex_actors.storage.schema import memories as table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

#: Memories of version 5: a letter -> text, status, created, to its layer, part of, place, merged.
MEMORIES: dict[str, tuple[str, str, int, int, str | None, int | None, int | None]] = {
    "w": ("Redis listens on port 6379 by default.", "active", 50, 50, None, None, None),
    "a": ("Redis listens on port 6379.", "merged", 10, 10, "w", 0, 50),
    "b": ("Redis by default listens on port 6379.", "merged", 20, 20, "w", 1, 50),
    "d": ("The old server is called atlas.", "archived", 10, 70, None, None, None),
    "s": ("Deploys happen on Fridays.", "active", 30, 40, None, None, None),
    # Merged while the wall clock was behind the one that it was said under.
    "e": ("Deploys are on Friday.", "merged", 90, 90, "s", 0, 60),
    "v": ("Who deploys today?", "active", 60, 60, None, None, None),
}

_AGENT = "INSERT INTO agents (id, display_name, symbol, registered_at) VALUES (?, ?, ?, 1)"

_MEMORY = (
    "INSERT INTO memories (id, realm, agent_id, thread, layer, type, text, abstract, summary,"
    " text_hash, status, merged_into, merged_as, merged_at, merged_by, merged_why, created_at,"
    " layer_since) VALUES (?, ?, 'CLAUDE', 'ops', 'working', ?, ?, 'short', '', ?, ?, ?, ?, ?, ?,"
    " ?, ?, ?)"
)

_CRUMB = (
    "INSERT INTO crumbs (id, agent_id, session_id, summary, unfinished, left_at)"
    " VALUES (?, 'CLAUDE', 'CLAUDE_20260101_000000', 'halfway', ?, 77)"
)


def named(letter: str | None) -> str | None:
    """Return a memory's id."""
    return None if letter is None else f"mem_{letter.upper() * 26}"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Give the home of a ledger."""
    found = Home.of(tmp_path / "home", {})
    found.create()
    return found


@pytest.fixture
def engine(home: Home) -> Iterator[Engine]:
    """Give the writing engine of a ledger of version 5 in which agents have remembered."""
    engine = opening.writing(home.ledger)
    with engine.begin() as connection:
        at_version_5(connection)
        fill(connection)
    yield engine
    engine.dispose()


def at_version_5(connection: Connection) -> None:
    """Make an empty ledger of version 5."""
    config = Config()
    folder = Path(migrate.__file__).parents[1] / "migrations"
    config.set_main_option("script_location", str(folder))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "0005")
    connection.exec_driver_sql("PRAGMA user_version = 5")


def fill(connection: Connection) -> None:
    """Write what agents would have remembered under version 5."""
    say = connection.exec_driver_sql
    for agent in ("CLAUDE", "VAJRA"):
        say(_AGENT, (agent, agent.title(), agent[0]))
    for letter, (text, status, at, since, whole, place, merged) in MEMORIES.items():
        realm, kind = ("village", "dialogue") if letter == "v" else ("private", "fact")
        how = ("rules", "the same words") if whole else (None, None)
        digest = sha256(text.encode()).digest()
        standing = (status, named(whole), place, merged, *how, at, since)
        say(_MEMORY, (named(letter), realm, kind, text, digest, *standing))
        weight = (named(letter), 3, at + 1, 0.7, at)
        say("INSERT INTO memory_attention VALUES (?, ?, ?, ?, ?)", weight)
        if status == "active":
            found = passages.of_item(
                text,
                collection=memory_records.COLLECTIONS[Realm(realm)],
                item_id=str(named(letter)),
            )
            passages.put(connection, found)
    say("INSERT INTO memory_tags VALUES (?, 'redis')", (named("w"),))
    say("INSERT INTO memory_agents VALUES (?, 'VAJRA')", (named("v"),))
    say("INSERT INTO memory_replies VALUES (?, ?)", (named("v"), named("s")))
    say(_CRUMB, (f"crm_{'C' * 26}", json.dumps(["finish it"])))


def ask(engine: Engine, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    with engine.begin() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(sql)]


class TestMemories:
    def test_are_as_they_were(self, engine: Engine, home: Home) -> None:
        """Every memory has its text, its whole, its tags, its readers, its replies and accesses."""
        migrate.migrate(engine, home.ledger)
        with engine.begin() as connection:
            found = memory_records.read(
                connection, [str(named(each)) for each in MEMORIES], MemoryStatus
            )

        assert {named(each): row[0] for each, row in MEMORIES.items()} == {
            each.id: each.text for each in found.values()
        }
        assert ("redis",) == whole(found).tags
        assert (("VAJRA",), (named("s"),)) == (
            found[str(named("v"))].related,
            found[str(named("v"))].replies_to,
        )
        assert {3} == {each.access_count for each in found.values()}

    def test_new_columns(self, engine: Engine, home: Home) -> None:
        """What version 5 did not know is what it always was: an agent's, kept by the owner."""
        migrate.migrate(engine, home.ledger)
        query = "SELECT DISTINCT role, saved_by, trust, pinned_at, replaced_by, merge_due"

        assert [("", "owner", "agent", None, None, 0)] == ask(engine, f"{query} FROM memories")
        assert [("owner", '["finish it"]')] == ask(
            engine, "SELECT saved_by, unfinished FROM crumbs"
        )

    def test_lineage_is_kept(self, engine: Engine, home: Home) -> None:
        """A memory that was merged still leads to what it is part of, in its place."""
        migrate.migrate(engine, home.ledger)
        query = "SELECT id, merged_as, merged_by FROM memories WHERE merged_into IS NOT NULL"

        assert [(named("a"), 0, "rules"), (named("b"), 1, "rules"), (named("e"), 0, "rules")] == (
            sorted(ask(engine, query))
        )


class TestBeliefs:
    def test_follow_the_status(self, engine: Engine, home: Home) -> None:
        """An active memory holds since it was said; another held until it was merged, or went."""
        migrate.migrate(engine, home.ledger)
        found = ask(engine, "SELECT memory_id, began_at, ended_at FROM beliefs")
        stretches = {memory: (began, ended) for memory, began, ended in found if began != ended}

        assert {
            named("w"): (50, None),
            named("a"): (10, 50),
            named("b"): (20, 50),
            named("d"): (10, 70),
            named("s"): (30, None),
            named("v"): (60, None),
        } == stretches

    @pytest.mark.parametrize(
        ("moment", "held"), [(5, ""), (25, "abd"), (55, "dsw"), (65, "dsvw"), (99, "svw")]
    )
    def test_as_of(self, engine: Engine, home: Home, moment: int, held: str) -> None:
        """A date finds what was believed then, from before the migration, too."""
        migrate.migrate(engine, home.ledger)
        with engine.begin() as connection:
            query = table.select().where(held_at(moment)).order_by(table.c.id)
            found = [row.id for row in connection.execute(query)]

        assert [named(each) for each in held] == found


class TestWhole:
    async def test_doctor(self, engine: Engine, home: Home) -> None:
        """The doctor finds it whole; only crumbs could not be found before, and now are."""
        migrate.migrate(engine, home.ledger)
        engine.dispose()
        home.ledger.chmod(0o600)
        found = await doctor.visit(home, SystemClock(), repair=True, thorough=True)
        wrong = [each for each in found["checks"] if each["severity"] in ("warning", "error")]

        assert [] == [each for each in wrong if each["check"] not in ("embedding", "index")]
        assert {"passages"} >= {each["repair"] for each in found["repaired"]}

    def test_more_is_remembered(self, engine: Engine, home: Home) -> None:
        """The daemon goes on with it: a new memory stands beside the old ones."""
        migrate.migrate(engine, home.ledger)
        new = Memory(str(named("n")), Realm.PRIVATE, "CLAUDE", "We use ruff.", 100)
        with engine.begin() as connection:
            memory_records.save(connection, [new])
            found = memory_records.active_ids(connection)

        assert [named(each) for each in "swvn"] == found


def whole(found: dict[str, Memory]) -> Memory:
    """Return the memory of which others are parts."""
    return found[str(named("w"))]
