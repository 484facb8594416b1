"""Texts become numbers of tokens, in pieces that the model can read whole."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.embedding.windows import windows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tokenizers import Encoding, Tokenizer

#: Keeps the tokeniser from starting a thread for each core, which nobody would name or count; it
#: needs a fiftieth of the model's time, and is called from threads that exist.
_QUIET = {"TOKENIZERS_PARALLELISM": "false"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A text, or a window of one: what the model is given, special tokens included."""

    #: The number of the text in the request.
    owner: int
    ids: Sequence[int]
    #: Tokens of the text itself.
    weight: int
    #: The letters themselves, for a model that wants letters.
    text: str


class Tokens:
    """A `tokenizer.json`, without transformers around it; called from any thread.

    It neither cuts nor fills, whatever the file says: a text that is too long becomes several
    pieces. Special tokens are added by the file's own post-processor. While it works it holds
    up no other thread.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        """Take a tokeniser over, and the tokens of a window, special ones included."""
        os.environ.update(_QUIET)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.max_tokens = max_tokens
        self._special = tokenizer.num_special_tokens_to_add(is_pair=False)
        self._room = max(1, max_tokens - self._special)

    @classmethod
    def load(cls, path: Path, max_tokens: int) -> Tokens:
        """Read the file; raises `OSError` or `ValueError` when it is no tokeniser."""
        from tokenizers import Tokenizer  # noqa: PLC0415 - with the model, not with the daemon

        content = path.read_text(encoding="utf-8")
        try:
            return cls(Tokenizer.from_str(content), max_tokens)
        except Exception as error:  # the library raises bare Exception
            raise ValueError(f"{path} is not a tokeniser: {error}") from error

    def count(self, text: str) -> int:
        """Return the tokens of a text, special ones included."""
        return len(self._encoded([text])[0])

    def pieces(self, texts: Sequence[str]) -> list[Piece]:
        """Return what the model reads of each text, in order: one piece, or a window after another.

        Raises `ValueError` when a text cannot be read as tokens.
        """
        found: list[Piece] = []
        for owner, (text, whole) in enumerate(zip(texts, self._encoded(texts), strict=True)):
            if len(whole) <= self.max_tokens:
                found.append(self._piece(owner, text, whole))
            else:
                found.extend(self._windows(owner, text, whole, self._room))
        return found

    def _windows(self, owner: int, text: str, whole: Encoding, room: int) -> Iterator[Piece]:
        """Yield the windows of a long text.

        A part of a text may have a token more than it had within the text (a tokeniser that marks
        the start of a text): it is cut again, with less room.
        """
        marks = zip(whole.offsets, whole.special_tokens_mask, strict=True)
        offsets = [place for place, special in marks if not special]
        parts = [text[each.start : each.end] for each in windows(text, offsets, room)]
        for part, encoded in zip(parts, self._encoded(parts), strict=True):
            if len(encoded) <= self.max_tokens or len(part) <= 1 or room <= 1:
                yield self._piece(owner, part, encoded)
            else:
                yield from self._windows(owner, part, encoded, room - 1)

    def _piece(self, owner: int, text: str, encoded: Encoding) -> Piece:
        """Return a piece; the model is never given more than it reads, whatever happens."""
        ids = encoded.ids[: self.max_tokens]
        return Piece(owner, ids, max(1, len(ids) - self._special), text)

    def _encoded(self, texts: Sequence[str]) -> list[Encoding]:
        try:
            # A batch, also of one: only that lets other threads run meanwhile.
            return self._tokenizer.encode_batch(list(texts))
        except Exception as error:  # as above
            raise ValueError(f"the tokeniser cannot read a text: {error}") from error
