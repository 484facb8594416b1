"""Hops: asking again with what the first hits say, for what lies one step behind the question.

"Who looks after the queue?" finds a note that the queue is Atlas's, and only the note about Atlas
says who that is. The question goes out once more with the beginning of the best hits behind it;
what is new then stands beside the answer, with the words that led to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.hit import REMOTE
from cortex_actors.federation.outward import is_public, sendable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.hit import Hit
    from cortex_actors.rules.fusion import Placed

#: What such a hit says of where it comes from.
SOURCE = "hop"

#: Characters of each hit that the question goes out with, and of those that an answer shows.
PIECE, TOLD = 200, 120


@dataclass(frozen=True, slots=True)
class Bridge:
    """What the next question says beside the first one.

    Attributes:
        ours: of all hits it is made of, for what is known here.
        theirs: of those that other programs may hear of; empty when there are none.

    """

    ours: str
    theirs: str


def bridge(hits: Sequence[Hit], terms: int) -> Bridge:
    """Return what the beginnings of the first hits say, for here and for elsewhere.

    A hit whose text holds a secret is no part of what is sent: its beginning may end amidst the
    secret, which then has no key's shape any more.
    """
    some = hits[:terms]
    theirs = " ".join(filter(None, (_sendable(hit) for hit in some if is_public(hit))))
    return Bridge(" ".join(_piece(hit.text) for hit in some), theirs)


def fresh(placed: Iterable[Placed], known: set[tuple[str, str]], *, budget: int) -> list[Placed]:
    """Return at most `budget` hits that are not known yet, and know them from then on."""
    found: list[Placed] = []
    for one in placed:
        if len(found) >= budget:
            break
        if (one.store, one.hit.id) not in known:
            known.add((one.store, one.hit.id))
            found.append(one)
    return found


def marked(one: Placed, *, hop: int, by: Bridge) -> Hit:
    """Return a hit that says at which asking it was found, and what led to it.

    What led to another program's hit is what that program was asked.
    """
    led = by.theirs if one.hit.trust == REMOTE else by.ours
    extra = {**one.hit.extra, "source": SOURCE, "hop": hop, "hop_bridge": led[:TOLD]}
    if "source" in one.hit.extra:  # of a document: where it was read
        extra["document"] = one.hit.extra["source"]
    return replace(one.hit, score=0.0, store_rank=one.rank, extra=extra)


def _piece(text: str) -> str:
    """Return the beginning of a text, on one line."""
    return " ".join(text[:PIECE].split())


def _sendable(hit: Hit) -> str:
    """Return the beginning of a hit that may be sent; empty where its text holds a secret."""
    return _piece(hit.text) if sendable(hit.text) == (hit.text, "") else ""
