"""How a sentence-transformers model's texts are cut into pieces that it reads whole.

By the same windows as the compiled model's, so that both say the same of a long text.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.embedding.tokens import Piece, Tokens
from cortex_actors.embedding.windows import split_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sentence_transformers import SentenceTransformer


class Pieces:
    """Cuts the texts of one model; a model without a limit reads every text whole."""

    def __init__(self, model: SentenceTransformer) -> None:
        limit = model.max_seq_length
        #: Tokens of a piece, special ones included; 0 for a model that reads any number.
        self.max_tokens = int(limit) if limit and math.isfinite(limit) else 0
        self._of = self._cutter(model.tokenizer)

    def of(self, texts: Sequence[str]) -> list[Piece]:
        """Return the pieces of each text, in order; raises `ValueError` for what cannot be read."""
        return self._of(texts)

    def _cutter(self, tokenizer: Any) -> Callable[[Sequence[str]], list[Piece]]:  # noqa: ANN401 - several libraries' classes
        if not self.max_tokens:
            return _whole
        backend: Any = getattr(tokenizer, "backend_tokenizer", None)
        if hasattr(backend, "to_str"):
            # A copy: the model's own is told to cut and to fill at each call.
            own = type(backend).from_str(backend.to_str())
            return Tokens(own, self.max_tokens).pieces
        return partial(_counted, lambda text: len(tokenizer(text)["input_ids"]), self.max_tokens)


def _whole(texts: Sequence[str]) -> list[Piece]:
    return [Piece(owner, (), 1, text) for owner, text in enumerate(texts)]


def _counted(count: Callable[[str], int], limit: int, texts: Sequence[str]) -> list[Piece]:
    """Cut by counting: for a tokeniser that is written in Python and tells no offsets."""
    return [
        Piece(owner, (), count(part), part)
        for owner, text in enumerate(texts)
        for part in split_text(text, limit, count)
    ]
