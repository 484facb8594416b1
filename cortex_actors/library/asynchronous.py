"""`AsyncCortex`: the memory of a home, for programs that run a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from cortex_actors.client import TIMEOUT
from cortex_actors.library.carrying import Carrying
from cortex_actors.library.doors import Awaited
from cortex_actors.library.reading import Reading
from cortex_actors.library.remembering import Remembering
from cortex_actors.library.talking import Talking
from cortex_actors.library.upkeep import Upkeep

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from cortex_actors.home import Home
    from cortex_actors.library.ways import Embed


class AsyncCortex(Remembering, Talking, Upkeep, Reading, Carrying):
    """What `Cortex` does, awaited: a daemon is asked on the loop, and a call may be cancelled.

    The examples of the operations are written for `Cortex`; here each of them is awaited.

    Example:
        >>> async with AsyncCortex(agent="AZOTH") as cortex:
        ...     await cortex.remember("The test database is on 5433.")
        ...     found = await cortex.search("which port?")

    """

    def __init__(
        self,
        home: Home | Path | str | None = None,
        *,
        agent: str | None = None,
        token: str | None = None,
        embedded: Embed = False,
        timeout: float = TIMEOUT,
    ) -> None:
        """Remember whom to ask; see `Cortex`. An embedded tree starts with the first call.

        It lives on a thread of its own and may be used from one loop after another.
        """
        self._way = Awaited(home, token=token, embedded=embedded, timeout=timeout)
        super().__init__(self._way, agent)

    @property
    def home(self) -> Home:
        """The home whose memory this is."""
        return self._way.home

    async def close(self) -> None:
        """Let go of everything; an embedded tree ends."""
        await self._way.close()

    async def __aenter__(self) -> Self:
        await self._way.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
