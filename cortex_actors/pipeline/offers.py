"""Offers: the principles that files may be given now, and the name of all that a choice depends on.

A file is written anew only where that name differs from the one it was last written under, so that
nothing happens while nothing changes.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from cortex_actors.pipeline.choosing import Offer
from cortex_actors.storage import principles, reviews

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from cortex_actors.domain.principle import Principle
    from cortex_actors.storage.ledger.actor import Connection

#: Which form of choosing and of writing this is: raised when the same inputs give another section.
FORM = 2


def offer(connection: Connection, model: str) -> Offer:
    """Return what files may be given; of two that contradict each other one alone.

    In a read transaction, on its thread: 5 ms for each hundred principles.
    """
    found, rows = principles.given(connection, model)
    waiting = {each.id for each in found} - reviews.approved(connection)
    wanted = _peaceful(found, principles.opposed(connection), waiting)
    kept = [number for number, each in enumerate(found) if each.id in wanted]
    some = [found[number] for number in kept]
    left = rows if len(kept) == len(found) else rows[kept]
    homes = reviews.homes(connection, waiting)
    unapproved = {each: homes.get(each, "") for each in waiting}
    return Offer(some, left, name_of(connection, model), unapproved)


def name_of(connection: Connection, model: str) -> str:
    """Return the name of what files may be given now: a sixth of the cost of reading that."""
    opposed = principles.opposed(connection)
    text = json.dumps([principles.name_of_given(connection, model), opposed])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def named(given: Offer, *parts: str) -> str:
    """Return the name of all that a choice is made of: an offer, and what else there is."""
    text = json.dumps([FORM, given.name, *parts])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _peaceful(
    found: Sequence[Principle], opposed: Iterable[tuple[str, str]], waiting: Collection[str]
) -> set[str]:
    """Return the ids of principles of which no two contradict each other.

    What a person approved comes first, so that nothing else takes its place; then the best ranked.
    """
    against: dict[str, set[str]] = {}
    for one, other in opposed:
        against.setdefault(one, set()).add(other)
        against.setdefault(other, set()).add(one)
    kept: set[str] = set()
    for each in sorted(found, key=lambda one: (one.id in waiting, -one.rank, one.id)):
        if kept.isdisjoint(against.get(each.id, ())):
            kept.add(each.id)
    return kept
