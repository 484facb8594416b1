"""A second opinion on statements whose category no keyword tells, by the examples nearest to them.

The examples are embedded once in a life and model. While nobody can embed them there is no opinion,
and the statements stay facts until they are compared again.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Protocol

from cortex_actors.errors import CortexError
from cortex_actors.rules import classification
from cortex_actors.storage import insights
from cortex_actors.storage.insights import Opinion
from cortex_actors.storage.tables.columns import chunks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Sequence

    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.storage.ledger.actor import Connection, Records

log = logging.getLogger("cortex.opinion")


class Embed(Protocol):
    """Embeds texts with the model that is named."""

    def __call__(self, texts: Sequence[str], *, model: str) -> Awaitable[Matrix]:
        """Return a unit row for each text; raises `CortexError`s."""


class SecondOpinion:
    """Compares statements with the examples of each category."""

    def __init__(self, records: Records, embed: Embed, *, model: str) -> None:
        """Remember whom to ask; nothing is embedded before it is needed."""
        self._records = records
        self._embed = embed
        self._model = model
        self._examples: Matrix | None = None

    async def of(self, ids: Collection[str]) -> list[Opinion]:
        """Return the opinions on those of the insights on which there are any."""
        opinions: list[Opinion] = []
        for some in chunks(sorted(ids)):
            look = partial(self._look, ids=some)
            found = await self._records.read(look)
            if found is None:
                try:
                    self._examples = await self._embed(classification.texts(), model=self._model)
                except CortexError as error:
                    log.debug("no second opinion now: %s", error)
                    return []
                found = await self._records.read(look)
            opinions += found or ()
        return opinions

    def _look(self, connection: Connection, ids: Collection[str]) -> list[Opinion] | None:
        """Return the opinions on some; None where there would be some if the examples were there.

        In a read transaction, on its thread: each takes a tenth of a millisecond.
        """
        rows = insights.silent(connection, self._model, ids)
        examples = self._examples
        if rows and examples is None:
            return None
        return [
            Opinion(name, found.category, found.cosine)
            for name, row in sorted(rows.items())
            if examples is not None and (found := classification.telling(row, examples)) is not None
        ]
