"""What one name of the tree is about: an actor with what it has in hand, or a supervisor."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cortex_actors.clock import SECOND
from cortex_actors.errors import UnknownActor
from cortex_actors.runtime.watchdog import stack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.crashes import Crashes
    from cortex_actors.runtime.life import InHand
    from cortex_actors.runtime.names import Names
    from cortex_actors.runtime.ref import AsyncioRef
    from supervision import Node

#: The supervisor of actors that are made from a template, which are not told apart in a picture.
TEMPLATED = "watchers"


@dataclass(frozen=True, slots=True)
class _Place:
    """A node of the tree, and the one above it."""

    node: Node
    above: Node | None = None


def inspect(name: str, root: Node, *, names: Names, crashes: Crashes, now: int) -> dict[str, Any]:
    """Return what is known of an actor or a supervisor; to be called on the loop.

    Raises `UnknownActor` naming those there are.

    Args:
        name: as the tree shows it.
        root: a picture of the whole tree.
        names: who has which name now.
        crashes: what was reported of each name.
        now: a wall-clock time in UTC microseconds.

    """
    places = {place.node.name: place for place in _places(root)}
    place, ref = places.get(name), names.whereis(name)
    if place is not None and place.node.kind == "supervisor":
        return _supervisor(place, crashes)
    if place is None and ref is None:
        known = ", ".join(sorted({*names.known(), *_shown(places)}))
        message = f"cannot inspect {name}: nobody in the tree has that name; there are {known}"
        raise UnknownActor(message)
    crash = crashes.last(name)
    return {
        "name": name,
        "kind": "actor",
        "supervisor": place.above.name if place and place.above else TEMPLATED,
        "state": place.node.state if place else "running",
        "restarts": place.node.restarts if place else crashes.count(name),
        "last_crash": None if crash is None else asdict(crash),
        **({} if ref is None else _life(ref, now)),
    }


def _places(node: Node, above: Node | None = None) -> Iterator[_Place]:
    """Yield a node and all below it."""
    yield _Place(node, above)
    for child in node.children:
        yield from _places(child, node)


def _shown(places: dict[str, _Place]) -> Iterator[str]:
    """Yield the names that can be asked for: not those of a picture that tells nobody apart."""
    for name, place in places.items():
        if place.above is None or place.above.name != TEMPLATED:
            yield name


def _life(ref: AsyncioRef[Any], now: int) -> dict[str, Any]:
    """Return what a living actor is at."""
    life = ref.life
    lived = life.loop.time() - life.born
    hands = life.in_hand()
    message = [hand for hand in hands if _is_own(hand, life.label)]
    return {
        "class": ref.actor_class.__name__,
        "started_at": now - round(lived * SECOND),
        "lived_s": round(lived, 3),
        "handled": life.handled,
        "mailbox": _rounded(asdict(ref.actor_inbox.stats())),
        "in_hand": [_hand(hand, life.loop.time()) for hand in message],
        "tasks": [_hand(hand, life.loop.time()) for hand in hands if hand not in message],
    }


def _rounded(stats: dict[str, Any]) -> dict[str, Any]:
    """Return a mailbox's numbers, its milliseconds to three digits."""
    return {key: round(each, 3) if key.endswith("_ms") else each for key, each in stats.items()}


def _is_own(hand: InHand, label: str) -> bool:
    """Return whether something in hand is the message, and not a task beside it."""
    return hand.task is not None and hand.task.get_name() == label


def _hand(hand: InHand, now: float) -> dict[str, Any]:
    """Return one thing in hand: for how long, of how many seconds (0: no limit), and where."""
    return {
        "title": hand.title,
        "seconds": round(max(0.0, now - hand.since), 3),
        "limit": hand.limit,
        "stack": list(stack(hand.task)),
    }


def _supervisor(place: _Place, crashes: Crashes) -> dict[str, Any]:
    """Return what is known of a supervisor."""
    node = place.node
    crash = crashes.last(node.name)
    return {
        "name": node.name,
        "kind": "supervisor",
        "supervisor": place.above.name if place.above else None,
        "state": node.state,
        "strategy": node.strategy,
        "restarts": node.restarts,
        "children": [
            {"name": each.name, "kind": each.kind, "state": each.state, "restarts": each.restarts}
            for each in node.children
        ],
        "recent_restarts": [asdict(each) for each in crashes.restarts(node.name)],
        "last_crash": None if crash is None else asdict(crash),
    }
