"""What may be embedded at all, and the name a text has in a cache."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Letters one text may have: as many as the largest instruction file (1 MiB), far more than any
#: model reads, and too few to fill a frame or keep a tokeniser busy for long.
MAX_LETTERS = 1_048_576


def require_texts(texts: Iterable[object]) -> None:
    """Refuse what no model could read.

    Raises `BadInput` naming the first one's number: not text, too long, or holding half of a
    surrogate pair, which has no UTF-8 form (JSON can carry one).
    """
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise BadInput(f"text {number} to embed is {type(text).__name__}; give strings only")
        if len(text) > MAX_LETTERS:
            raise BadInput(
                f"text {number} to embed has {len(text)} characters, more than {MAX_LETTERS}; "
                "split it and embed the parts"
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise BadInput(
                f"text {number} to embed is not valid Unicode at character {error.start + 1}; "
                "decode it again from its bytes, or take the character out"
            ) from error


def digest(text: str) -> bytes:
    """Return the SHA-256 of a text's UTF-8 bytes: its key in the cache and in the ledger."""
    return sha256(text.encode()).digest()
