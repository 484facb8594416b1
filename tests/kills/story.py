"""What happens to two projects, step by step: each may be begun again, and ends when it is known.

Of the two stories one goes up, from files to what is known, and the other down: where the first one
has ended, one project wants what the other says in its files, and the other then says more.

A life that goes on with the story goes on with the step that was not done yet. Each step changes a
file at most once, and the next one begins when the tree has come to rest, so a run that was never
interrupted and one that was often observe the same revisions.
"""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.render import fence
from cortex_actors.storage import events, projects
from cortex_actors.testing import eventually, settled
from cortex_actors.text.sections import find_dialect
from cortex_actors.topics import FILE_CHANGED
from tests.kills import remembering

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from cortex_actors.storage.ledger.actor import Connection
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
    # All of it is brought into every file, whatever vectors say that mean nothing.
    "resolution": {"least": 0.0, "settle_ms": 1, "grace_s": 0.02, "unapproved": True},
    # Each unit of work is a commit of its own: a cut between any two. Nothing gathers for long.
    "storage": {"group_units": 1, "index_ms": 5},
}

#: Seconds after which what has not come to rest never will, on however busy a machine.
WITHIN = 60.0

#: Seconds without an event after which no more is expected.
STILL = 0.15

#: The stories there are: upwards, downwards from where that ends, and of what an agent remembers.
UP, DOWN, REMEMBERED = "up", "down", "remembered"

#: Counts writes of files that have no end yet: somebody may still write to what lay there.
WRITING = "SELECT count(*) FROM file_writes WHERE state = 'pending' OR aside <> ''"

#: Counts memories that have still to be compared with the others.
COMPARING = "SELECT count(*) FROM memories WHERE merge_due = 1 AND status = 'active'"


def write(folder: Path) -> None:
    """Put the first files there."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


async def tell(tree: Tree, folder: Path, done: Path, story: str = UP) -> None:
    """Play the steps of a story that `done` does not name yet."""
    known = done.read_text().splitlines() if done.exists() else []
    for act in STORIES[story]:
        name = act.__name__
        if name not in known:
            await act(tree, folder)
            await rest(tree)
            with done.open("a") as lines:
                lines.write(f"{name}\n")


async def rest(tree: Tree) -> None:
    """Return once the ledger knows every file as it is, and nothing waits or is being written."""

    async def rests() -> bool:
        await settled(tree, WITHIN)
        is_done = 0 == await tree.parts.records.read(_under_way)
        return is_done and await _is_known(tree)

    await eventually(rests, WITHIN)
    await settled(tree, WITHIN)


def _under_way(connection: Connection) -> int:
    """Return how many files are being written, and memories have still to be compared."""
    return sum(int(connection.exec_driver_sql(each).scalar_one()) for each in (WRITING, COMPARING))


async def _follow_atlas(tree: Tree, folder: Path) -> None:
    await tree.cortex.add_project(str(folder / "atlas"))


async def _follow_borealis(tree: Tree, folder: Path) -> None:
    await tree.cortex.add_project(str(folder / "borealis"))


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


async def _want(tree: Tree, folder: Path) -> None:
    await tree.cortex.set_auto(str(folder / "borealis"), on=True)


async def _say_more(tree: Tree, folder: Path) -> None:
    path = folder / "atlas/CLAUDE.md"
    _save(path, "## Style\n\nRuff and mypy.\n\n## Docs\n\nOne noun a page.\n")
    await _say(tree, path, key="more")


async def _nothing(tree: Tree, _folder: Path) -> None:
    """Do nothing more: a life in which everything was done starts once.

    The kernel's last hints may come after everything was known without them: they are waited for.
    """
    loop = asyncio.get_running_loop()
    since = loop.time()

    async def is_still() -> bool:
        nonlocal since
        if await tree.parts.records.read(events.count_waiting):
            since = loop.time()
        return loop.time() - since >= STILL

    await eventually(is_still)


def _save(path: Path, text: str) -> None:
    """Write a file, unless an earlier life has; a section that it was given since is no change."""
    if not path.exists() or fence.remove(path.read_bytes()) != text.encode():
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
                for state in projects.load_files(connection, each.id).values()
            )
            for each in projects.list_followed(connection)
        }

    found = await tree.parts.records.read(known)
    return all(sorted(said) == sorted(_there(Path(root))) for root, said in found.items())


def is_read(path: Path, root: Path) -> bool:
    """Tell whether a file of a project instructs agents."""
    return path.is_file() and find_dialect(str(path.relative_to(root))) is not None


def _there(root: Path) -> list[str]:
    """Return the instruction files of a project with their hashes."""
    return [
        f"{path} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in root.rglob("*")
        if is_read(path, root)
    ]


#: Story -> its steps, in order.
STORIES: Mapping[str, Sequence[Callable[[Tree, Path], Awaitable[None]]]] = {
    UP: (_follow_atlas, _follow_borealis, _change, _delete, _repeat, _nothing),
    DOWN: (_want, _say_more, _nothing),
    REMEMBERED: remembering.STEPS,
}
