"""Markdown to fragments: what a human says in a file, section by section."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.project import Fragment, file_hash
from cortex_actors.parsers import frontmatter
from cortex_actors.parsers.imports import imports
from cortex_actors.parsers.sections import Role, Section, sections

if TYPE_CHECKING:
    from collections.abc import Iterable


def fragments(data: bytes, *, path: str, project: str) -> tuple[Fragment, ...]:
    """Return what a human says in a file: its text sections that are not blank.

    `path` is the expanded, absolute path, part of each fragment's id; `project` is the name of the
    project the file belongs to. Raises `FileTooLarge` and `NotText`, naming `path`.
    """
    found = sections(data, path=path)
    digest, globs = file_hash(data), _globs(found)
    return tuple(
        Fragment(
            content=section.content,
            source_path=path,
            source_project=project,
            heading=section.heading,
            line_start=section.line_start,
            line_end=section.line_end,
            byte_start=section.byte_start,
            byte_end=section.byte_end,
            file_hash=digest,
            above=section.above,
            applies_to=globs,
            imports=imports(section.content.split("\n")),
            raw=data[section.byte_start : section.byte_end],
        )
        for section in found
        if section.role is Role.TEXT and section.content
    )


def _globs(found: Iterable[Section]) -> tuple[str, ...]:
    """Return the globs that the file's front matter names."""
    for section in found:
        if section.role is Role.FRONT_MATTER:
            return frontmatter.globs(section.content)
    return ()
