"""Which files instruct agents, and which parser reads them.

Adding a dialect is adding one entry to `DIALECTS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol

from cortex_actors.parsers import markdown

if TYPE_CHECKING:
    from cortex_actors.domain.fragment import Fragment


class Parser(Protocol):
    """Turns a file's bytes into fragments; pure.

    Raises `FileTooLarge` and `NotText`, naming the path.
    """

    def __call__(self, data: bytes, *, path: str, project: str) -> tuple[Fragment, ...]:
        """Return what a human says in the file, in its order."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to write instruction files.

    Attributes:
        agent: whose files these are, as `cortex resolve --agent` takes it.
        where: a bare name is met in any folder of a project, a path only there from its root.
        parse: the parser.
        private: whether the file is one person's own: what it says stays in its project.

    """

    agent: str
    where: str
    parse: Parser = markdown.fragments
    private: bool = False


#: Every file we read. Names are compared exactly, upper and lower case too. The folders' files
#: `.cursor/rules/*.mdc` and the like are left out: they apply to some paths only.
DIALECTS = (
    Dialect("claude", "CLAUDE.md"),
    Dialect("claude", "CLAUDE.local.md", private=True),
    Dialect("claude", ".claude/CLAUDE.md"),
    Dialect("agents", "AGENTS.md"),
    Dialect("gemini", "GEMINI.md"),
    Dialect("copilot", ".github/copilot-instructions.md"),
    Dialect("cursor", ".cursorrules"),
    Dialect("windsurf", ".windsurfrules"),
)

_BY_PLACE = {dialect.where: dialect for dialect in DIALECTS}


def dialect_of(relative_path: str) -> Dialect | None:
    """Return how to read a file, given its path from the project's root; None: not for us."""
    path = PurePosixPath(relative_path)
    return _BY_PLACE.get(str(path)) or _BY_PLACE.get(path.name)
