"""A provider without a model: hashed words and letter triples, for tests and for trying out.

Texts that share words get similar vectors, texts that share none get vectors near a right angle,
so ranking, thresholds and caches can be tested without loading anything. It knows no synonyms.
"""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.embedding.provider import State, checked, require_texts
from cortex_actors.runtime.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cortex_actors.embedding.provider import Vectors

#: Numbers in a vector; as MiniLM's, so that the rest of the system sees no difference.
DIMENSION = 384

#: Texts of one patient request: few enough to share the loop with others.
BULK = 64

#: Letters (about 2 ms of hashing) from which a batch leaves the loop for a thread.
OFF_LOOP_LETTERS = 4_000

#: Numbers of a row that take as long as a letter (0.5 us).
NUMBERS_A_LETTER = 3

#: How much a feature counts. Whole numbers, so that sums are exact and the same on any machine.
WORD, SHORT_WORD, PAIR, TRIPLE = 6, 2, 3, 1

#: Letters up to which a word is short: mostly "the", "to", "in", which say little.
SHORT = 3

_WORDS = re.compile(r"\w+")


class HashingProvider:
    """Feature hashing (Weinberger and others 2009) into signed, unit-length vectors.

    The same text has the same vector on every machine, in every process and for ever: a change of
    the features or weights above must change `model_id`. Never down and never loading.
    """

    def __init__(self, dimension: int = DIMENSION) -> None:
        self.model_id = f"hashing-v1-{dimension}"
        self.dimension = dimension
        self.max_tokens = sys.maxsize
        self.bulk = BULK
        self.state = State.READY
        self.reason = ""
        self.counters: Mapping[str, int] = {}
        self._threads: Threads | None = None

    async def start(self) -> None:
        """Do nothing: there is nothing to load."""

    async def settled(self) -> State:
        """Return `ready`."""
        return self.state

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return one unit row a text; raises `BadInput` for what is not text.

        `urgent` changes nothing: hashing is quick.
        """
        require_texts(texts)
        if self._work(texts) < OFF_LOOP_LETTERS:
            return self._rows(texts)
        if self._threads is None:
            self._threads = Threads("hashing", 1)
        return await self._threads.run(self._rows, texts)

    async def close(self) -> None:
        """End the thread, if large batches have needed one."""
        if self._threads is not None:
            threads, self._threads = self._threads, None
            threads.close()

    def _work(self, texts: Sequence[str]) -> int:
        """Return how much a batch is, in letters: a wide row costs beside those of its text."""
        wide = max(0, self.dimension - DIMENSION) // NUMBERS_A_LETTER
        return sum(map(len, texts)) + len(texts) * wide

    def _rows(self, texts: Sequence[str]) -> Vectors:
        rows = np.array([_row(text, self.dimension) for text in texts], dtype=np.float64)
        return checked(
            rows.reshape(len(texts), self.dimension), len(texts), dimension=self.dimension
        )


def _row(text: str, dimension: int) -> list[float]:
    """Return a text's signed feature counts, scaled to length 1."""
    row = [0] * dimension
    for feature, weight in dict(_features(text)).items():
        place, sign = _place(feature)
        row[place % dimension] += sign * weight
    length = math.sqrt(sum(n * n for n in row))
    if length == 0.0:  # two features may cancel each other; there must be a direction all the same
        row[_place(f"!{text}")[0] % dimension], length = 1, 1.0
    return [n / length for n in row]


def _features(text: str) -> Iterator[tuple[str, int]]:
    """Yield words, pairs of neighbours and letter triples, each with its weight.

    A repeated one counts once, so a text does not drift away by repeating itself.
    """
    words = _WORDS.findall(unicodedata.normalize("NFKC", text).casefold())
    if not words:
        yield f"?{text}", WORD  # only punctuation, or nothing
    for word in words:
        yield word, SHORT_WORD if len(word) <= SHORT else WORD
        if len(word) > SHORT:
            padded = f"<{word}>"
            yield from ((f"#{padded[i : i + 3]}", TRIPLE) for i in range(len(padded) - 2))
    yield from ((f"{first} {second}", PAIR) for first, second in pairwise(words))


@lru_cache(maxsize=65_536)
def _place(feature: str) -> tuple[int, int]:
    """Return where a feature counts, and whether it adds or takes away.

    blake2b, because Python's own `hash` is seeded anew in every process.
    """
    digest = blake2b(feature.encode(), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return number >> 1, 1 if number & 1 else -1
