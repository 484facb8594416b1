"""What may be embedded at all, and the name a text has in a cache."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from cortex_actors.errors import Unembeddable

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Letters one text may have: as many as the largest instruction file (1 MiB), far more than any
#: model reads, and too few to fill a frame or keep a tokeniser busy for long.
MAX_LETTERS = 1_048_576


def require_texts(texts: Iterable[object]) -> None:
    """Refuse what no model could read.

    Raises `Unembeddable`, in the words of the first such text and with the numbers of all: not
    text, too long, or holding half of a surrogate pair, which has no UTF-8 form (JSON can carry
    one).
    """
    wrong = {place: why for place, text in enumerate(texts) if (why := _refusal(text))}
    if wrong:
        first, why = next(iter(wrong.items()))
        raise Unembeddable(f"text {first + 1} to embed {why}", tuple(wrong))


def _refusal(text: object) -> str:
    """Return why no model could read a text; empty when one can."""
    if not isinstance(text, str):
        return f"is {type(text).__name__}; give strings only"
    if len(text) > MAX_LETTERS:
        return f"has {len(text)} characters, more than {MAX_LETTERS}; split it, embed the parts"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return (
            f"is not valid Unicode at character {error.start + 1}; decode it again from its bytes, "
            "or take the character out"
        )
    return ""


def digest(text: str) -> bytes:
    """Return the SHA-256 of a text's UTF-8 bytes: its key in the cache and in the ledger."""
    return sha256(text.encode()).digest()
