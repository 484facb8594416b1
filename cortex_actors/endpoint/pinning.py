"""The IP addresses of a store's name: resolved, judged and then kept."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from cortex_actors.endpoint.replies import SHOWN
from cortex_actors.errors import StoreDown, StoreUnusable
from cortex_actors.rules.addresses import (
    STDIO,
    Address,
    Reach,
    explain_forbidden,
    is_admitted,
    measure_reach,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.runtime.threads import Threads

    #: Takes host and port and returns IP addresses; blocks.
    Resolver = Callable[[str, int], Sequence[str]]

#: Seconds for which a name is taken to have the same addresses.
KEPT = 60.0

#: Addresses of one name that are tried, at most.
MOST = 4


class Pin:
    """The addresses of one store's name, so that nothing else is ever connected to.

    A name is looked up on a thread. Every address of it is judged, and one that is
    forbidden forbids all of them. What passed is kept for a minute, and for longer while the name
    server is away: whatever a connection is made to has been judged, and no library asks a name
    server again between the judgement and the connection. When a name that was far away turns near
    (DNS rebinding), it is refused until the store is set up again.
    """

    def __init__(
        self,
        address: Address,
        clock: Clock,
        *,
        threads: Threads,
        allowed: Sequence[str] = (),
        is_secret: bool = False,
        resolve: Resolver | None = None,
    ) -> None:
        """Pin an address of which at most `allowed` hosts are used.

        `is_secret` says that a token goes there: over plain http to this machine only.
        """
        self._address = address
        self._clock = clock
        self._threads = threads
        self._allowed = tuple(allowed)
        self._is_secret = is_secret
        self._resolve = resolve or _resolved
        #: The addresses that are known, the one that worked last first.
        self.ips: tuple[str, ...] = ()
        self._until = 0.0
        self._nearest: Reach | None = None
        self._looking: asyncio.Task[tuple[str, ...]] | None = None

    async def resolve(self) -> tuple[str, ...]:
        """Return what may be connected to, the one that worked last first.

        Raises `StoreUnusable` for what is forbidden and `StoreDown` for a name that
        has no address now. All callers that wait for the same name wait for one look.
        """
        if self.ips and self._clock.monotonic() < self._until:
            return self.ips
        if self._looking is None:
            self._looking = asyncio.create_task(self._look(), name="resolving a store's name")
            self._looking.add_done_callback(self._looked)
        try:
            return await asyncio.shield(self._looking)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and not task.cancelling():  # dropped by `close`, not by its asker
                raise StoreDown("the store is closed; ask again") from None
            raise

    def note_worked(self, ip: str) -> None:
        """Note that one of them has been connected to: it is the first from now on."""
        if self.ips and self.ips[0] != ip and ip in self.ips:
            self.ips = (ip, *(each for each in self.ips if each != ip))

    def note_failure(self) -> None:
        """Note that none of them could be connected to: the name is looked up again next time."""
        self._until = 0.0

    def close(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()

    async def _look(self) -> tuple[str, ...]:
        """Look the name up, judge its addresses, and keep them."""
        if not is_admitted(self._address, self._allowed):
            raise StoreUnusable(
                f"{self._address.netloc} is not among the hosts of federation.allow_hosts"
            )
        if self._address.scheme == STDIO:
            raise StoreUnusable("a program behind pipes has no address")
        try:
            found = await self._asked()
        except OSError as error:
            if not self.ips:
                raise StoreDown(f"the name {self._address.host} has no address now") from error
            found = self.ips  # all of them have been judged; only who says so is away
        self._judge(found)
        # The order is kept while the last one that worked is still among them.
        first = self.ips[:1] if self.ips[:1] and self.ips[0] in found else ()
        self.ips = (*first, *(each for each in found if each not in first))
        self._until = self._clock.monotonic() + KEPT
        return self.ips

    async def _asked(self) -> tuple[str, ...]:
        """Return the addresses of the host; an IP address is its own."""
        host, port = self._address.host, self._address.port
        if not explain_forbidden(host) or ":" in host:
            return (host,)
        found = tuple(dict.fromkeys(await self._threads.run(self._resolve, host, port)))
        if not found:
            raise OSError("no address")
        return found[:MOST]

    def _judge(self, found: Sequence[str]) -> None:
        """Raise `StoreUnusable` when one of the addresses must not be connected to."""
        host = self._address.host
        for ip in found:
            if reason := explain_forbidden(ip):
                what = host if host == ip else f"{host} is {ip}, and that"
                raise StoreUnusable(f"nothing is sent to its address: {what} is {reason}"[:SHOWN])
        nearest, farthest = min(map(measure_reach, found)), max(map(measure_reach, found))
        if self._nearest is not None and nearest < self._nearest:
            raise StoreUnusable(
                f"{host} was far away and is {found[0]} now: refused; remove the store and add it "
                "again if that is right"
            )
        if self._is_secret and self._address.scheme == "http" and farthest > Reach.LOOPBACK:
            raise StoreUnusable(
                f"its token is not sent to {host} over http, where anybody on the way can read "
                "it; use https"
            )
        self._nearest = nearest if self._nearest is None else self._nearest

    def _looked(self, task: asyncio.Task[tuple[str, ...]]) -> None:
        """Forget a look that has ended; its error is for those who waited."""
        self._looking = None
        if not task.cancelled():
            task.exception()


def _resolved(host: str, port: int) -> list[str]:
    """Return the addresses of a host, on a thread; raises `OSError`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]
