"""The front desk of a tree: it has a method for each operation, made from the registry.

Two clients that ask the same get the same answer, whichever door they came through.
"""

from __future__ import annotations

import inspect
import pkgutil
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cortex_actors import api
from cortex_actors.api import events
from cortex_actors.api.registry import OPERATIONS, Call, Operation
from cortex_actors.domain.agent import OWNER, Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from cortex_actors.api.registry import TreeLife
    from cortex_actors.settings import Settings


class FrontDesk:
    """Everything a client may ask of the daemon."""

    def __init__(self, call: Call) -> None:
        """Remember what operations work with, as a call of the owner's."""
        self._call = call

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
            """Return the operation called so, with `caller` as a further parameter."""

    @property
    def loop_lag(self) -> Callable[[], float]:
        """Gives the milliseconds by which the loop is late; the daemon puts its gauge here."""
        return self._call.life.loop_lag

    @loop_lag.setter
    def loop_lag(self, gauge: Callable[[], float]) -> None:
        self._call.life.loop_lag = gauge

    @property
    def life(self) -> TreeLife:
        """Since when this runs, and what is counted since."""
        return self._call.life

    @property
    def settings(self) -> Settings:
        """The settings as they are now."""
        return self._call.settings()

    def publish_now(self, *given: object, **params: object) -> dict[str, Any] | None:
        """Publish if that needs no waiting; else return None, and nothing was done."""
        return events.publish_now(self._call, *given, **params)  # type: ignore[arg-type]


def _method(operation: Operation) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return an operation as a method of the desk; only one for agents takes a `caller`."""

    async def method(
        self: FrontDesk, *given: object, caller: Caller = OWNER, **params: object
    ) -> object:
        return await operation.run(replace(self._call, caller=caller), *given, **params)

    kind = inspect.Parameter
    parameters = [
        kind("self", kind.POSITIONAL_OR_KEYWORD),
        *operation.signature.parameters.values(),
    ]
    if operation.agents:
        parameters.append(kind("caller", kind.KEYWORD_ONLY, default=OWNER))
    method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    method.__name__, method.__doc__ = operation.method, operation.description
    method.sessions = operation.sessions  # type: ignore[attr-defined]
    return method


# Each module adds its operations to the registry.
for _module in pkgutil.walk_packages(api.__path__, f"{api.__name__}."):
    import_module(_module.name)

for _each in OPERATIONS.values():
    setattr(FrontDesk, _each.method, _method(_each))
