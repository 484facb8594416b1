"""The verbs that keep memories: they come to deeper layers, and are pinned.

A memory is changed by its agent, or by the owner of the daemon; nobody else, whoever may read it.
Where the owner speaks as an agent (`as_agent`), that one's rights count. Every change is written
down with what undoing it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors import keepown, topics
from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.domain.event import Ids
from cortex_actors.domain.memory import ChangeKind, Layer
from cortex_actors.errors import BadInput, Refused
from cortex_actors.narrowing import word
from cortex_actors.rules.decay import below, is_deeper
from cortex_actors.storage import memory_history
from cortex_actors.verbs import SOURCE, Verbs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cortex_actors.domain.event import Event, Payload
    from cortex_actors.domain.memory import Memory
    from cortex_actors.storage.ledger.actor import Connection


class KeepVerbs(Verbs):
    """Part of the front desk."""

    async def save(
        self,
        id: str,  # noqa: A002 - what every client calls it
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Keep a memory that would soon fade: from the first layer to the next.

        One that lies deeper already is left alone. Raises `NotFound`, `BadInput`, `NotYours`,
        `Refused`.
        """
        return await self._deepen(
            id, lambda _: Layer.WORKING, ChangeKind.SAVE, caller.speaking(as_agent)
        )

    async def promote(
        self,
        id: str,  # noqa: A002
        to: str | None = None,
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Bring a memory to the next layer, or to a deeper one that is named.

        Its attention is whole again. Raises as `save` does, and `BadInput` for a layer that is not
        deeper.
        """
        named = None if to is None else word(Layer, to, name="layer")

        def choose(memory: Memory) -> Layer:
            layer = named or below(memory.layer)
            if layer is None:
                raise Refused(f"cannot promote {memory.id}: it is in the cortex, the last layer")
            if named is not None and not is_deeper(layer, memory.layer):
                message = f"cannot promote {memory.id} to {layer}: it is in {memory.layer} already"
                raise BadInput(f"{message}; from the first to the deepest: {', '.join(Layer)}")
            return layer

        return await self._deepen(id, choose, ChangeKind.PROMOTE, caller.speaking(as_agent))

    async def crystallize(
        self,
        id: str,  # noqa: A002
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Bring a memory to the cortex, where nothing fades. Raises as `save` does."""
        return await self._deepen(
            id, lambda _: Layer.CORTEX, ChangeKind.CRYSTALLIZE, caller.speaking(as_agent)
        )

    async def pin(
        self,
        id: str,  # noqa: A002
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Keep a memory as it is: it is never merged, faded or archived by itself.

        Raises as `save` does.
        """
        return await self._fasten(id, caller.speaking(as_agent), memory_history.pin, pinned=True)

    async def unpin(
        self,
        id: str,  # noqa: A002
        *,
        as_agent: str | None = None,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Let a memory be treated as all others again. Raises as `save` does."""
        return await self._fasten(id, caller.speaking(as_agent), memory_history.unpin, pinned=False)

    async def _deepen(
        self,
        name: str,
        choose: Callable[[Memory], Layer],
        kind: ChangeKind,
        caller: Caller,
    ) -> dict[str, Any]:
        """Bring a memory to the layer that is chosen for it, and say so."""
        at = self._parts.clock.now()

        def work(connection: Connection) -> tuple[dict[str, Any], Sequence[Event[Payload]]]:
            memory = keepown.active(keepown.mine(connection, name, caller), str(kind))
            layer = choose(memory)
            wanted = {memory.id: layer}
            moved = memory_history.deepen(connection, wanted, at=at, by=caller.by, kind=kind)
            answer = {"id": memory.id, "from": str(memory.layer), "changed": bool(moved)}
            if not moved:
                return {**answer, "layer": str(memory.layer)}, ()
            said = self._parts.bus.event(topics.MEMORY_PROMOTED, Ids(tuple(moved)), source=SOURCE)
            return {**answer, "layer": str(layer)}, (said,)

        return await self._change_and_say(work)

    async def _fasten(
        self,
        name: str,
        caller: Caller,
        how: Callable[..., list[str]],
        *,
        pinned: bool,
    ) -> dict[str, Any]:
        """Pin or unpin a memory."""
        at = self._parts.clock.now()

        def work(connection: Connection) -> dict[str, Any]:
            memory = keepown.mine(connection, name, caller)
            if pinned:
                keepown.active(memory, "pin")
            changed = how(connection, [memory.id], at=at, by=caller.by)
            return {"id": memory.id, "pinned": pinned, "changed": bool(changed)}

        return await self._change(work)
