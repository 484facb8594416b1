"""Whether a text that a model wrote may stand for the texts it was made of. Pure.

A merge must lose nothing and add nothing. What cannot be seen in the words themselves is left to
the vectors; but every name, number and piece of code of the sources has to be there and no other,
and what turns or limits a statement may neither come nor go. Where it is unclear the text is not
taken: the sentences of both, each once, cost nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from cortex_actors.rules.uniting import TURNING
from cortex_actors.text.suspicion import wary

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What is a name wherever it stands: code, and what holds a digit, a sign or a capital inside.
_NAMES: Final = re.compile(
    r"`([^`\n]+)`|(?<![\w.])((?:[\w@#~-]*[\d._/@#+~]|[^\W\d_]+[A-Z])[\w.@#/+~-]*\w|\w*\d\w*)"
)

#: What is a name inside a sentence: a word with a capital that does not begin it.
_PROPER: Final = re.compile(r"(?<=[\w,;:'\")] )([A-Z][\w-]+)")

_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")


def objection(text: str, sources: Sequence[str]) -> str | None:
    """Return why a text must not stand for its sources; None when nothing speaks against it."""
    if (why := wary(text)) is not None and not any(wary(each) for each in sources):
        return why
    said = "\n".join(sources)
    for name in sorted(_names(said)):
        if not _has(text, name):
            return f"it leaves out {name!r}"
    for name in sorted(_names(text)):
        if not _has(said, name):
            return f"it names {name!r}, which no source does"
    own, known = _turning(text), _turning(said)
    if own != known:
        return f"it turns what is said: {min(own ^ known)!r}"
    return None


def _names(text: str) -> set[str]:
    """Return the names, numbers and pieces of code of a text."""
    found = [*_NAMES.finditer(text), *_PROPER.finditer(text)]
    return {next(filter(None, each.groups())).casefold().rstrip(".,;:") for each in found}


def _has(text: str, name: str) -> bool:
    """Tell whether a text has a name as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text.casefold()) is not None


def _turning(text: str) -> set[str]:
    """Return the words of a text that turn or limit something."""
    words = {each.replace("\u2019", "'") for each in _WORD.findall(text.casefold())}
    return {"not" if each.endswith("n't") else each for each in words} & TURNING
