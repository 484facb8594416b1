"""Approvals: what a person decided about principles, and what an upgrade counts as approved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from alembic import command
from alembic.config import Config
from sqlalchemy import insert

from cortex_actors.domain.insight import statement_hash
from cortex_actors.domain.principle import Ending, Given
from cortex_actors.domain.project import Approval, Decision, Project, Review, SourceKind, Way
from cortex_actors.storage import principles as rows
from cortex_actors.storage import projects, resolutions, reviews
from cortex_actors.storage.ledger import connection as opening
from cortex_actors.storage.ledger import migrate
from cortex_actors.storage.resolutions import Resolution
from cortex_actors.storage.schema import insights
from tests.storage.distilled import principle

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tests.storage.things import Tables

ASKED, ITSELF, REVOKED = (
    principle(text) for text in ("Ask a person.", "Write by itself.", "Take it back.")
)


def approved(name: str, at: int, decision: Decision = Decision.APPROVED) -> Approval:
    """Return what a person said in the review."""
    return Approval(name, decision, at, "owner", Way.REVIEW)


class TestDecide:
    def test_newest_counts(self, tables: Tables) -> None:
        """A decision takes the place of an earlier one, and a rejection is no approval."""
        connection = tables.connection
        for at, decision in enumerate((Decision.APPROVED, Decision.REJECTED), start=1):
            reviews.decide_approval(connection, approved("pri_a", at, decision))
        reviews.decide_approval(connection, approved("pri_b", 3))

        assert {"pri_b"} == reviews.approved(connection)
        found = reviews.load_approvals(connection, ["pri_a", "pri_x"])
        assert {"pri_a": approved("pri_a", 2, Decision.REJECTED)} == found

    def test_ends(self, tables: Tables) -> None:
        """What ended with a revocation counts again with its end, and nothing else does."""
        connection = tables.connection
        for name, at in (("pri_a", 5), ("pri_b", 6), ("pri_c", 7)):
            reviews.decide_approval(connection, approved(name, 1))
            reviews.end_approvals(connection, [name, "pri_x"], at=at)
        reviews.decide_approval(connection, approved("pri_c", 8))
        assert {"pri_c"} == reviews.approved(connection)
        reviews.restore(connection, ended_at=5)

        assert {"pri_a", "pri_c"} == reviews.approved(connection)


class TestUpgrade:
    def test_asked_for(self, tmp_path: Path) -> None:
        """What a person had asked to be written, or promoted, is approved; the rest is not."""
        path = tmp_path / "cortex.db"
        engine = opening.writing(path)
        with engine.begin() as connection:
            _at_version_6(connection)
            _stands(connection, "asked", ASKED.id, REVOKED.id)
            _stands(connection, "itself", ITSELF.id, itself=True)
            reviews.begin(connection, SourceKind.PRINCIPLE, REVOKED.id, at=3)
            promoted = _promoted(connection, "Promote it.")
        migrate.migrate(engine, path)
        with engine.connect() as connection:
            every = reviews.list_approvals(connection, Decision.APPROVED)
        engine.dispose()
        found = {each.principle_id: each for each in every}

        assert {ASKED.id: Way.EARLIER, promoted: Way.REVIEW} == {
            name: each.way for name, each in found.items()
        }
        assert (2, "owner") == (found[ASKED.id].at, found[ASKED.id].decided_by)


def _at_version_6(connection: Connection) -> None:
    """Make a ledger of version 6 with principles."""
    config = Config()
    folder = Path(migrate.__file__).parents[1] / "migrations"
    config.set_main_option("script_location", str(folder))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "0006")
    connection.exec_driver_sql("PRAGMA user_version = 6")
    rows.add(connection, [ASKED, ITSELF, REVOKED])


def _stands(connection: Connection, name: str, *ids: str, itself: bool = False) -> None:
    """Have principles stand in the file of a project, which is written by itself or not."""
    made = Project(f"prj_{name}", f"/{name}", name, 1)
    projects.add(connection, made)
    projects.let_resolve(connection, made.id, on=itself)
    path = f"/{name}/CLAUDE.md"
    kept = Resolution(path, "claude", made.id, "run_1", "r", "i", "s", Ending.WRITTEN, None, 2)
    resolutions.keep(connection, kept, [Given(each, "- A note.") for each in ids])


def _promoted(connection: Connection, text: str) -> str:
    """Have a person let an insight become a principle; return the id of that."""
    digest = statement_hash(text)
    row: dict[str, Any] = {
        "id": f"ins_{digest[:20]}",
        "content": text,
        "content_hash": digest,
        "tags": [],
    }
    row |= {"category": "fact", "confidence": 0.5, "status": "active"}
    row |= {"first_seen_at": 1, "last_seen_at": 1, "text_hash": bytes.fromhex(digest)}
    connection.execute(insert(insights).values(row))
    reviews.decide(connection, Review(row["id"], Decision.APPROVED, 1))
    return f"pri_{digest[:20]}"
