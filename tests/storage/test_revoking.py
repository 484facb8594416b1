"""Revoking: a source is withdrawn, with all that came of it and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.project import Decision, Project, Review, SourceKind, make_project_id
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline import principles, reviews, revoking
from tests.storage.support import id_of
from tests.storage.trusted import World, made_of

if TYPE_CHECKING:
    from tests.storage.things import Tables

ONE, TWO, THREE = (f"/{name}/CLAUDE.md" for name in ("one", "two", "three"))
PROJECT = SourceKind.PROJECT


@pytest.fixture
def world(tables: Tables) -> World:
    """Give two projects that agree on `a`, of which each says something of its own."""
    found = World(tables)
    found.says(ONE, "a", "b")
    found.says(TWO, "a", "c")
    return found


class TestWithdrawn:
    @pytest.mark.parametrize(
        ("kind", "key"),
        [(PROJECT, make_project_id("/one")), (SourceKind.PATH, ONE), (SourceKind.PATH, "/one")],
    )
    def test_places(self, world: World, kind: SourceKind, key: str) -> None:
        """A project, a file or a folder says nothing any more; what others say stands."""
        did = world.revoke(kind, key)

        assert {"a", "c"} == world.live()
        assert (2, frozenset({id_of("b")})) == (did.places, did.gone)
        assert [] == world.tables.rows("SELECT 1 FROM passages WHERE text LIKE '%b%'")

    def test_insight(self, world: World) -> None:
        """A text is withdrawn wherever it stands."""
        did = world.revoke(SourceKind.INSIGHT, id_of("a"))

        assert {"b", "c"} == world.live()
        assert (2, frozenset({id_of("a")})) == (did.places, did.gone)

    def test_what_it_stood_for(self, world: World) -> None:
        """A text that counted for one that is gone stands for itself, and is told of."""
        world.says(THREE, "A!")
        world.merge("A!", into="b")
        did = world.revoke(SourceKind.INSIGHT, id_of("b"))

        assert {id_of("A!")} == did.freed
        assert {"a", "c", "A!"} == world.live()

    def test_taken_over(self, tables: Tables) -> None:
        """A project whose files a project around it has taken over is taken back all the same."""
        world = World(tables)
        inner = Project.from_root("/one/docs", 1)
        world.says("/one/docs/CLAUDE.md", "a")
        world.says(ONE, "b")
        projects.add(world.connection, inner)
        did = world.revoke(PROJECT, inner.id)

        assert ({"b"}, 1) == (world.live(), did.places)

    def test_nothing(self, world: World) -> None:
        """A project that says nothing can be taken back, so that it never will."""
        world.project("four")

        assert revoking.Revoked() == world.revoke(PROJECT, make_project_id("/four"))

    def test_evidence_stays(self, world: World) -> None:
        """Observations, reviews and the texts themselves are kept, for the day it is lifted."""
        tables = world.tables
        kept = "SELECT * FROM observations", "SELECT id, content, first_seen_at FROM insights"
        reviews.decide(world.connection, Review(id_of("b"), Decision.APPROVED, 1))
        before = [tables.rows(query) for query in kept]
        world.revoke(PROJECT, make_project_id("/one"))

        assert before == [tables.rows(query) for query in kept]
        assert {id_of("b")} == reviews.load_decided(world.connection, Decision.APPROVED)


class TestPrinciples:
    def test_its_own(self, world: World) -> None:
        """A principle that only this source says is deleted, with its derivation and its links."""
        mine, theirs = world.promote("b"), world.promote("c")
        world.connection.exec_driver_sql(
            "INSERT INTO principle_links VALUES (?, ?, 'related', 0.6, 'rules', 'alike', 1)",
            tuple(sorted((mine, theirs))),
        )
        did = world.revoke(PROJECT, make_project_id("/one"), least=1)

        assert ((mine, "b"),) == did.principles
        assert {theirs} == world.principles()
        assert [] == world.tables.rows("SELECT 1 FROM principle_links")
        assert {} == principles.load_derivations(world.connection, [mine])

    def test_said_by_others(self, world: World) -> None:
        """One that enough others say stays, and what explained it is made anew."""
        world.says(THREE, "a")
        name = world.promote("a")
        world.connection.exec_driver_sql("UPDATE principles SET elaboration = 'as one says'")
        did = world.revoke(PROJECT, make_project_id("/one"))

        assert ((), frozenset({name})) == (did.principles, did.shaken)
        assert [(None,)] == world.tables.rows("SELECT elaboration FROM principles")

    def test_on_its_word(self, world: World) -> None:
        """One that was promoted on this source's word goes, though another says it, too."""
        name = world.promote("a")

        assert ((name, "a"),) == world.revoke(PROJECT, make_project_id("/one")).principles

    def test_checkouts(self, world: World) -> None:
        """Two checkouts that are left are one voice, which is not enough."""
        for path in (TWO, THREE):
            world.says(path, "a", origin="github.com/acme/atlas")
        name = world.promote("a")

        assert ((name, "a"),) == world.revoke(PROJECT, make_project_id("/one")).principles

    def test_approved(self, world: World) -> None:
        """One that a person has approved stays as long as anybody says it."""
        name = world.promote("a")
        reviews.decide(world.connection, Review(id_of("a"), Decision.APPROVED, 1))

        assert () == world.revoke(PROJECT, make_project_id("/one")).principles
        assert ((name, "a"),) == world.revoke(PROJECT, make_project_id("/two")).principles

    def test_words(self, world: World) -> None:
        """One whose very words came of it goes, though it owes to others, too."""
        world.says(THREE, "c")
        name = world.promote("b", "c")
        did = world.revoke(PROJECT, make_project_id("/one"))

        assert ((name, "b"),) == did.principles

    def test_a_share(self, world: World) -> None:
        """One that owes only a share to it loses that share and stays."""
        world.says(THREE, "c")
        name = world.promote("c", "b")
        did = world.revoke(PROJECT, make_project_id("/one"))

        assert ((), frozenset({name})) == (did.principles, did.shaken)
        left = principles.load_derivations(world.connection, [name])[name]
        assert [id_of("c")] == [each.insight_id for each in left]

    def test_said_before(self, world: World) -> None:
        """What a source has said before, and says no more, comes of it as well."""
        name = world.promote("b")
        world.says(ONE, "a")
        did = world.revoke(PROJECT, make_project_id("/one"))

        assert name in {each for each, _ in did.principles}

    def test_only_private(self, world: World) -> None:
        """A text that only one person's own file says then is no principle's words."""
        world.says("/two/CLAUDE.local.md", "b")
        name = world.promote("b")

        assert ((name, "b"),) == world.revoke(PROJECT, make_project_id("/one"), least=0).principles

    def test_itself(self, world: World) -> None:
        """A principle that is taken back keeps its row, and is given to nobody."""
        name = world.promote("a")
        assert [name] == [each.id for each in principles.load_given(world.connection, "m")[0]]

        assert revoking.Revoked() == world.revoke(SourceKind.PRINCIPLE, name)
        assert {name} == world.principles()
        assert [] == principles.load_given(world.connection, "m")[0]


class TestLeftOver:
    def test_in_files(self, world: World) -> None:
        """What stands in files and is no principle any more is told, file by file."""
        gone, kept, taken = world.promote("b"), world.promote("c"), made_of("a")
        world.promote("a")
        world.resolve(TWO, gone, kept, taken)
        assert [] == revoking.list_left_over(world.connection)

        world.revoke(PROJECT, make_project_id("/one"), least=1)
        reviews.begin(world.connection, SourceKind.PRINCIPLE, taken, at=9)
        found = revoking.list_left_over(world.connection)
        assert [(TWO, "claude", gone), (TWO, "claude", taken)] == found


class TestReadAgain:
    def test_paths(self, world: World) -> None:
        """The files that ever said a text are read anew, whatever they look like."""
        world.says(TWO, "c")

        assert [ONE, TWO] == revoking.forget_files(world.connection, id_of("a"))

    def test_known(self, world: World) -> None:
        """A path is known if it, or a file below it, ever said something."""
        paths = ONE, "/one", "/on", "/four"
        known = [revoking.is_known(world.connection, each) for each in paths]

        assert [True, True, False, False] == known
