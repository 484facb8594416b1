"""Merits: what promotion asks about insights beside themselves.

Every function takes the connection of a transaction it is part of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, literal_column, select

from cortex_actors.domain.insight import InsightStatus
from cortex_actors.rules import promotion
from cortex_actors.rules.promotion import Standing
from cortex_actors.storage import contradictions, derivations, reviews
from cortex_actors.storage.merging import followers
from cortex_actors.storage.schema import insights
from cortex_actors.storage.sources import private_ids
from cortex_actors.storage.tables.columns import chunks
from cortex_actors.storage.voices import voices
from cortex_actors.text.suspicion import wary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cortex_actors.domain.project import Decision


def standing(connection: Connection, ids: Iterable[str]) -> dict[str, Standing]:
    """Return what promotion asks about insights beside themselves.

    What speaks against a text that counts for an insight speaks against the insight, as long as
    the other side is said.
    """
    wanted = list(dict.fromkeys(ids))
    open_ones = _contradicted(connection, wanted)
    stands_for = followers(connection, wanted)
    against = contradictions.of(connection, [*wanted, *stands_for])
    derived = derivations.derived(connection, wanted)
    counts = dict.fromkeys(wanted, 0)
    for side, some in against.items():
        counts[stands_for.get(side, side)] += sum(each.against(side) for each in some)
    spoken_by, said = voices(connection, wanted), _decisions(connection, wanted, stands_for)
    why = {each: wary(text) for each, text in _texts(connection, wanted).items()}
    private = private_ids(connection, wanted)
    return {
        each: Standing(
            open_contradictions=counts[each] if each in open_ones else 0,
            derivations=int(each in derived),
            voices=len(spoken_by.get(each, ())),
            decision=promotion.decided(*said[each], is_wary=why.get(each) is not None),
            wary=why.get(each),
            is_private=each in private,
        )
        for each in wanted
    }


def _decisions(
    connection: Connection, ids: Iterable[str], stands_for: Mapping[str, str]
) -> dict[str, tuple[Decision | None, list[Decision]]]:
    """Return what persons said of insights, and of the texts that count for each."""
    said = reviews.of(connection, [*ids, *stands_for])
    found: dict[str, tuple[Decision | None, list[Decision]]] = {
        each: (said[each].decision if each in said else None, []) for each in ids
    }
    for text, lead in stands_for.items():
        if text in said:
            found[lead][1].append(said[text].decision)
    return found


def _texts(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return what insights say."""
    query = select(insights.c.id, insights.c.content)
    return {
        row.id: row.content
        for some in chunks(ids)
        for row in connection.execute(query.where(insights.c.id.in_(some)))
    }


def _contradicted(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return those of the insights that something speaks against now."""
    # The plus has SQLite look them up instead of walking all that are contradicted.
    status = literal_column("+insights.status", insights.c.status.type)
    query = select(insights.c.id).where(status == InsightStatus.CONTRADICTED)
    return {
        each
        for some in chunks(ids)
        for each in connection.execute(query.where(insights.c.id.in_(some))).scalars()
    }
