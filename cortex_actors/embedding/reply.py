"""The vectors in an endpoint's answer, read with suspicion. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex_actors.endpoint.replies import document_of, said, tokens_of
from cortex_actors.errors import EndpointDown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.embedding.provider import Vectors
    from cortex_actors.endpoint.address import Endpoint
    from cortex_actors.endpoint.replies import Answer


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a request brought: one row a text, not yet judged, and the tokens the server counted."""

    rows: Vectors
    tokens: int


def rows_of(answer: Answer, *, texts: int, endpoint: Endpoint) -> Embedded:
    """Return the vectors of a good answer in the order of the texts.

    Raises `EndpointDown` for what is no list of vectors with the numbers 0 to `texts` - 1, each of
    them once: then no row can be believed. Numbers that are not finite are left for the port's own
    check, because they are one text's and not the answer's.
    """
    where = f"{endpoint.named} answered {texts} texts"
    document = document_of(answer, endpoint, where=where)
    if "data" not in document and "error" in document:
        raise EndpointDown(f"{where} with an error{said(answer.body, endpoint.key)}")
    found = document.get("data")
    if not isinstance(found, list) or len(found) != texts:
        count = f"{len(found)} vectors" if isinstance(found, list) else "no list of vectors"
        raise EndpointDown(f"{where} with {count}; nothing of it is used")
    by_number = {_number(each): each["embedding"] for each in found if _is_item(each)}
    if set(by_number) != set(range(texts)):
        raise EndpointDown(
            f"{where} without saying which vector is whose: it must number them from 0 to "
            f"{texts - 1}, each once; nothing of it is used"
        )
    rows = _matrix([by_number[number] for number in range(texts)], where)
    return Embedded(rows, tokens_of(document))


def _is_item(item: object) -> bool:
    """Return whether an item is numbered and has a list of numbers."""
    return isinstance(item, dict) and isinstance(item.get("embedding"), list)


def _number(item: Mapping[str, Any]) -> object:
    """Return an item's number; None for what is none (True is an int in Python)."""
    number = item.get("index")
    return number if type(number) is int else None


def _matrix(rows: list[list[Any]], where: str) -> Vectors:
    """Return the rows as float32; what is too large for that becomes infinity."""
    try:
        with np.errstate(over="ignore"):
            matrix = np.array(rows, dtype=np.float64).astype(np.float32)
    except (ValueError, TypeError, OverflowError):
        matrix = np.empty(0, dtype=np.float32)
    if matrix.ndim != 2 or not matrix.size:  # noqa: PLR2004 - a matrix
        raise EndpointDown(
            f"{where} with rows that are not lists of equally many numbers; nothing of it is used"
        )
    return matrix
