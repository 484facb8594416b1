"""Tags: the words under which things are filed, in their one form.

Lower case, without blanks around them and with single ones inside, each once, in the order given:
what is filed under "Deploy  Notes" is found under "deploy notes".
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from cortex_actors.domain.agent import shown
from cortex_actors.errors import BadInput
from cortex_actors.rules.quarantine import hidden

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Tags that one thing may have, and characters that each may have.
MOST, LONGEST = 32, 64

#: What is no part of a tag: control and format characters, halves of a pair, unassigned ones.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Cn"})


def tags(given: object, *, name: str = "tags") -> tuple[str, ...]:
    """Return tags in their one form; raises `BadInput` for what is no list of tags, or too many."""
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise BadInput(f"{name} must be a list of words, not {shown(given)}")
    found = tuple(dict.fromkeys(_tag(each, name) for each in _texts(given, name)))
    if len(found) > MOST:
        raise BadInput(f"{len(found)} {name} were given, at most {MOST} are taken; leave some out")
    return found


def _texts(given: Iterable[object], name: str) -> list[str]:
    """Return what was given, if all of it is text."""
    some = list(given)
    for each in some:
        if not isinstance(each, str):
            raise BadInput(f"{name} must be words, and {shown(each)} is none")
    return [str(each) for each in some]


def _tag(given: str, name: str) -> str:
    """Return one tag in its form."""
    found = " ".join(unicodedata.normalize("NFC", given).lower().split())
    is_unseen = any(unicodedata.category(letter) in _HIDDEN for letter in found)
    if not found or is_unseen or hidden(found):
        raise BadInput(f"{shown(given)} cannot be one of {name}: it holds nothing that can be read")
    if len(found) > LONGEST:
        raise BadInput(
            f"{shown(given)} is too long for one of {name}: {LONGEST} characters at most"
        )
    return found
