"""What became of each text of a request: a vector, or why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cortex_actors.embedding.provider import Row
from cortex_actors.errors import BadInput, CortexError, Unembeddable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.embedding.provider import Vectors

#: A vector, or why there is none.
Outcome: TypeAlias = Row | CortexError


def rows_of(texts: Sequence[str], outcomes: Sequence[Outcome]) -> Vectors:
    """Return one row a text of a request that has at least one.

    Raises, in an exception of this caller's own, what kept it from being answered in full: first
    an error that is no text's fault, because then asking again may help; else `Unembeddable` with
    the numbers of the texts that were refused.
    """
    errors = {i: each for i, each in enumerate(outcomes) if isinstance(each, CortexError)}
    for error in errors.values():
        if not isinstance(error, BadInput):
            raise type(error)(*error.args) from error
    if errors:
        raise _unembeddable(texts, errors)
    return np.stack([each for each in outcomes if not isinstance(each, CortexError)])


def _unembeddable(texts: Sequence[str], errors: dict[int, CortexError]) -> Unembeddable:
    """Return the error that names the refused texts."""
    first, why = next(iter(errors.items()))
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    error = Unembeddable(
        f"text {first + 1} of {len(texts)} ({len(texts[first])} characters){more} cannot be "
        f"embedded; leave it out or change it. The embedder said: {why}",
        tuple(errors),
    )
    error.__cause__ = why
    return error
