"""Whether a section says anything of its own.

Many instruction files begin with a title and nothing else, or only point to another file. As
insights those would be the ones that most projects "agree" on.
"""

from __future__ import annotations

import re

#: HTML comments, which are for maintainers.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)

#: Lines that name or point and say nothing: headings, rules, `@path`, a bare file name.
_EMPTY_LINE = re.compile(
    r"\s*(?:#{1,6}(?:\s.*)?|[-*_]{3,}|@\S+|\[[^\]]*\]\([^)]*\)|[\w./-]+\.(?:md|mdc|txt))?\s*"
)


def says_something(content: str) -> bool:
    """Tell whether any line is left when headings, comments and pointers are taken away."""
    lines = _COMMENT.sub("", content).splitlines()
    return any(_EMPTY_LINE.fullmatch(line) is None for line in lines)
