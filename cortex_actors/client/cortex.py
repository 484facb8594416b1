"""`Cortex`: the memory of a home, for any program.

`AsyncCortex`: the memory of a home, for programs that run a loop.

Most of their methods are made from the registry of operations; cortex.pyi declares them all and is
what type checkers and editors read.
"""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, Self

from cortex_actors.client.doors import Awaited, Blocking, run_blocking
from cortex_actors.client.operations import Operations, derive_methods

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class Cortex(Operations):
    """The memory of one home: what its daemon knows, or a tree of this program's own.

    Every method may be called from any thread. Against a daemon nothing is held between two calls:
    its restarts are not noticed. Errors are `CortexError`s, with a text that says what to do.

    Example:
        >>> from cortex_actors import Cortex
        >>> with Cortex(agent="AZOTH") as cortex:
        ...     cortex.remember("The test database is on 5433.")
        ...     found = cortex.search("which port?")

    """

    _door_kind = Blocking
    _door: Blocking

    def close(self) -> None:
        """Close it; an embedded tree ends. A second time does nothing."""
        self._door.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class AsyncCortex(Operations):
    """What `Cortex` does, awaited: a daemon is asked on the loop, and a call may be cancelled.

    The examples of the operations are written for `Cortex`; here each of them is awaited. An
    embedded tree starts with the first call; it lives on a thread of its own and may be used from
    one loop after another.

    Example:
        >>> async with AsyncCortex(agent="AZOTH") as cortex:
        ...     await cortex.remember("The test database is on 5433.")
        ...     found = await cortex.search("which port?")

    """

    _door_kind = Awaited
    _door: Awaited

    async def close(self) -> None:
        """Close it; an embedded tree ends."""
        await self._door.on_thread(self._door.close)

    async def __aenter__(self) -> Self:
        await self._door.open()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


def _blocking(method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    """Return a method that is awaited as one that returns when it is done."""

    @wraps(method)
    def run(self: Cortex, /, *given: object, **named: object) -> object:
        return run_blocking(method(self, *given, **named))

    return run


for _name, _each in derive_methods().items():
    setattr(Operations, _name, _each)
for _name, _each in inspect.getmembers(Operations, inspect.iscoroutinefunction):
    if not _name.startswith("_"):
        setattr(Cortex, _name, _blocking(_each))
