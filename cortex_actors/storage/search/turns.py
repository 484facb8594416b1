"""Turns of conversations in an answer: what is around them is read, and they change places.

The best turns that the lists found, and the turn before and after each, are ranked again by
`rules/ranking/rerank.py`. They share the places that the turns had among other things, so what is
no turn stays where it was. Whatever is read of a thread beside a turn may be read by all who may
read that turn (as the text that it is paired with), and what is found has to meet every condition.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from cortex_actors.rules.ranking.fusion import TURNS, Fused
from cortex_actors.rules.ranking.rerank import AROUND, Pieces, Turn, TurnPlace, score
from cortex_actors.storage import memory_records
from cortex_actors.storage.search.query import ListedItem, Lists

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    #: Turns before and after one, the nearest first.
    Around: TypeAlias = tuple[Sequence[str], Sequence[str]]

#: Turns that are ranked again, and how many on either side of each join them. Of half as many
#: recall at 10 is .006 less, without those beside them .008.
DEPTH, BESIDE = 100, 1

#: Turns that are read: in a conversation those around the best are 300. Where each of the best is
#: in another one they would be 900; the best are served first. With 400 LoCoMo's figures are the
#: same to .001, and a question of 100 conversations takes a quarter longer.
READ: Final = 300
#: Of the best those around which is looked at once: as many as need all of these where each is in
#: another conversation.
_LOOKED: Final = READ // (2 * (AROUND + BESIDE))


def rerank_turns(
    connection: Connection,
    fused: list[Fused],
    *,
    lists: Lists,
    question: str,
    pieces: Pieces,
    allowed: NDArray[np.int64] | None,
    compare: Callable[[NDArray[np.int64]], Mapping[int, float]],
) -> list[Fused]:
    """Return the fused list with its turns in another order, and with turns beside them.

    `allowed` are the numbers of the passages that may be found, None for all; `compare` returns
    the cosines of some of them, of those that have any. `lists` gets one list more.
    """
    items, realms = lists.items, set(memory_records.COLLECTIONS.values())
    around = _around(connection, [e.id for e in fused if items[e.id] in realms][:DEPTH])
    pairs = memory_records.list_pairs(connection, around)
    numbers = np.array([number for _, number, _ in pairs], np.int64)
    kept = np.ones(len(pairs), np.bool_) if allowed is None else np.isin(numbers, allowed)
    known = {each: name for (each, _, name), good in zip(pairs, kept, strict=True) if good}
    if known.keys().isdisjoint(each.id for each in fused):
        return fused
    found = compare(numbers[kept])
    cosines = {each: found[number] for each, number, _ in pairs if number in found}
    some = {each: around[each] for each in known}
    worth = _scored(connection, question, some=some, cosines=cosines, pieces=pieces)
    order = sorted(worth, key=lambda each: (-worth[each], each))
    lists.said[TURNS] = [ListedItem(known[each], each, worth[each]) for each in order]
    return _placed(fused, order)


def _scored(
    connection: Connection,
    question: str,
    *,
    some: Mapping[str, Around],
    cosines: Mapping[str, float],
    pieces: Pieces,
) -> dict[str, float]:
    """Return what each of those turns is worth, by id."""
    read = [one for at, (before, after) in some.items() for one in (at, *before, *after)]
    said = memory_records.load_spoken(connection, read)
    place = {each[0]: number for number, each in enumerate(said)}
    turns = [Turn(*each[1:]) for each in said]
    places = [
        TurnPlace(place[at], [place[e] for e in b], [place[e] for e in a], cosines.get(at, 0.0))
        for at, (b, a) in some.items()
    ]
    return dict(zip(some, score(question, turns, candidates=places, pieces=pieces), strict=True))


def _placed(fused: list[Fused], order: Sequence[str]) -> list[Fused]:
    """Return the list in which the places of turns have those turns, in that order.

    More turns than places: those that a list had found follow the last place, others are left out.
    """
    ranks = {each.id: each.ranks for each in fused}
    there = frozenset(order)
    places = [number for number, each in enumerate(fused) if each.id in there]
    found = [(number, 0, each) for number, each in enumerate(fused) if each.id not in there]
    spots = [*places, *places[-1:] * (len(order) - len(places))]
    for rank, (spot, each) in enumerate(zip(spots, order, strict=True), start=1):
        if rank <= len(places) or each in ranks:
            turn = Fused(each, fused[spot].score, {**ranks.get(each, {}), TURNS: rank})
            found.append((spot, rank, turn))
    return [each for *_, each in sorted(found, key=itemgetter(0, 1))]


def _around(connection: Connection, best: Sequence[str]) -> dict[str, Around]:
    """Return what is around those that are turns, and around the turns beside each of them.

    What is around a turn beside one is read off the latter's: its readers may read it all.
    """
    found: dict[str, Around] = {}
    read: set[str] = set()
    for start in range(0, len(best), _LOOKED):
        some = best[start : start + _LOOKED]
        near = memory_records.list_neighbours(connection, some, most=AROUND + BESIDE)
        for each in (one for one in some if one in near):
            before, after = near[each]
            row, middle = [*before[::-1], each, *after], len(before)
            read.update(row)
            if len(read) > READ and found:
                return found
            for at in range(max(middle - BESIDE, 0), min(middle + BESIDE + 1, len(row))):
                around = row[:at][::-1][:AROUND], row[at + 1 :][:AROUND]
                if at == middle or row[at] not in best:
                    found.setdefault(row[at], around)
    return found
