"""Vectors as the ledger stores them: float32 as bytes, and whether they still are what was stored.

SQLite keeps no checksums. A vector is of length 1 when it is stored, so bytes that were changed on
a disk show: there are too many or too few, they are no numbers, or the length is another.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Rows of unit vectors, one for each text.
Matrix = NDArray[np.float32]

#: Bytes of one number.
FLOAT = 4

#: How far a vector's length may be from 1: a hundred times what half-precision models leave, and
#: less than what a changed exponent makes of it.
_SLACK = 0.1


def stored(vector: Matrix) -> bytes:
    """Return a vector as bytes."""
    return vector.astype(np.float32).tobytes()


def usual_length(blobs: Iterable[bytes | None]) -> int:
    """Return the bytes that most vectors have: one that has others is damaged."""
    lengths = Counter(len(blob) for blob in blobs if blob and len(blob) % FLOAT == 0)
    return lengths.most_common(1)[0][0] if lengths else 0


def rows(blobs: Sequence[bytes], length: int) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return vectors of so many bytes as rows, and which of them are sound.

    A row whose bytes are too many or too few is zero.
    """
    whole = [blob if len(blob) == length else bytes(length) for blob in blobs]
    found = np.frombuffer(b"".join(whole), np.float32).reshape(len(blobs), length // FLOAT)
    with np.errstate(over="ignore", invalid="ignore"):  # whatever lies there
        lengths = np.sqrt(np.einsum("ij,ij->i", found, found))
        sound = np.abs(lengths - 1) <= _SLACK
    return found, sound


def is_sound(blob: bytes, length: int) -> bool:
    """Tell whether one vector is as it was stored; `length` is how many bytes it must have."""
    return bool(length) and len(blob) == length and bool(rows([blob], length)[1][0])
