"""How near a compiled model is to its float model: the texts, the three measures, and the gates.

A compiled model is judged by what search does with it: a text's own vector (cosine), the order of
similarities (Spearman), and who is among the ten nearest (overlap). Measured for all-MiniLM-L6-v2,
int8 per channel passes each and int8 per tensor none (docs/models.md has the figures).
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.embedding.manifest import TEXTS, Gates, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cortex_actors.embedding.provider import Vectors

#: What an int8 form must reach; below any of them the float form is kept.
LEAST = Gates(mean_cosine=0.99, spearman=0.99, overlap=0.88)

#: What the float form must reach: its numbers are the model's, so one of the three says it all.
EXACT = Gates(mean_cosine=0.9999, spearman=0.0, overlap=0.0)

#: What a finished model must reach.
LEAST_OF = {Kind.INT8: LEAST, Kind.FP32: EXACT}

#: What the float ONNX form must reach for its worst text: it computes the same in another order.
SAME = 0.9999

#: How many nearest texts are compared: as many as a long answer of `recall` shows.
NEAREST = 10


def texts() -> list[str]:
    """Return the calibration texts: statements, sections, questions, code, several languages.

    They are our own and part of the package, so that a model is judged the same everywhere.
    """
    lines = files(__package__).joinpath(TEXTS).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def measure(float_rows: Vectors, compiled_rows: Vectors) -> Gates:
    """Return how near the unit rows of the same texts are; more than `NEAREST` + 1 are needed."""
    ours, theirs = compiled_rows @ compiled_rows.T, float_rows @ float_rows.T
    pairs = np.triu_indices(len(float_rows), k=1)
    return Gates(
        mean_cosine=float(np.mean(cosines(float_rows, compiled_rows))),
        spearman=spearman(theirs[pairs], ours[pairs]),
        overlap=overlap(theirs, ours),
    )


def missed(gates: Gates, least: Gates = LEAST) -> str:
    """Return the gates that were not reached, in words; empty when all were."""
    rows = (
        ("mean cosine", gates.mean_cosine, least.mean_cosine),
        ("Spearman", gates.spearman, least.spearman),
        ("top-10 overlap", gates.overlap, least.overlap),
    )
    # Not `found < wanted`: what is no number reaches nothing.
    return ", ".join(
        f"{name} {found:.4f} < {wanted}" for name, found, wanted in rows if not found >= wanted
    )


def cosines(one: Vectors, other: Vectors) -> NDArray[np.float64]:
    """Return the cosine of each row of one with the same row of the other, both of unit length."""
    products: NDArray[np.float64] = np.einsum("ij,ij->i", one, other, dtype=np.float64)
    return products


def spearman(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """Return Spearman's rank correlation; equal values share the mean of their ranks."""
    return float(np.corrcoef(_ranks(one), _ranks(other))[0, 1])


def overlap(
    one: NDArray[np.floating], other: NDArray[np.floating], nearest: int = NEAREST
) -> float:
    """Return the share of each text's nearest others that two matrices of similarity agree on."""
    pairs = zip(_nearest(one, nearest), _nearest(other, nearest), strict=True)
    shared: Sequence[int] = [len(np.intersect1d(a, b)) for a, b in pairs]
    return float(np.mean(shared)) / nearest


def _nearest(similarity: NDArray[np.floating], count: int) -> NDArray[np.intp]:
    """Return the columns of each row's highest values, itself left out; ties by position."""
    others = similarity.astype(np.float64)
    np.fill_diagonal(others, -np.inf)
    return np.argsort(-others, axis=1, kind="stable")[:, :count]


def _ranks(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the rank of each value from 1 on."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(count) - (count - 1) / 2)[place]
    return ranks
