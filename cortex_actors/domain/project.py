"""A project: a folder whose instruction files are watched."""

from __future__ import annotations

import hashlib
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Hex digits of the path's hash that a project's id keeps.
ID_DIGITS = 20

#: Folders that are not the project's own words: version control, dependencies, build output.
PRUNED = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".venv",
        "venv",
        "node_modules",
        "vendor",
        "third_party",
        "site-packages",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        "build",
        "dist",
        "target",
        "third-party",
        "bower_components",
        "jspm_packages",
        "Pods",
        "Carthage",
        ".bundle",
        ".eggs",
        ".gradle",
        ".next",
        ".nox",
        ".nuxt",
        ".svelte-kit",
        ".terraform",
        ".turbo",
        ".yarn",
    }
)


@dataclass(frozen=True, slots=True)
class Project:
    """A registered folder.

    Attributes:
        root: the folder's real path, absolute, symbolic links resolved by whoever registers it.
        added_at: UTC microseconds.

    """

    id: str
    name: str
    root: str
    added_at: int

    def __str__(self) -> str:
        """Return the name: what a person calls it."""
        return self.name

    @classmethod
    def at(cls, root: str, added_at: int) -> Project:
        """Return the project of a real path; the same folder always has the same id."""
        return cls(project_id(root), project_name(root), root, added_at)

    def holds(self, path: str) -> bool:
        """Tell whether a real path lies in the folder, or is it."""
        return path == self.root or path.startswith(self.root.rstrip("/") + "/")


def innermost(projects: Iterable[Project], path: str) -> Project | None:
    """Return the project that a real path belongs to, whatever project holds that one in turn."""
    holding = (each for each in projects if each.holds(path))
    return max(holding, key=lambda each: len(each.root), default=None)


def around(projects: Iterable[Project], folder: str) -> list[Project]:
    """Return the projects that hold a folder, given by its real path, or lie below it."""
    return [
        each
        for each in projects
        if each.holds(folder) or each.root.startswith(folder.rstrip("/") + "/")
    ]


def pruned(relative_path: str) -> bool:
    """Tell whether a file, given its path from the root, lies in a folder nobody looks into."""
    return not PRUNED.isdisjoint(posixpath.dirname(relative_path).split("/"))


def project_id(root: str) -> str:
    """Return `prj_` and 20 hex digits of the SHA-256 of the real path's bytes."""
    digest = hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()
    return f"prj_{digest[:ID_DIGITS]}"


def project_name(root: str) -> str:
    """Return the folder's own name; the file system's root is called `/`."""
    return posixpath.basename(root.rstrip("/")) or "/"
