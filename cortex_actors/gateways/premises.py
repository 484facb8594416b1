"""Premises: what the routes of the gateway are handed, and who asks them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request  # noqa: TC002 - read at run time

from cortex_actors.domain.agent import Caller
from cortex_actors.errors import NotYours

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cortex_actors.api.cortex import FrontDesk
    from cortex_actors.clock import Clock

#: Where the admission leaves who asks, for the routes.
CALLER = "caller"


@dataclass(frozen=True, slots=True)
class Premises:
    """What every route may use."""

    #: The verbs; no route does anything without one.
    desk: FrontDesk
    clock: Clock
    version: str
    #: What we call ourselves where a contract asks for a name.
    service: str = "CortexActors"

    def seconds(self) -> float:
        """Return the time as other programs have it: seconds since 1970."""
        return self.clock.now() / 1_000_000


def caller_of(request: Request) -> Caller:
    """Return who asks, as the admission found out; raises `KeyError` where it let nobody in."""
    found = request.scope["state"][CALLER]
    assert isinstance(found, Caller)  # noqa: S101 - a fact for mypy
    return found


def only_owner(doing: str) -> Callable[[Request], Awaitable[None]]:
    """Return what raises `NotYours` for everybody but the owner; `doing` is what is asked for."""

    async def checked(request: Request) -> None:
        caller = caller_of(request)
        if not caller.is_owner:
            message = f"cannot {doing} for {caller.by}: show the owner's token (tokens/owner)"
            raise NotYours(message)

    return checked
