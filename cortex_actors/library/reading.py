"""Operations on knowledge: documents that are read, and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.library.operations import Operations, said
from cortex_actors.library.results import Found

if TYPE_CHECKING:
    from collections.abc import Collection

#: Seconds that a folder of documents may take, which is what the daemon allows a verb.
LONG: Final = 125.0


class Reading(Operations):
    """Part of the library."""

    async def ingest(self, path: Path | str, *, topic: str | None = None) -> dict[str, Any]:
        """Read a document, or every document in a folder; only the owner may.

        What has not changed costs a hash; what is gone from a folder is found no more. `counts`
        says how many documents were added, changed, unchanged, withdrawn, and how many failed.

        Example:
            >>> cortex.ingest("docs")["counts"]
            {'added': 12}

        """
        whole = str(Path(path).expanduser().absolute())  # noqa: ASYNC240 - touches no disk
        return await self._ask("ingest", LONG, path=whole, topic=topic)

    async def ingest_text(
        self, text: str, *, source: str | None = None, topic: str | None = None
    ) -> dict[str, Any]:
        r"""Read a text as a document called `source`; again under that name, it is replaced.

        Example:
            >>> cortex.ingest_text("# Ports\n\nTests use 5433.", source="ports")["state"]
            'added'

        """
        return await self._ask("ingest", text=text, source=source, topic=topic)

    async def knowledge_search(
        self,
        query: str,
        *,
        topic: str | None = None,
        limit: int | None = None,
        code: bool | None = None,
        language: str | None = None,
        tags: Collection[str] = (),
        n_results: int | None = None,
    ) -> Found:
        """Return the pieces of documents that answer a question best.

        Example:
            >>> cortex.knowledge_search("which port do tests use", topic="docs")[0].heading
            'Ports'

        """
        answer = await self._ask("knowledge_search", **said(locals()))
        return Found.of(answer)

    async def topics(self) -> tuple[dict[str, Any], ...]:
        """Return the topics of all documents, each with how much it holds.

        Example:
            >>> [each["topic"] for each in cortex.topics()]
            ['docs']

        """
        return tuple((await self._ask("knowledge_topics"))["topics"])
