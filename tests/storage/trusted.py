"""A ledger in memory with projects that say things, and principles that were made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.insight import hash_section
from cortex_actors.domain.principle import Derivation, Ending, GivenBullet, make_principle_id
from cortex_actors.domain.project import Project
from cortex_actors.storage import projects
from cortex_actors.storage.pipeline import (
    insight_lists,
    insights,
    principles,
    resolutions,
    reviews,
    revoking,
)
from cortex_actors.storage.pipeline.resolutions import Resolution
from cortex_actors.testing import EPOCH
from tests.storage.promoted import make_principle
from tests.storage.support import active, findings, id_of

if TYPE_CHECKING:
    from cortex_actors.domain.project import SourceKind
    from cortex_actors.storage.pipeline.revoking import Revoked
    from tests.storage.things import Tables


def made_of(text: str) -> str:
    """Return the id of the principle that says a text."""
    return make_principle_id(hash_section(text))


class World:
    """Projects by name, each in a folder of its own."""

    def __init__(self, tables: Tables) -> None:
        """Begin with nothing."""
        self.tables = tables
        self.connection = tables.connection
        self.at = EPOCH

    def project(self, name: str, origin: str | None = None) -> Project:
        """Return a project that is followed, a checkout of a repository if one is named."""
        found = Project.from_root(f"/{name}", EPOCH)
        projects.add(self.connection, found)
        projects.locate(self.connection, {found.id: origin})
        return found

    def says(self, path: str, *texts: str, origin: str | None = None) -> None:
        """Let a file of the project that is its first folder say texts."""
        owner = self.project(path.split("/")[1], origin)
        self.at += 1
        insights.learn(
            self.connection,
            findings(path, texts, owner),
            project_id=owner.id,
            path=path,
            at=self.at,
        )

    def promote(self, text: str, *others: str) -> str:
        """Make a text a principle that comes of it and of others; return its id."""
        found = insight_lists.load_insights(self.connection, [id_of(text)])[id_of(text)]
        made = make_principle(found, self.at)
        principles.add(self.connection, [made])
        owed = [Derivation(made.id, id_of(each), 0.5) for each in (text, *others)]
        principles.derive(self.connection, owed)
        return made.id

    def resolve(self, path: str, *principle_ids: str) -> None:
        """Let principles stand in a file."""
        owner = self.project(path.split("/")[1])
        told = ("run_1", "revision", "inputs", "section")
        found = Resolution(path, "claude", owner.id, *told, Ending.WRITTEN, None, EPOCH)
        resolutions.keep(
            self.connection, found, [GivenBullet(each, each) for each in principle_ids]
        )

    def merge(self, text: str, into: str) -> None:
        """Let a text count for another one."""
        insights.assign(self.connection, {id_of(text): id_of(into)})

    def revoke(self, kind: SourceKind, key: str, *, least: int = 2) -> Revoked:
        """Take a source back."""
        self.at += 1
        assert reviews.begin(self.connection, kind, key, at=self.at)
        return revoking.revoke(self.connection, kind, key, at=self.at, least=least)

    def live(self) -> set[str]:
        """Return the texts that people see."""
        return {each.content for each in active(self.connection)}

    def principles(self) -> set[str]:
        """Return the ids of all principles."""
        return set(principles.list_ids(self.connection))
