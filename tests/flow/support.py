"""Whole trees on homes that outlive them, and projects to read."""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SystemClock
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from cortex_actors.settings import Settings
from cortex_actors.storage import projects
from cortex_actors.testing import eventually, settled
from cortex_actors.tree import grow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.assembly.context import Outside
    from cortex_actors.tree import Tree

#: The projects that are shipped as samples.
SAMPLES = Path(__file__).parents[2] / "data" / "projects"

#: Three of them, which share a section word for word.
THREE = ("atlas-api", "field-notes", "harbor-web")

#: Often enough that a test need not wait.
QUICK = {"sweep_s": 0.1}

#: Where an insight stands: the path from the folder of the projects, lines and heading.
Place = tuple[str, int, int, str | None]


def copied(folder: Path, *names: str) -> list[Path]:
    """Copy sample projects into a folder and return their roots."""
    roots = []
    for name in names or THREE:
        roots.append(folder / name)
        shutil.copytree(SAMPLES / name, roots[-1])
    return roots


@asynccontextmanager
async def grown(
    root: Path,
    *,
    outside: Outside | None = None,
    clock: SystemClock | None = None,
    **sections: object,
) -> AsyncIterator[Tree]:
    """Run a whole tree in a home that stays, with the hashing embedder."""
    home = Home.find(root, {})
    home.create()
    clock = clock or SystemClock()
    logs = LogStream(home.logs / "cortex.ndjson", clock)
    quick = {
        "embedding": {"provider": "hashing", "batch_ms": 20},
        "storage": {"index_ms": 20},
        "watching": QUICK,
    }
    chosen = Settings.model_validate({**quick, **sections})
    tree = grow(home, chosen, clock, logs, outside=outside)
    await tree.start()
    try:
        yield tree
    finally:
        await tree.stop(8)
        logs.close()


async def follow(tree: Tree, *roots: Path, within: float = 20) -> None:
    """Follow projects and return once every file of theirs was read and is searchable."""
    for root in roots:
        await tree.cortex.add_project(str(root))
    await eventually(lambda: len(tree.watchers.list_watched()) >= len(roots), within)
    for root in roots:
        await tree.cortex.scan(str(root))
    await settled(tree, within)


async def knows(tree: Tree, text: str) -> None:
    """Return once some insight holds a text, and everything is searchable."""

    async def known() -> bool:
        found = await tree.cortex.insights(limit=10_000)
        return any(text in each["content"] for each in found["insights"])

    await eventually(known)
    await settled(tree)


async def forgets(tree: Tree, text: str) -> None:
    """Return once no insight holds a text."""

    async def forgotten() -> bool:
        found = await tree.cortex.insights(limit=10_000)
        return not any(text in each["content"] for each in found["insights"])

    await eventually(forgotten)
    await settled(tree)


async def said(tree: Tree, folder: Path) -> dict[str, frozenset[Place]]:
    """Return what the ledger holds: insight -> where it stands."""
    found = await tree.cortex.insights(limit=100_000)
    assert found["total"] == len(found["insights"])
    return {each["id"]: _places(each, folder) for each in found["insights"]}


async def first(tree: Tree, question: str, **more: Any) -> dict[str, Any]:
    """Return the first hit of a recall that nobody failed to answer."""
    found = await tree.cortex.recall(question, **more)
    assert [] == found["failed"], found["failed"]
    hit: dict[str, Any] = found["hits"][0]
    return hit


async def runs_of(tree: Tree, path: Path) -> list[str]:
    """Return the states of the accumulator's runs over a file, newest first."""
    found = await tree.parts.records.read(lambda c: projects.list_latest(c, "accumulator", 1_000))
    return [run.state for run in found if run.path == str(path)]


def _places(insight: dict[str, Any], folder: Path) -> frozenset[Place]:
    """Return where an insight stands, whatever folder the projects lie in."""
    real = folder.resolve()
    return frozenset(
        (
            str(Path(each["path"]).relative_to(real)),
            each["line_start"],
            each["line_end"],
            each["heading"],
        )
        for each in insight["sources"]
    )
