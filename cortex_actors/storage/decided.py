"""Pairs of insights that somebody has decided about: what thresholds can be calibrated by.

People decide about contradictions. What was merged, and never taken apart, counts as one claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import select

from cortex_actors.domain.insight import Claim, Granularity
from cortex_actors.rules.calibration import Decided, Label
from cortex_actors.storage.embedded import stored_vectors
from cortex_actors.storage.schema import contradictions, insights
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from sqlalchemy import Connection, Row

    from cortex_actors.storage.blobs import Matrix

#: What each decision about a contradiction says of the pair.
_LABELS = {"resolved": Label.CONTRADICTION, "dismissed": Label.HARMLESS}

#: Pairs of each sort that are taken, the newest: more do not change the figures, and cost seconds.
MOST = 1_000


def pairs(connection: Connection, model: str) -> list[Decided]:
    """Return the decided pairs of statements that have vectors of the model."""
    found = [*_conflicts(connection), *_merges(connection)]
    sides = {side for left, right, _ in found for side in (left, right)}
    texts = _statements(connection, sides)
    digests = list({row.text_hash for row in texts.values()})
    rows: dict[bytes, Matrix] = {}
    for some in chunks(digests):
        rows |= stored_vectors(connection, model, some)
    made = (
        _decided(texts.get(left), texts.get(right), label, rows) for left, right, label in found
    )
    return [each for each in made if each is not None]


def _conflicts(connection: Connection) -> list[tuple[str, str, Label]]:
    """Return the contradictions that people decided."""
    query = (
        select(contradictions.c.insight_a, contradictions.c.insight_b, contradictions.c.status)
        .where(contradictions.c.status.in_(tuple(_LABELS)))
        .order_by(contradictions.c.resolved_at.desc(), contradictions.c.id)
        .limit(MOST)
    )
    return [(left, right, _LABELS[status]) for left, right, status in connection.execute(query)]


def _merges(connection: Connection) -> list[tuple[str, str, Label]]:
    """Return the texts that count for another one, with that."""
    query = (
        select(insights.c.id, insights.c.superseded_by)
        .where(insights.c.superseded_by.is_not(None))
        .order_by(insights.c.last_seen_at.desc(), insights.c.id)
        .limit(MOST)
    )
    return [(left, right, Label.DUPLICATE) for left, right in connection.execute(query)]


def _statements(connection: Connection, ids: Iterable[str]) -> dict[str, Row[Any]]:
    """Return the statements among those insights."""
    query = select(insights).where(insights.c.granularity == Granularity.STATEMENT)
    return {
        row.id: row
        for some in chunks(sorted(ids))
        for row in connection.execute(query.where(insights.c.id.in_(some)))
    }


def _decided(
    left: Row[Any] | None, right: Row[Any] | None, label: Label, rows: Mapping[bytes, Matrix]
) -> Decided | None:
    """Return a pair with its cosine; None where a text or a vector is not there."""
    if left is None or right is None:
        return None
    one, other = rows.get(left.text_hash), rows.get(right.text_hash)
    if one is None or other is None:
        return None
    return Decided(
        left=Claim(left.content, left.heading),
        right=Claim(right.content, right.heading),
        cosine=float(np.dot(one, other)),
        label=label,
        domain=left.domain if left.domain == right.domain else None,
    )
