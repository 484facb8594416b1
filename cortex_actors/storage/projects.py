"""Registered projects and what their files looked like when they were last read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects.sqlite import insert

from cortex_actors.domain.project import Project
from cortex_actors.files.repository import is_weak
from cortex_actors.storage.schema import file_states, projects

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells that a file has not changed, without reading it."""

    path: str
    project_id: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    sha256: str
    error: str | None = None
    #: As what, and by which version of the reader, it was read.
    read_as: str = "section/1"

    def says_as(self, other: FileState) -> bool:
        """Tell whether two looks saw the same bytes, read in the same way, and could read them."""
        seen = self.sha256, self.read_as, self.error
        return seen == (other.sha256, other.read_as, None)

    def same_stat(self, other: FileState) -> bool:
        """Tell whether two looks saw the same file by everything but its content."""
        return (self.size, self.mtime_ns, self.ctime_ns, self.inode) == (
            other.size,
            other.mtime_ns,
            other.ctime_ns,
            other.inode,
        )


def add(connection: Connection, project: Project) -> bool:
    """Follow a project; return False when it was followed already."""
    known = connection.execute(select(projects.c.active).where(projects.c.id == project.id))
    was = known.scalar_one_or_none()
    row = {
        "id": project.id,
        "name": project.name,
        "root": project.root,
        "added_at": project.added_at,
        "active": 1,
    }
    statement = insert(projects).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_={"active": 1}))
    return was != 1


def remove(connection: Connection, project_id: str) -> bool:
    """Follow a project no longer; what it said stays known. False when it was not followed."""
    statement = (
        update(projects)
        .where(projects.c.id == project_id, projects.c.active == 1)
        .values({"active": 0})
    )
    return connection.execute(statement).rowcount == 1


def locate(connection: Connection, origins: Mapping[str, str | None]) -> list[str]:
    """Write down of which repositories projects are checkouts; return the ids of those that moved.

    What says only where a repository lies, or nothing, takes nothing better away: git forgets how a
    repository began, and two checkouts that were one voice stay one.
    """
    moved = []
    for project_id, before in located(connection, origins).items():
        now = origins[project_id]
        if now != before and not (is_weak(now) and not is_weak(before)):
            statement = update(projects).where(projects.c.id == project_id)
            connection.execute(statement.values({"origin": now}))
            moved.append(project_id)
    return moved


def located(connection: Connection, ids: Iterable[str]) -> dict[str, str | None]:
    """Return of which repository each project is a checkout, as far as that is known."""
    query = select(projects.c.id, projects.c.origin).where(projects.c.id.in_(list(ids)))
    return dict(connection.execute(query).all())


def ever(connection: Connection) -> list[Project]:
    """Return the projects that were ever followed, by name; what they said is known still."""
    query = select(projects.c.id, projects.c.name, projects.c.root, projects.c.added_at)
    return [Project(*row) for row in connection.execute(query.order_by("name", "root"))]


def followed(connection: Connection) -> list[Project]:
    """Return the projects that are followed, by name."""
    query = (
        select(projects.c.id, projects.c.name, projects.c.root, projects.c.added_at)
        .where(projects.c.active == 1)
        .order_by(projects.c.name, projects.c.root)
    )
    return [Project(*row) for row in connection.execute(query)]


def resolving(connection: Connection) -> list[Project]:
    """Return the followed projects whose files are written without being asked for, by name."""
    query = select(projects.c.id).where(projects.c.active == 1, projects.c.resolves == 1)
    opted = set(connection.execute(query).scalars())
    return [each for each in followed(connection) if each.id in opted]


def let_resolve(connection: Connection, project_id: str, *, on: bool) -> bool:
    """Have a project's files written by themselves from now on, or not; False: it was so."""
    statement = (
        update(projects)
        .where(projects.c.id == project_id, projects.c.resolves != int(on))
        .values({"resolves": int(on)})
    )
    return connection.execute(statement).rowcount == 1


def names(connection: Connection) -> dict[str, str]:
    """Return what every project is called that was ever followed, by id."""
    return dict(connection.execute(select(projects.c.id, projects.c.name)).all())


def find(connection: Connection, project_id: str) -> Project | None:
    """Return a project that is followed."""
    return next((each for each in followed(connection) if each.id == project_id), None)


def file_counts(connection: Connection) -> dict[str, int]:
    """Return how many files were read of each project."""
    query = select(file_states.c.project_id, func.count()).group_by(file_states.c.project_id)
    return dict(connection.execute(query).all())


def files(connection: Connection, project_id: str) -> dict[str, FileState]:
    """Return what the files of a project looked like, by path."""
    query = select(file_states).where(file_states.c.project_id == project_id)
    return {row.path: _state(row) for row in connection.execute(query)}


def files_in(connection: Connection, root: str) -> dict[str, FileState]:
    """Return what the files below a folder looked like, by path, whoever's they were."""
    folder = root.rstrip("/")
    # "0" comes after "/": a range, because LIKE would read every row.
    below = (file_states.c.path > folder + "/", file_states.c.path < folder + "0")
    query = select(file_states).where(*below).order_by(file_states.c.path)
    return {row.path: _state(row) for row in connection.execute(query)}


def file(connection: Connection, path: str) -> FileState | None:
    """Return what one file looked like."""
    row = connection.execute(select(file_states).where(file_states.c.path == path)).one_or_none()
    return None if row is None else _state(row)


def read_otherwise(connection: Connection, read_as: str) -> bool:
    """Tell whether a file of a followed project was read in another way than that."""
    query = (
        select(file_states.c.path)
        .join(projects, projects.c.id == file_states.c.project_id)
        .where(projects.c.active == 1, file_states.c.read_as != read_as)
    )
    return connection.execute(query.limit(1)).first() is not None


def broken(connection: Connection) -> list[FileState]:
    """Return the files that could not be read the last time."""
    query = select(file_states).where(file_states.c.error.is_not(None)).order_by("path")
    return [_state(row) for row in connection.execute(query)]


def saw(connection: Connection, state: FileState, at: int) -> None:
    """Remember what a file looks like."""
    row = {
        "path": state.path,
        "project_id": state.project_id,
        "size": state.size,
        "mtime_ns": state.mtime_ns,
        "ctime_ns": state.ctime_ns,
        "inode": state.inode,
        "sha256": state.sha256,
        "error": state.error,
        "read_as": state.read_as,
        "seen_at": at,
    }
    statement = insert(file_states).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=["path"], set_=row))


def forget(connection: Connection, path: str) -> None:
    """Forget a file that is no longer there."""
    connection.execute(file_states.delete().where(file_states.c.path == path))


def _state(row: Any) -> FileState:
    """Return a row as a file's state."""
    return FileState(
        row.path,
        row.project_id,
        row.size,
        row.mtime_ns,
        row.ctime_ns,
        row.inode,
        row.sha256,
        row.error,
        row.read_as,
    )
