"""The repository's own source as data: modules, what they import and what they call."""

from __future__ import annotations

import ast
import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

#: The folder that holds pyproject.toml.
ROOT = Path(__file__).resolve().parents[2]

#: Folders that tools make: not ours to judge. So is every name that starts with a dot.
_MADE = frozenset({"__pycache__", "build", "dist", "htmlcov"})

#: Dotted folders that are ours nevertheless.
_DOTTED = frozenset({".ci"})


@dataclass(frozen=True, slots=True)
class Module:
    """One Python file: where it lies, from the root, and what it says."""

    path: PurePosixPath
    text: str
    tree: ast.Module

    @classmethod
    def of(cls, path: str, text: str) -> Module:
        """Return the module that such a file would be."""
        return cls(PurePosixPath(path), text, ast.parse(text))

    @property
    def unit(self) -> str:
        """The folder or file of the package it belongs to: `bus`, `tree`; else its top folder."""
        parts = self.path.with_suffix("").parts
        return parts[1] if parts[0] == "cortex_actors" and len(parts) > 1 else parts[0]

    @property
    def is_product(self) -> bool:
        """Whether it ships."""
        return self.path.parts[0] in {"cortex_actors", "supervision.py"}

    @property
    def is_test(self) -> bool:
        """Whether it is a test or what tests share."""
        return self.path.parts[0] == "tests"


Check = Callable[[Module], Iterator[str]]


@cache
def modules() -> tuple[Module, ...]:
    """Return every Python file of the repository but the samples, which are other projects'."""
    found = (path for path in files() if path.suffix == ".py" and path.parts[0] != "data")
    gc.disable()  # it would walk through all the trees there are, again and again
    try:
        return tuple(Module.of(str(path), (ROOT / path).read_text("utf-8")) for path in found)
    finally:
        gc.freeze()
        gc.enable()


@cache
def files() -> tuple[PurePosixPath, ...]:
    """Return every file of the repository that a person wrote."""
    found: list[PurePosixPath] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if _ours(name))
        here = Path(folder).relative_to(ROOT)
        found += [PurePosixPath(here / name) for name in sorted(names)]
    return tuple(found)


def _ours(folder: str) -> bool:
    """Return whether people write in a folder of that name."""
    return folder in _DOTTED or not (folder.startswith(".") or folder in _MADE)


def docstrings(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements that are docstrings."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            yield node.body[0]


def code_lines(module: Module) -> int:
    """Return the lines of a module that are neither blank nor comment nor docstring."""
    documented: set[int] = set()
    for first in docstrings(module.tree):
        documented.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(module.text.splitlines(), 1)
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in documented
        for number, line in lines
    )


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and full dotted name of everything imported, wherever in the file.

    `from a.b import c` gives `a.b.c`, since `c` may be a module. Imports for types alone count
    too: a direction is about who knows whom.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a chain of names, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        start = dotted(node.value)
        return f"{start}.{node.attr}" if start else ""
    return ""


def uses(module: Module) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of everything imported or reached by a chain of names."""
    yield from imports(module.tree)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and (name := dotted(node)):
            yield node.lineno, name


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
