"""Tagged: memories that are filed under some words, whatever they say.

The other way into what is known: something that shares a topic with a question is found here
though its words and its meaning lie far from it. The best is what has most of the words, and of
those the newest.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, Select, bindparam, func, literal_column, select

from cortex_actors.domain.memory import MemoryStatus
from cortex_actors.storage.memory_records import readable, shared
from cortex_actors.storage.schema import memories, memory_tags
from cortex_actors.storage.search.query import EVERYTHING, Query, Where
from cortex_actors.storage.search.remembered import remembered
from cortex_actors.storage.search.scope import memory_conditions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from cortex_actors.domain.hit import Hit

#: Memories that are compared, of all words together: reading one takes 2 to 6 us.
COMPARED: Final = 5_000


@dataclass(frozen=True, slots=True)
class Tagged:
    """One memory that has some of the words.

    Attributes:
        hit: the memory, with a score of 0: it was compared with nothing.
        matched: those of the words that it has, in the order in which they were given.

    """

    hit: Hit
    matched: tuple[str, ...]


def tagged(
    connection: Connection,
    words: Sequence[str],
    *,
    limit: int,
    where: Where = EVERYTHING,
    exclude: Collection[str] = (),
    now: int = 0,
) -> list[Tagged]:
    """Return active memories that have any of those tags, most of them first, then the newest.

    Words are compared in their one form (`plain`); `exclude` are ids that are known already. Of a
    word that very many have, its share of `COMPARED` counts: those that came last.
    """
    asked = plain(words)
    if not asked or limit < 1:
        return []
    newest = _newest(where, now)
    given = {"exclude": json.dumps(sorted(exclude)), "most": max(limit, COMPARED // len(asked))}
    has: dict[str, set[str]] = defaultdict(set)
    made: dict[str, int] = {}
    for word in asked:
        for row in connection.execute(newest, {**given, "word": word}):
            has[row.id].add(word)
            made[row.id] = row.created_at
    best = sorted(made, key=lambda each: (-len(has[each]), -made[each], each))[:limit]
    told = Query("", None, "", limit, where=where, now=now)
    hits = remembered(connection, best, dict.fromkeys(best, 0.0), told)
    return [
        Tagged(replace(hit, base_relevance=0.0), tuple(w for w in asked if w in has[hit.id]))
        for hit in hits
    ]


def rare(
    connection: Connection, words: Sequence[str], *, most: int, where: Where = EVERYTHING
) -> list[str]:
    """Return those words, in their one form, under which at most so many memories are filed.

    Those that whoever asks may read count: how many others file under a word it does not learn.
    """
    rights = [readable(where.reader), *([shared()] if where.outward else [])]
    some = (
        select(memory_tags.c.memory_id)
        .join(memories, memories.c.id == memory_tags.c.memory_id)
        .where(memory_tags.c.tag == bindparam("word"), *rights)
        .limit(most + 1)
    )
    query = select(func.count()).select_from(some.subquery())
    asked = plain(words)
    return [
        each for each in asked if connection.execute(query, {"word": each}).scalar_one() <= most
    ]


def plain(words: Iterable[str]) -> list[str]:
    """Return words as tags are kept: small letters, single blanks, each once, none empty."""
    found = (" ".join(each.lower().split()) for each in words)
    return list(dict.fromkeys(each for each in found if each))


def _newest(where: Where, now: int) -> Select[tuple[str, int]]:
    """Return the query for the memories of one word that came last.

    The plus has SQLite walk those of the word from the newest on, and end with the last it needs.
    """
    rows, tags = memories.c, memory_tags.c
    status = literal_column("+memories.status", rows.status.type)
    return (
        select(rows.id, rows.created_at)
        .select_from(memory_tags.join(memories, rows.id == tags.memory_id))
        .where(tags.tag == bindparam("word"), status == MemoryStatus.ACTIVE)
        .where(rows.id.not_in(_each("exclude")), *memory_conditions(where, now))
        .order_by(tags.memory_id.desc())
        .limit(bindparam("most"))
    )


def _each(name: str) -> Select[tuple[str]]:
    """Return the query for the values of a JSON list that is bound under a name."""
    values = func.json_each(bindparam(name)).table_valued("value")
    found: Select[tuple[str]] = select(values.c.value)
    return found
