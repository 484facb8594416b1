"""Which files instruct agents, and which parser reads them.

Adding a dialect is adding one entry to `DIALECTS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol

from cortex_actors.parsers import markdown

if TYPE_CHECKING:
    from cortex_actors.domain.project import Fragment


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
        where: a bare name is met in any folder of a project, a path only there from its root. A
            path may begin with `**/`, for any folder, and hold `*` for what has no `/` in it.
        parse: the parser.
        private: whether the file is one person's own: what it says stays in its project.

    """

    agent: str
    where: str
    parse: Parser = markdown.fragments
    private: bool = False


#: Every file we read. Names are compared exactly, upper and lower case too.
DIALECTS = (
    Dialect("claude", "CLAUDE.md"),
    Dialect("claude", "CLAUDE.local.md", private=True),
    Dialect("claude", ".claude/CLAUDE.md"),
    Dialect("claude", "**/.claude/rules/**/*.md"),
    Dialect("agents", "AGENTS.md"),
    Dialect("gemini", "GEMINI.md"),
    Dialect("copilot", ".github/copilot-instructions.md"),
    Dialect("copilot", ".github/instructions/**/*.instructions.md"),
    Dialect("cursor", ".cursorrules"),
    Dialect("cursor", "**/.cursor/rules/**/*.mdc"),
    Dialect("windsurf", ".windsurfrules"),
    Dialect("windsurf", "**/.windsurf/rules/**/*.md"),
)

#: Folders of a tool: what lies in one speaks for the folder around it.
_OF_TOOLS = frozenset({".claude", ".cursor", ".github", ".windsurf"})

_BY_PLACE = {dialect.where: dialect for dialect in DIALECTS if "*" not in dialect.where}


def dialect_of(relative_path: str) -> Dialect | None:
    """Return how to read a file, given its path from the project's root; None: not for us.

    Every file of a project is asked about at each sweep: most are told by their name.
    """
    path = PurePosixPath(relative_path)
    known = _BY_PLACE.get(str(path)) or _BY_PLACE.get(path.name)
    if known is not None or _OF_TOOLS.isdisjoint(path.parts):
        return known
    matching = (each for pattern, each in _patterns() if pattern.fullmatch(str(path)))
    return next(matching, None)


def folder_of(relative_path: str) -> str:
    """Return the folder that a file speaks for, from the project's root; "" for all of it.

    That is the folder it lies in, and of what lies in a tool's own folder (`.cursor/rules`) the
    folder around that.
    """
    parts = PurePosixPath(relative_path).parent.parts
    inner = next((number for number, part in enumerate(parts) if part in _OF_TOOLS), len(parts))
    return "/".join(parts[:inner])


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Dialect], ...]:
    """Return the dialects that are known by a pattern of their path."""
    return tuple(
        (re.compile(_expression(each.where)), each) for each in DIALECTS if "*" in each.where
    )


def _expression(where: str) -> str:
    """Return a path with `**/` and `*` as a regular expression."""
    parts = re.split(r"(\*\*/|\*)", where)
    return "".join({"**/": "(?:.+/)?", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts)
