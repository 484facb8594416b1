"""Sharing: vectors of what several files of one project are compared with, each made once.

What a file says may contradict a principle in every other file of its project, so that all of them
ask for the vectors of the same statements, and most of them at the same time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.errors import BadInput
from cortex_actors.pipeline.vectors import UNEMBEDDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.pipeline.vectors import Embed
    from cortex_actors.storage.embeddings import Matrix


class Shared:
    """Makes vectors of one model for one wish, and keeps them as long as that is in hand.

    Who asks second waits for the first. An embedder that is away is not waited for again: the
    files of a wish are all made with it or without it.
    """

    def __init__(self, embed: Embed) -> None:
        """Remember whom to ask for what is not known yet."""
        self._embed = embed
        self._rows: dict[str, Matrix] = {}
        self._turn = asyncio.Lock()
        self._away: Exception | None = None

    async def __call__(self, texts: Sequence[str], *, model: str | None = None) -> Matrix:
        """Return one row for each text, of which there is at least one; raises as `Embed`."""
        async with self._turn:
            missing = [each for each in dict.fromkeys(texts) if each not in self._rows]
            if missing:
                rows = await self._made(missing, model)
                self._rows.update(zip(missing, rows, strict=True))
        return np.stack([self._rows[each] for each in texts])

    async def _made(self, texts: Sequence[str], model: str | None) -> Matrix:
        """Return the rows of texts that nobody asked for before."""
        if self._away is not None:
            raise self._away
        try:
            return await self._embed(texts, model=model)
        except UNEMBEDDED as error:
            # A text that nobody can embed says nothing about the next file's.
            if not isinstance(error, BadInput):
                self._away = error
            raise
