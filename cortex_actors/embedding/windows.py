"""A text longer than a model reads, cut into windows that fit, and its vectors made one again.

Nothing is left out: the windows of a text follow one another without a gap, and every token of the
text is in exactly one of them. A window ends where a line, a sentence or at least a word ends, as
long as that costs no more than a quarter of it. Pure: the caller counts the tokens.

Windows do not overlap. Overlap was rejected: it makes the tokens of the seams count twice, and
costs as much more time as it repeats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.embedding.provider import unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cortex_actors.embedding.provider import Vectors

#: Part of a window (one in so many) that may be given up for a better place to end.
SLACK = 4

#: What a sentence ends with; those of the second kind (Chinese and Japanese) need no space behind.
_ENDS, _WIDE_ENDS = frozenset(".!?:;…"), frozenset("\u3002\uff01\uff1f\uff1b")

#: How good a place to end is: inside a word, between words, after a sentence, after a line.
_INSIDE, _WORD, _SENTENCE, _LINE = range(4)


@dataclass(frozen=True, slots=True)
class Window:
    """Letters `start` to `end` of a text, and how many of its tokens lie there."""

    start: int
    end: int
    tokens: int


def windows(text: str, offsets: Sequence[tuple[int, int]], room: int) -> list[Window]:
    """Cut a text into windows of at most `room` tokens; at least one, together the whole text.

    `offsets` are the letters of each token, in order, without the special tokens. Tokens that share
    a letter (a byte-level tokeniser cuts `é` in two) stay together.
    """
    found: list[Window] = []
    first = 0
    while len(offsets) - first > room:
        last = _end(text, offsets, first, room)
        found.append(Window(_start(found), offsets[last][0], last - first))
        first = last
    found.append(Window(_start(found), len(text), len(offsets) - first))
    return found


def split_text(text: str, limit: int, count: Callable[[str], int]) -> list[str]:
    """Cut a text into pieces for which `count` says at most `limit`; together they are the text.

    For a tokeniser that tells no offsets, or is only estimated. A piece of a single letter is left
    as it is, whatever it counts.
    """
    pieces: list[str] = []
    begin = 0
    while (length := _fitting(text, begin, limit, count)) < len(text) - begin:
        ends = range(begin + length, begin + max(0, length - length // SLACK - 1), -1)
        end = max(ends, key=lambda place: _rank(text, place))  # the last one of the best
        pieces.append(text[begin:end])
        begin = end
    return [*pieces, text[begin:]]


def pooled(
    rows: NDArray[np.floating], owners: Sequence[int], weights: Sequence[int], *, texts: int
) -> Vectors:
    """Return a vector for each text: the mean of its windows' vectors by their tokens.

    `owners` names each row's text. Rows are scaled to length 1 before, because some models only
    give such rows and all are to be pooled alike; the result is scaled again. The row of a text
    with a single window is that row scaled, to the bit, whatever stands beside it.
    """
    scaled = unit(rows)
    owner = np.asarray(owners, dtype=np.intp)
    out = np.zeros((texts, scaled.shape[1]), dtype=np.float32)
    out[owner] = scaled
    counts = np.bincount(owner, minlength=texts)
    for text in np.flatnonzero(counts > 1):
        mine = np.flatnonzero(owner == text)
        weight = np.maximum(1, np.asarray(weights)[mine]).astype(np.float64)
        mean = (scaled[mine] * weight[:, None]).sum(axis=0, keepdims=True) / weight.sum()
        out[text] = unit(mean)[0]
    return out


def _fitting(text: str, begin: int, limit: int, count: Callable[[str], int]) -> int:
    """Return how many letters from `begin` on fit, at least one unless none are left."""
    left = len(text) - begin
    low, high = min(1, left), min(left, max(1, limit))
    while high < left and count(text[begin : begin + high]) <= limit:
        low, high = high, min(left, high * 2)
    if count(text[begin : begin + high]) <= limit:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        fits = count(text[begin : begin + middle]) <= limit
        low, high = (middle, high) if fits else (low, middle)
    return low


def _start(found: Sequence[Window]) -> int:
    return found[-1].end if found else 0


def _end(text: str, offsets: Sequence[tuple[int, int]], first: int, room: int) -> int:
    """Return the number of the token before which the window from `first` on ends."""
    last = first + room
    begin = max(first + 1, last - room // SLACK)
    best, rank = 0, -1
    for token in range(last, first, -1):
        if offsets[token][0] < offsets[token - 1][1]:
            continue  # two tokens of one letter
        here = _rank(text, offsets[token][0])
        if here > rank:
            best, rank = token, here
        if rank == _LINE or (token <= begin and best):
            break
    return best or last


def _rank(text: str, place: int) -> int:
    """Return how good a place it is for a window to end."""
    if place >= len(text):
        return _LINE
    left = place
    while left and text[left - 1].isspace():
        left -= 1
    right = place
    while right < len(text) and text[right].isspace():
        right += 1
    gap, before = text[left:right], text[left - 1 : left]
    if "\n" in gap or "\r" in gap:
        return _LINE
    if before in _WIDE_ENDS or (gap and before in _ENDS):
        return _SENTENCE
    return _WORD if gap else _INSIDE
