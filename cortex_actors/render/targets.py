"""Which files of a project are written: those that are there, each once, and none unasked.

Files that a tool sprays into repositories are what people like least about it. So a file is made
only on request, and what reaches an agent through another file already (a link, an import) is not
written there a second time.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.errors import BadInput
from cortex_actors.render.section import FORMATTERS, find
from cortex_actors.text.markdown import Kind, heading, kinds, lines
from cortex_actors.text.sections import imports

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_actors.render.section import Formatter

#: What to look at in a project's root: the files, and the folders of rules that tell whether a
#: project uses a tool.
PLACES = tuple(place for each in FORMATTERS for place in each.places)
FOLDERS = (".cursor/rules", ".windsurf/rules")

#: The file that the most agents read, made where there is none at all.
_FIRST = "agents"


@dataclass(frozen=True, slots=True)
class Present:
    """One of `PLACES` or `FOLDERS` that a project has.

    Attributes:
        path: from the root.
        link: of a symbolic link, where it leads in the end, from the root; it begins with `../` or
            `/` when that is outside. None for what is no link.
        data: what the file says; nothing for a link or a folder.

    """

    path: str
    link: str | None = None
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Target:
    """A file to write; `fresh` is what it begins with when it is made, None when it exists."""

    path: str
    formatter: Formatter
    fresh: bytes | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """A file that is not written, and why, as a person reads it."""

    path: str
    agent: str
    reason: str


@dataclass(frozen=True, slots=True)
class Targets:
    """What is written in a project, and what is left alone."""

    write: tuple[Target, ...]
    left: tuple[Left, ...] = ()


def targets(
    present: Iterable[Present], *, agent: str | None = None, create: bool = False
) -> Targets:
    """Return which files are written, for one agent or for all that have one.

    Raises `NotFound` for an agent that is not known. An agent without files has no targets.
    """
    there = {each.path: each for each in present}
    asked = FORMATTERS if agent is None else (find(agent),)
    found = _Found({path: each for path, each in there.items() if path in PLACES})
    for formatter in asked:
        found.look(formatter)
    if agent is not None and asked[0].places and not found.has(asked[0]):
        found.lacks(asked[0], create=create)
    elif agent is None and create:
        for formatter in _wanted(there):
            found.make(formatter)
    return Targets(tuple(found.write.values()), tuple(found.left))


def _wanted(there: Mapping[str, Present]) -> Iterable[Formatter]:
    """Return for which agents a file is made where nobody is named.

    For a tool whose folder of rules is there, and for all where there is no file at all.
    """
    tools = [
        each
        for each in FORMATTERS
        if posixpath.dirname(each.made) in FOLDERS
        and posixpath.dirname(each.made) in there
        and not there.keys() & set(each.places)
    ]
    return tools if tools or there.keys() & set(PLACES) else [find(_FIRST)]


class _Found:
    """What was found so far, file by file."""

    def __init__(self, there: Mapping[str, Present]) -> None:
        self._there = there
        self.write: dict[str, Target] = {}
        self.left: list[Left] = []

    def has(self, formatter: Formatter) -> bool:
        """Tell whether an agent has a file."""
        return not self._there.keys().isdisjoint(formatter.places)

    def look(self, formatter: Formatter) -> None:
        """Take the first file of an agent that is there; it may only lead to another one."""
        path = next((each for each in formatter.places if each in self._there), None)
        if path is None:
            return
        end, how = self._follow(path, formatter)
        if end in self._there:
            self._take(end)
        if end != path:
            self._leave(path, formatter, how)

    def lacks(self, formatter: Formatter, *, create: bool) -> None:
        """Deal with an agent that was named and has no file."""
        if formatter.name == "claude" and "AGENTS.md" in self._there:
            # Claude Code reads AGENTS.md only as long as there is no CLAUDE.md.
            self._take("AGENTS.md")
            self._leave(formatter.made, formatter, "would keep AGENTS.md, written, from being read")
        elif create:
            self.make(formatter)
        else:
            self._leave(formatter.made, formatter, "is not there; --create makes it")

    def make(self, formatter: Formatter) -> None:
        """Add the file that an agent would have."""
        path = formatter.made
        self.write[path] = Target(path, formatter, formatter.begins(path))

    def _take(self, path: str) -> None:
        owner = next(each for each in FORMATTERS if path in each.places)
        self.write.setdefault(path, Target(path, owner))

    def _leave(self, path: str, formatter: Formatter, reason: str) -> None:
        self.left.append(Left(path, formatter.name, reason))

    def _follow(self, path: str, formatter: Formatter) -> tuple[str, str]:
        """Return where a file leads in the end, and what to say of the way there."""
        seen, how = {path}, ""
        while (step := self._next(path, formatter)) is not None and step[0] not in seen:
            path, told = step
            how = how or told
            seen.add(path)
        return path, how

    def _next(self, path: str, formatter: Formatter) -> tuple[str, str] | None:
        """Return where a file leads, and how; None when it speaks for itself."""
        file = self._there.get(path)
        if file is None:
            return None
        if file.link is not None:
            known = file.link in self._there
            after = "which is written" if known else "which is no instruction file of this project"
            return file.link, f"is a link to {file.link}, {after}"
        for imported in _imported(file, formatter):
            if imported in self._there:
                return imported, f"imports {imported}, which is written"
        return None


def _imported(file: Present, formatter: Formatter) -> list[str]:
    """Return what a file has read in for its agent, from the root.

    An agent that follows no imports is led on only by a file that says nothing else. A file that is
    no text leads nowhere: whoever writes it is told.
    """
    try:
        text = lines(file.data, path=file.path)
    except BadInput:
        return []
    said = [
        (line.text, kind)
        for line, kind in zip(text, kinds(text), strict=True)
        if line.text.strip() and heading(line.text) is None and not _is_comment(line.text)
    ]
    open_text = [line for line, kind in said if kind is Kind.TEXT]
    only = all(kind is Kind.OURS or imports([line]) for line, kind in said)
    if not formatter.imports and not only:
        return []
    folder = posixpath.dirname(file.path)
    return [posixpath.normpath(posixpath.join(folder, each)) for each in imports(open_text)]


def _is_comment(text: str) -> bool:
    """Tell whether a line is one comment."""
    return text.startswith("<!--") and text.rstrip().endswith("-->")
