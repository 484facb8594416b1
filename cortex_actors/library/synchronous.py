"""`Cortex`: the memory of a home, for any program."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from cortex_actors.client import TIMEOUT
from cortex_actors.library.carrying import Carrying
from cortex_actors.library.doors import Blocking, finished
from cortex_actors.library.reading import Reading
from cortex_actors.library.remembering import Remembering
from cortex_actors.library.talking import Talking
from cortex_actors.library.upkeep import Upkeep

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path
    from types import TracebackType

    from cortex_actors.home import Home
    from cortex_actors.library.ways import Embed

P = ParamSpec("P")
R = TypeVar("R")


class _Operations(Remembering, Talking, Upkeep, Reading, Carrying):
    """All of them, over a blocking door."""


def _run(
    operation: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Cortex, P], R]:
    """Return an operation as a method that returns when it is done."""

    @wraps(operation)
    def run(self: Cortex, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return finished(operation(self._operations, *args, **kwargs))

    return run


class Cortex:
    """The memory of one home: what its daemon knows, or a tree of this program's own.

    Every method may be called from any thread. Against a daemon nothing is held between two calls:
    its restarts are not noticed. Errors are `CortexError`s, with a text that says what to do.

    Example:
        >>> from cortex_actors import Cortex
        >>> with Cortex(agent="AZOTH") as cortex:
        ...     cortex.remember("The test database is on 5433.")
        ...     found = cortex.search("which port?")

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
        """Find out who answers.

        `home` is the daemon's folder, as `--home`; `agent` is for whom is spoken and through whose
        eyes is read where a call says nothing else; `token` is an agent's (`cortex agents token`),
        without which it is the owner who asks. `embedded` runs the tree in this process instead:
        True refuses where a daemon runs (`AlreadyRunning`), "auto" uses that daemon. `timeout` is
        how many seconds an answer may take.
        """
        self._door = Blocking(home, token=token, embedded=embedded, timeout=timeout)
        self._operations = _Operations(self._door, agent)

    remember = _run(_Operations.remember)
    search = _run(_Operations.search)
    recall = _run(_Operations.recall)
    memory = _run(_Operations.memory)
    forget = _run(_Operations.forget)
    split = _run(_Operations.split)
    post = _run(_Operations.post)
    thread = _run(_Operations.thread)
    leave_crumb = _run(_Operations.leave_crumb)
    get_crumbs = _run(_Operations.get_crumbs)
    detect_convergence = _run(_Operations.detect_convergence)
    get_stale = _run(_Operations.get_stale)
    get_duplicates = _run(_Operations.get_duplicates)
    consolidate = _run(_Operations.consolidate)
    ingest = _run(_Operations.ingest)
    ingest_text = _run(_Operations.ingest_text)
    knowledge_search = _run(_Operations.knowledge_search)
    topics = _run(_Operations.topics)
    export_to = _run(_Operations.export_to)
    import_from = _run(_Operations.import_from)
    status = _run(_Operations.status)

    @property
    def home(self) -> Home:
        """The home whose memory this is."""
        return self._door.home

    def close(self) -> None:
        """Let go of everything; an embedded tree ends. A second time does nothing."""
        self._door.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
