"""How many tokens a text has for whoever reads it, counted before it is written into a file.

No agent's own tokeniser is on this machine, so the shipped embedding model's stands for all of
them: it cuts English and code into about as many pieces. Where there is none (the hashing provider,
an installation without the model), four characters are one token, and a character beyond ASCII is
one by itself.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from cortex_actors.embedding.models import PACKAGED, locate
from cortex_actors.embedding.tokens import Tokens
from cortex_actors.errors import ModelMissing

if TYPE_CHECKING:
    from pathlib import Path

#: Characters of English that are one token, as OpenAI's documentation has it.
CHARACTERS = 4

#: The file of a tokeniser in a model's folder.
_TOKENISER = "tokenizer.json"

log = logging.getLogger("cortex.resolver")


class Counter:
    """Counts tokens, from any thread; the tokeniser is read when it is first needed."""

    def __init__(self, provider: str) -> None:
        """Count as suits a home whose vectors come from that provider."""
        self._lock = threading.Lock()
        self._tokens: Tokens | None = None
        self._is_read = provider == "hashing"
        self._special = 0

    def __call__(self, text: str) -> int:
        """Return the tokens of a text; marks that a model wants around it do not count."""
        with self._lock:
            if not self._is_read:
                self._is_read = True
                self._read()
        if self._tokens is None:
            return estimate(text)
        try:
            return self._tokens.count(text) - self._special
        except ValueError:  # half a surrogate pair, which no tokeniser takes
            return estimate(text)

    def _read(self) -> None:
        """Read the shipped tokeniser, if there is one."""
        try:
            self._tokens = Tokens.load(_shipped(), 0)
            self._special = self._tokens.count("")
        except (ImportError, OSError, ValueError, ModelMissing) as error:
            log.warning("tokens are estimated, %d characters each: %s", CHARACTERS, error)


def estimate(text: str) -> int:
    """Return about how many tokens a text has, where no tokeniser tells."""
    plain = sum(each.isascii() for each in text)
    return -(-plain // CHARACTERS) + len(text) - plain


def _shipped() -> Path:
    """Return where the tokeniser of the model is that comes with the program."""
    return locate(next(iter(PACKAGED))).folder / _TOKENISER
