"""Voices: who says something independently of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.storage.pipeline.insight_evidence import load_voices
from tests.storage.support import id_of
from tests.storage.trusted import World

if TYPE_CHECKING:
    from tests.storage.things import Tables


@pytest.fixture
def world(tables: Tables) -> World:
    """Give an empty world."""
    return World(tables)


def count(world: World, text: str = "a") -> int:
    """Return how many voices say a text."""
    return len(load_voices(world.connection, [id_of(text)]).get(id_of(text), ()))


class TestVoices:
    def test_projects(self, world: World) -> None:
        """Projects without a repository are a voice each, however many of their files say it."""
        world.says("/one/CLAUDE.md", "a")
        world.says("/one/AGENTS.md", "a")
        world.says("/two/CLAUDE.md", "a")

        assert 2 == count(world)

    def test_checkouts(self, world: World) -> None:
        """Two checkouts of one repository are one voice; another repository is another one."""
        world.says("/one/CLAUDE.md", "a", origin="github.com/acme/atlas")
        world.says("/two/CLAUDE.md", "a", origin="github.com/acme/atlas")
        assert 1 == count(world)

        world.says("/three/CLAUDE.md", "a", origin="github.com/other/atlas")
        assert 2 == count(world)

    @pytest.mark.parametrize(("trust", "heard"), [("agent", 1), ("import", 0), ("remote", 0)])
    def test_from_elsewhere(self, world: World, trust: str, heard: int) -> None:
        """What was imported, or comes from another store, is nobody's voice here."""
        world.says("/one/CLAUDE.md", "a")
        world.connection.exec_driver_sql("UPDATE insight_sources SET trust = ?", (trust,))

        assert heard == count(world)

    def test_private(self, world: World) -> None:
        """One person's own file is no voice of its project."""
        world.says("/one/CLAUDE.local.md", "a")

        assert 0 == count(world)

    def test_skill(self, world: World) -> None:
        """A skill is no voice of its project: it may be a copy of somebody else's."""
        world.says("/one/.claude/skills/pdf/SKILL.md", "a")

        assert 0 == count(world)

    def test_withdrawn(self, world: World) -> None:
        """Who says it no more is heard no more, and who says it in other words is heard."""
        world.says("/one/CLAUDE.md", "a")
        world.says("/two/CLAUDE.md", "a", "b")
        world.says("/three/CLAUDE.md", "b")
        world.says("/one/CLAUDE.md", "c")
        world.merge("b", into="a")

        assert 2 == count(world)
