"""Where the boxes of a picture lie: near what they are linked with, and none above another.

Boxes repel each other and links pull (Fruchterman and Reingold 1991), from places that depend on
their order alone: one graph has one picture. Parts that nothing joins lie side by side. Takes the
time of all pairs of boxes, which are tens or few hundreds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.rules.clustering import components, pair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Places = NDArray[np.float64]

#: Room a box has around it at least, pixels: across, down. Arrows and what they mean take some.
GAP = (56.0, 44.0)

#: Steps of the search, fewer where there are so many boxes that each takes long, and how far a box
#: goes at most in the first one, in boxes.
_STEPS, _FEWEST, _WORK, _FAR = 300, 60, 18_000, 2.0

#: How far boxes want to be from each other, in boxes.
_WANTED = 1.15

#: Steps in which boxes that overlap are moved apart: each settles some.
_APART = 400

#: How much wider everything becomes at once while many boxes lie above each other.
_WIDER = 1.04

#: Pixels of two boxes above each other that are none: the last digits of a float.
_TOUCH = 1e-6

#: Turn between two boxes of the first spiral: the golden angle, by which none stand in a row.
_TURN = math.pi * (3 - math.sqrt(5))

#: Width of a picture to its height.
_SHAPE = 1.5


@dataclass(frozen=True, slots=True)
class Layout:
    """The middle of each box in pixels, and how large the whole is; nothing lies outside."""

    places: Mapping[str, tuple[float, float]]
    width: float
    height: float


def layout(
    ids: Sequence[str], edges: Mapping[tuple[str, str], float], *, size: tuple[float, float]
) -> Layout:
    """Return where boxes of one size lie; the weight of an edge, 0 to 1, is how hard it pulls."""
    order = {each: number for number, each in enumerate(ids)}
    known = {pair(*edge): weight for edge, weight in edges.items() if set(edge) <= order.keys()}
    parts = [sorted(part, key=order.__getitem__) for part in components(ids, [*known])]
    parts.sort(key=lambda part: (-len(part), order[part[0]]))
    cell = np.array(size) + np.array(GAP)
    laid = [_laid(part, known) * cell for part in parts]
    for places in laid:
        _part(places, cell)
    return _packed(parts, laid, cell)


def _laid(part: Sequence[str], edges: Mapping[tuple[str, str], float]) -> Places:
    """Return where the boxes of one part lie, in boxes."""
    count = len(part)
    numbers = np.arange(count, dtype=np.float64)
    radius, angle = np.sqrt(numbers) * _WANTED, numbers * _TURN
    places = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    at = {each: number for number, each in enumerate(part)}
    pulls = np.zeros((count, count))
    for (one, other), weight in edges.items():
        if one in at:
            pulls[at[one], at[other]] = pulls[at[other], at[one]] = 0.5 + weight
    steps = min(_STEPS, max(_FEWEST, _WORK // count)) if count > 1 else 0
    for step in range(steps):
        _move(places, pulls, most=_FAR * (1 - step / steps))
    return _lying(places)


def _lying(places: Places) -> Places:
    """Return a part turned so that it is wider than high, as a picture is; two lie side by side."""
    middle = places - places.mean(axis=0)
    across, down = (middle**2).sum(axis=0)
    angle = math.atan2(2 * float((middle[:, 0] * middle[:, 1]).sum()), float(across - down)) / 2
    turned = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    lying: Places = np.round(middle @ turned, 6)
    return lying


def _move(places: Places, pulls: Places, *, most: float) -> None:
    """Let every box go where it is pushed and pulled, at most so far."""
    away = places[:, np.newaxis] - places[np.newaxis]
    far = np.maximum(np.sqrt((away**2).sum(axis=2)), 1e-6)
    force = _WANTED**2 / far - pulls * far**2 / _WANTED
    np.fill_diagonal(force, 0.0)
    move = (away * (force / far)[:, :, np.newaxis]).sum(axis=1)
    length = np.maximum(np.sqrt((move**2).sum(axis=1)), 1e-9)
    places += move * (np.minimum(length, most) / length)[:, np.newaxis]


def _part(places: Places, cell: NDArray[np.float64]) -> None:
    """Move boxes apart that lie above each other: all of them, and then the last ones by pairs."""
    for _ in range(_APART):
        pairs = _above(places, cell)
        if not len(pairs):
            return
        if len(pairs) > len(places) / 2:
            places *= _WIDER
            continue
        for one, other in pairs:
            _push(places, one, other, cell=cell)


def _above(places: Places, cell: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the pairs of boxes that lie above each other, in order."""
    over = cell - np.abs(places[:, np.newaxis] - places[np.newaxis])
    return np.argwhere(np.triu((over > _TOUCH).all(axis=2), 1))


def _push(places: Places, one: int, other: int, *, cell: NDArray[np.float64]) -> None:
    """Move two boxes apart the shorter way, if they still lie above each other."""
    away = places[other] - places[one]
    left = cell - np.abs(away)
    if (left <= _TOUCH).any():
        return
    axis = int(np.argmin(left / cell))
    step = left[axis] / 2 * (1.0 if away[axis] >= 0 else -1.0)
    places[one, axis] -= step
    places[other, axis] += step


def _packed(
    parts: Sequence[Sequence[str]], laid: Sequence[Places], cell: NDArray[np.float64]
) -> Layout:
    """Return all parts side by side, in rows, the largest first."""
    sizes = [places.max(axis=0) - places.min(axis=0) + cell for places in laid]
    area = sum(float(size[0] * size[1]) for size in sizes)
    most = max([math.sqrt(area * _SHAPE), *(float(size[0]) for size in sizes)], default=0.0)
    found: dict[str, tuple[float, float]] = {}
    left = top = row = right = 0.0
    for part, places, size in zip(parts, laid, sizes, strict=True):
        if left and left + size[0] > most:
            left, top, row = 0.0, top + row, 0.0
        shift = np.array([left, top]) + cell / 2 - places.min(axis=0)
        for each, (across, down) in zip(part, places + shift, strict=True):
            found[each] = (round(float(across), 1), round(float(down), 1))
        left, row = left + float(size[0]), max(row, float(size[1]))
        right = max(right, left)
    return Layout(found, round(right, 1), round(top + row, 1))
