"""How alike two vectors are, and from where on that means something."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

Vector: TypeAlias = "Sequence[float] | npt.NDArray[np.float32]"

#: Cosine at which a new text is taken for one already known, if the two do not contradict.
MERGE = 0.92

#: Cosine at which two known texts are neighbours, and within a cluster duplicates.
CLUSTER = 0.88

#: Cosines, ends included, between which two texts may be about one thing and disagree.
SUSPECT = (0.5, 0.85)


def cosine(left: Vector, right: Vector) -> float:
    """Return the cosine of two vectors, -1 to 1; 0 if either has no direction.

    Raises `ValueError` for vectors of different length, which come from different models, and for
    components that are not finite: both would give a number that means nothing.
    """
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"cannot compare vectors of shapes {a.shape} and {b.shape}")
    lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if not all(map(math.isfinite, lengths)):
        raise ValueError("cannot compare vectors with components that are not finite")
    if 0.0 in lengths:
        return 0.0
    # Divided one after the other: the product of two tiny lengths would be zero.
    raw = float(np.dot(a / lengths[0], b / lengths[1]))
    return min(max(raw, -1.0), 1.0)


def same(score: float, *, threshold: float = MERGE) -> bool:
    """Whether two texts are alike enough to be one."""
    return score >= threshold


def suspect(score: float, *, band: tuple[float, float] = SUSPECT) -> bool:
    """Whether two texts are alike enough to contradict each other, and not so alike as to agree."""
    return band[0] <= score <= band[1]
