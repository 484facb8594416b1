"""Job: one instruction file in hand, from its path to the reader of what it says."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.domain.project import pruned
from cortex_actors.files.ignores import left_out
from cortex_actors.pipeline.findings import Reader
from cortex_actors.text.sections import dialect_of, folder_of

if TYPE_CHECKING:
    from cortex_actors.domain.insight import Granularity
    from cortex_actors.domain.project import Project
    from cortex_actors.storage.projects import Run
    from cortex_actors.text.sections import Dialect

#: How the names of files end that are one person's own, whatever their dialect.
PRIVATE = ".local.md"


@dataclass(frozen=True, slots=True)
class Job:
    """One file in hand; `run` is its audit row as far as it is known."""

    project: Project
    path: str
    run: Run

    @property
    def relative(self) -> str:
        """The file's path from the root of its project."""
        return os.path.relpath(self.path, self.project.root)

    @property
    def dialect(self) -> Dialect | None:
        """How to read the file; None when it is none of ours."""
        return None if pruned(self.relative) else dialect_of(self.relative)

    @property
    def is_private(self) -> bool:
        """Whether the file is one person's own: what it says stays in its project."""
        return self.path.endswith(PRIVATE)

    def is_left_out(self) -> bool:
        """Tell whether git ignores the file's folder, or it is the project once more. Blocks."""
        return left_out(self.project.root, self.path)

    def reader(self, dialect: Dialect, granularity: Granularity) -> Reader:
        """Return how what the file says is read."""
        folder = folder_of(self.relative)
        return Reader(dialect, self.path, self.project.name, granularity, folder)

    def refusal(self) -> str:
        """Return the text for a file that instructs nobody here."""
        if pruned(self.relative):
            return (
                f"cannot read {self.path}: it lies in a folder of dependencies or of build "
                "output; move it to one of the project's own"
            )
        if self.dialect is not None:
            return (
                f"cannot read {self.path}: git ignores its folder, or it lies in a linked "
                "worktree; take it out of .gitignore, or follow the folder by itself"
            )
        return (
            f"cannot read {self.path}: {Path(self.path).name} is not the name of an instruction "
            "file there; docs/cli.md lists them"
        )
