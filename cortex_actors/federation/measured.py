"""A remote store's hit, from what it measured. Pure.

What a store calls a distance or a score is a number of its own space. It is kept for people to
look at, and compared with nothing but the same store's other numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.hit import REMOTE, Hit
from cortex_actors.federation.reading import id_of, number
from cortex_actors.rules.fusion import base_relevance

if TYPE_CHECKING:
    from collections.abc import Mapping


def nearest(
    store: str,
    id_: object,
    words: str,
    *,
    distance: object,
    is_cosine: bool,
    metadata: Mapping[str, object],
) -> Hit | None:
    """Return a row of a store of vectors as a hit; None for one without an id or a text.

    Of a cosine distance the cosine is the store's own score.
    """
    far = number(distance)
    if not words or not id_of(id_):
        return None
    score = 1.0 - far if is_cosine and far is not None else None
    return measured(store, id_of(id_), text=words, distance=far, score=score, metadata=metadata)


def measured(
    store: str,
    id_: str,
    *,
    text: str,
    distance: float | None = None,
    score: float | None = None,
    sure: float | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Hit:
    """Return a hit as another program gave it; a number that is none is left out.

    `sure` is its base relevance, 0 to 1, where something else than the distance decides it.
    """
    distance = number(distance)
    relevance = base_relevance(distance) if sure is None else min(max(sure, 0.0), 1.0)
    return Hit(
        id_,
        text,
        relevance,
        store,
        extra={"metadata": dict(metadata or {})},
        base_relevance=relevance,
        raw_distance=distance,
        native_score=number(score),
        trust=REMOTE,
    )
