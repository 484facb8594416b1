"""What happens to two projects, step by step: each may be begun again, and ends when it is known.

A life that goes on with the story goes on with the step that was not done yet. Each step changes a
file at most once, and the next one begins when the tree has come to rest, so a run that was never
interrupted and one that was often observe the same revisions.
"""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.parsers.dialect import dialect_of
from cortex_actors.storage import journal, projects
from cortex_actors.testing import eventually, settled
from cortex_actors.topics import FILE_CHANGED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cortex_actors.storage.records import Connection
    from cortex_actors.tree import Tree

#: Files that lie there at first; one says the same twice.
FILES = {
    "atlas/CLAUDE.md": "## Tests\n\nRun the whole suite first.\n\n## Style\n\nFormat with ruff.\n",
    "atlas/docs/CLAUDE.md": "## Pages\n\nOne noun a page.\n\n## Pages\n\nOne noun a page.\n",
    "borealis/AGENTS.md": "## Commits\n\nWrite them in the imperative.\n",
}

#: What a story needs beside a quick tree.
SETTINGS = {
    # Everything is promoted as soon as it is weighed, so that the organiser has work to do.
    "reconciliation": {
        "promotion_confidence": 0.0,
        "promotion_observations": 1,
        "promotion_age_days": 0,
        "promotion_projects": 1,
    },
    # Each unit of work is a commit of its own: a cut between any two. Nothing gathers for long.
    "storage": {"group_units": 1, "index_ms": 5},
}

#: Seconds without an event after which no more is expected.
STILL = 0.15


def write(folder: Path) -> None:
    """Put the first files there."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


async def tell(tree: Tree, folder: Path, done: Path) -> None:
    """Play the steps that `done` does not name yet."""
    steps: tuple[tuple[str, Callable[[Tree, Path], Awaitable[object]]], ...] = (
        ("follow atlas", lambda t, f: t.cortex.add_project(str(f / "atlas"))),
        ("follow borealis", lambda t, f: t.cortex.add_project(str(f / "borealis"))),
        ("change", _change),
        ("delete", _delete),
        ("repeat", _repeat),
        ("come to rest", _nothing),
    )
    known = done.read_text().splitlines() if done.exists() else []
    for name, act in steps:
        if name not in known:
            await act(tree, folder)
            await rest(tree)
            with done.open("a") as lines:
                lines.write(f"{name}\n")


async def rest(tree: Tree) -> None:
    """Return once the ledger knows every file as it is, and nothing waits."""
    await eventually(lambda: _is_known(tree))
    await settled(tree)


async def _change(tree: Tree, folder: Path) -> None:
    path = folder / "atlas/CLAUDE.md"
    _save(path, "## Tests\n\nRun the whole suite first.\n\n## Style\n\nRuff and mypy.\n")
    await _say(tree, path, key="change")


async def _delete(tree: Tree, folder: Path) -> None:
    path = folder / "atlas/docs/CLAUDE.md"
    path.unlink(missing_ok=True)
    await _say(tree, path, key="delete")


async def _repeat(tree: Tree, folder: Path) -> None:
    path = folder / "borealis/CLAUDE.md"
    _save(path, "## Tests\n\nRun the whole suite first.\n")
    await _say(tree, path, key="repeat")


async def _nothing(tree: Tree, _folder: Path) -> None:
    """Do nothing more: a life in which everything was done starts once.

    The kernel's last hints may come after everything was known without them: they are waited for.
    """
    loop = asyncio.get_running_loop()
    since = loop.time()

    async def is_still() -> bool:
        nonlocal since
        if await tree.parts.records.read(journal.waiting):
            since = loop.time()
        return loop.time() - since >= STILL

    await eventually(is_still)


def _save(path: Path, text: str) -> None:
    """Write a file, unless an earlier life has."""
    if not path.exists() or path.read_text() != text:
        beside = path.with_name(".new")
        beside.write_text(text)
        beside.replace(path)


async def _say(tree: Tree, path: Path, *, key: str) -> None:
    """Say that a file changed, as another process would that does not know whether it has."""
    await tree.cortex.publish(FILE_CHANGED, {"path": str(path)}, idempotency_key=key)


async def _is_known(tree: Tree) -> bool:
    """Tell whether the ledger has every file of the followed projects as it is, and no other."""

    def known(connection: Connection) -> dict[str, tuple[str, ...]]:
        return {
            each.root: tuple(
                f"{state.path} {state.sha256}"
                for state in projects.files(connection, each.id).values()
            )
            for each in projects.followed(connection)
        }

    found = await tree.parts.records.read(known)
    return all(sorted(said) == sorted(_there(Path(root))) for root, said in found.items())


def is_read(path: Path, root: Path) -> bool:
    """Tell whether a file of a project instructs agents."""
    return path.is_file() and dialect_of(str(path.relative_to(root))) is not None


def _there(root: Path) -> list[str]:
    """Return the instruction files of a project with their hashes."""
    return [
        f"{path} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in root.rglob("*")
        if is_read(path, root)
    ]
