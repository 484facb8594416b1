"""The real SerenMemory and the real SerenLoci, with something in them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.contract.adapters import TOKEN, Case
from tests.federation import seren

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def seren_memory(folder: Path) -> Iterator[Case]:
    """Run a SerenMemory that knows of deploys and of paths."""
    with seren.memory(folder / "memory", token=TOKEN) as server:
        monday = seren.remember(server, "Deploys happen on Mondays after lunch", "deploy,week")
        rollback = seren.remember(server, "A failed deploy is rolled back by hand", "Deploy")
        paths = seren.remember(server, "The user prefers absolute paths over tildes", "config")
        yield Case(
            type="seren_memory",
            url=server.url,
            question="deploys happen on mondays",
            ids=(monday,),
            token=TOKEN,
            topic="deploy",
            tagged=frozenset({monday, rollback} - {paths}),
        )


@contextmanager
def seren_loci(folder: Path) -> Iterator[Case]:
    """Run a SerenLoci that knows one fact about deploys by its key, and another by its words."""
    with seren.loci(folder / "loci", token=TOKEN) as server:
        undo = seren.state(server, "atlas", "rollback", "undo the last deploy", why="it is safe")
        day = seren.state(server, "atlas", "deploy", "Monday", why="the week is quiet then")
        yield Case(
            type="seren_loci", url=server.url, question="deploy", ids=(day, undo), token=TOKEN
        )
