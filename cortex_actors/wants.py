"""What a client asks for in words, as the values they mean; what means nothing is refused."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from cortex_actors.domain.insight import ALL, LIVE, SHOWN, InsightStatus
from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Collection

E = TypeVar("E", bound=StrEnum)

#: SQLite's largest number.
_MOST = 2**63 - 1


def chosen(kind: type[E], value: str | None, *, what: str) -> E | None:
    """Return the member of that name, None for None; raises `BadInput` naming those there are."""
    if value is None:
        return None
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(each.value for each in kind)
        message = f"there is no {what} {value!r}; there are {known}"
        raise BadInput(message) from None


def statuses(value: str) -> frozenset[InsightStatus]:
    """Return the statuses of insights that a word means; raises `BadInput`."""
    return among(InsightStatus, value, shown=LIVE)


def among(kind: type[E], value: str, *, shown: Collection[E]) -> frozenset[E]:
    """Return the statuses that a word means: all, those that are shown, or the one called so.

    Raises `BadInput`.
    """
    if value == ALL:
        return frozenset(kind)
    if value == SHOWN:
        return frozenset(shown)
    try:
        return frozenset([kind(value)])
    except ValueError:
        known = ", ".join([SHOWN, ALL, *kind])
        message = f"there is no status {value!r}; there are {known}"
        raise BadInput(message) from None


def share(value: float | None, *, what: str) -> float | None:
    """Return a number from 0 to 1, None for None; raises `BadInput`."""
    # Asked by its very class: a client may send anything, and true would pass for 1.
    if value is None or (type(value) in {int, float} and 0 <= value <= 1):
        return value
    message = f"{what} must be a number from 0 to 1, not {value!r}"
    raise BadInput(message)


def page(limit: int, skip: int, *, of: str) -> None:
    """Raise `BadInput` for a page that cannot be."""
    if not 1 <= limit <= _MOST:
        message = f"cannot list {limit} {of}; ask for 1 or more"
        raise BadInput(message)
    if not 0 <= skip <= _MOST:
        message = f"cannot skip {skip} {of}; skip 0 or more"
        raise BadInput(message)
