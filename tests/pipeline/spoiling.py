"""Ways to spoil an instruction file, and what a person is told about each."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: One byte more than an instruction file may have.
TOO_MANY = 1_048_577


def clear(path: Path) -> None:
    """Remove whatever lies at a path."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def _outside(path: Path) -> None:
    """Link to a file that lies outside the project."""
    target = path.parent.parent / f"outside-{path.parent.name}.md"
    target.write_text("## Secret\n\nOutside.\n")
    path.symlink_to(target)


#: What is done to the path, and a piece of the reason that is recorded.
SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "binary": (lambda path: path.write_bytes(b"\x7fELF\x00\x01\x02" * 40), "text"),
    "2 MiB": (lambda path: path.write_bytes(b"a " * 1_048_576), "split it"),
    "one byte too many": (lambda path: path.write_bytes(b"a" * TOO_MANY), "split it"),
    "UTF-16": (lambda path: path.write_bytes("## A\n\nabc\n".encode("utf-16")), "text"),
    "Latin-1": (
        lambda path: path.write_bytes("## A\n\nCafés close at nine.\n".encode("latin-1")),
        "line 3 is not UTF-8",
    ),
    "folder": (lambda path: path.mkdir(), "not a regular file"),
    "pipe": (os.mkfifo, "not a regular file"),
    "dangling link": (lambda path: path.symlink_to("nowhere.md"), "leads nowhere"),
    "looping link": (lambda path: path.symlink_to(path.name), "leads nowhere"),
    "link out of the project": (_outside, "outside the project"),
}


def spoil(path: Path, how: str) -> str:
    """Put something at a path that cannot be read; return a piece of the reason."""
    clear(path)
    do, reason = SPOILT[how]
    do(path)
    return reason
