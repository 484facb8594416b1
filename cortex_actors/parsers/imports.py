"""Pointers to other files: `@docs/style.md`, as Claude Code and its like import them.

They are recorded and never followed. A file that is pointed to may lie anywhere, in somebody's home
folder or outside the project; one that instructs agents is found by its own name anyway.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Pointers of one file that are recorded.
_MOST = 64

#: Code in a line, in which nothing is a pointer.
_CODE = re.compile(r"`[^`]*`")

#: `@` and a path with the ending of a text file: `@pytest.mark.slow` is a decorator, `@acme/ui` a
#: package and `@mary` a person.
_PATH = re.compile(
    r"(?<![\w@./-])@(~?[\w./-]{1,400}\.(?:mdc?|markdown|txt|rst|adoc|ya?ml|toml|json))(?![\w/-])"
)

#: A line that is nothing but a pointer needs no ending: `@README`, `@~/notes`.
_ALONE = re.compile(r"[ \t]*@(~?[\w./-]{1,400})[ \t]*")

#: A whole text that is one path: what a link becomes where links cannot be stored.
_LINK = re.compile(r"\s*((?:\.{0,2}/)?[\w./-]{1,400}\.mdc?)\s*")


def imports(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that some lines point to, as written, each once, in their order."""
    lines = list(texts)
    whole = _LINK.fullmatch("\n".join(lines)) if len(lines) <= _MOST else None
    found = [whole[1]] if whole is not None else [each for line in lines for each in _in(line)]
    return tuple(dict.fromkeys(found))[:_MOST]


def _in(line: str) -> list[str]:
    """Return the paths that one line points to."""
    if "@" not in line:
        return []
    alone = _ALONE.fullmatch(line)
    return [alone[1]] if alone is not None else _PATH.findall(_CODE.sub("", line))
