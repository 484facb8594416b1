"""Which pieces are computed together: pure, by their length and a budget of tokens.

A batch is as wide as its longest piece, and the rest of every row is padding that costs as much as
text: twenty sections in the order in which they come were 2.1 times the tokens they have. So pieces
are sorted by length before they are put together, and what is put together is limited by tokens and
not by pieces: small enough to stay in a core's cache, large enough to be worth a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def micro_batches(lengths: Sequence[int], *, budget: int, threads: int) -> list[list[int]]:
    """Return the numbers of the pieces in batches of at most `budget` tokens, padding included.

    A piece that is longer than that is alone. The longest come first, so that no thread begins with
    a long one when the others are done; and what fills only some rounds of the threads is cut into
    equal shares, so that none of them idles in the last.
    """
    share = _share(sum(lengths), budget, threads)
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    batches: list[list[int]] = []
    width = 0
    for number in order:
        if batches and (len(batches[-1]) + 1) * width <= share:
            batches[-1].append(number)
        else:
            batches.append([number])
            width = lengths[number]
    return batches


def padding(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> int:
    """Return the tokens of padding that the batches hold."""
    return sum(
        len(batch) * max(lengths[number] for number in batch)
        - sum(lengths[number] for number in batch)
        for batch in batches
    )


def _share(tokens: int, budget: int, threads: int) -> int:
    """Return the tokens of a batch with which every thread gets as many batches."""
    rounds = -(-tokens // (budget * threads))
    return min(budget, -(-tokens // max(1, rounds * threads)))
