"""Statements as people write them: list items and paragraphs of instruction files."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from cortex_actors.errors import CortexError
from cortex_actors.text import markdown
from cortex_actors.text.markdown import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Letters from which a line says something.
LEAST = 20

#: What begins a line that is no statement: headings, tables, quotes, HTML.
OTHER = ("#", "|", ">", "<")

_MARK = re.compile(r"\s*(?:[-+*]|\d{1,9}[.)])\s+")


def statements(folder: Path, count: int, *, seed: int = 5) -> list[str]:
    """Return that many different statements of a folder's Markdown files, in a mixed order.

    When there are fewer, their order is repeated with a number in front, so that no two are equal.
    """
    found = list(dict.fromkeys(text for path in _files(folder) for text in _of(path)))
    if not found:
        raise SystemExit(f"no statements in {folder}; give --data a folder of instruction files")
    random.Random(seed).shuffle(found)
    rounds = -(-count // len(found))
    return [f"{n}. {text}" if n else text for n in range(rounds) for text in found][:count]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.suffix in {".md", ".mdc"}:
            yield path


def _of(path: Path) -> Iterator[str]:
    """Yield a file's list items and paragraphs, each as one line; code and tables are none."""
    try:
        found = split_lines(path.read_bytes(), path=str(path))
    except CortexError:
        return
    said: list[str] = []
    for line, kind in zip(found, markdown.classify_lines(found), strict=True):
        text = line.text.strip()
        starts = _MARK.match(line.text)
        goes_on = kind is markdown.LineKind.TEXT and text and not text.startswith(OTHER)
        if said and (starts or not goes_on):
            yield from _long_enough(said)
            said = []
        if goes_on:
            said.append(line.text[starts.end() :].strip() if starts else text)
    yield from _long_enough(said)


def _long_enough(said: list[str]) -> Iterator[str]:
    text = " ".join(said)
    if len(text) >= LEAST:
        yield text
