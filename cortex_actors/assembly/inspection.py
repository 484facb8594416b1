"""What one name of the tree is about: an actor with its work, or a supervisor.

Why actors crashed, and when, as the supervisors reported it.

A supervisor that gives up ends with `shutdown`, as OTP has it, and so does the one above it; who
was to blame is in the reports alone. A person who reads that the daemon ended wants the name.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from cortex_actors import topics
from cortex_actors.clock import SECOND
from cortex_actors.errors import CortexError, UnknownActor
from cortex_actors.runtime.watchdog import find_stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cortex_actors.runtime.life import InHand
    from cortex_actors.runtime.names import Names
    from cortex_actors.runtime.ref import AsyncioRef
    from supervision import Node, Report


#: The supervisor of actors that are made from a template, which are not told apart in a picture.
TEMPLATED = "watchers"


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
    places = {node.name: (node, above) for node, above in _places(root)}
    (node, above), ref = places.get(name, (None, "")), names.whereis(name)
    if node is None and ref is None:
        # Not those that a picture does not tell apart.
        shown = [each for each, (_, above) in places.items() if above != TEMPLATED]
        known = ", ".join(sorted({*names.list_known(), *shown}))
        message = f"cannot inspect {name}: no actor or supervisor has that name; there are {known}"
        raise UnknownActor(message)
    last = {"last_crash": crashes.find_last(name)}
    if node is not None and node.kind == "supervisor":
        return {**_supervisor(node, above, crashes), **last}
    return {
        "name": name,
        "kind": "actor",
        "supervisor": above or TEMPLATED,
        "state": node.state if node else "running",
        "restarts": node.restarts if node else crashes.count(name),
        **last,
        **({} if ref is None else _life(ref, now)),
    }


def _places(node: Node, above: str = "") -> Iterator[tuple[Node, str]]:
    """Yield a node and all below it, each with the name of the one above."""
    yield node, above
    for child in node.children:
        yield from _places(child, node.name)


def _life(ref: AsyncioRef[Any], now: int) -> dict[str, Any]:
    """Return what a living actor is at."""
    life = ref.life
    lived = life.loop.time() - life.born
    hands = life.list_work()
    # The message itself, and not a task beside it.
    message = [hand for hand in hands if hand.task and hand.task.get_name() == life.label]
    mailbox = asdict(ref.actor_inbox.stats())
    return {
        "class": ref.actor_class.__name__,
        "started_at": now - round(lived * SECOND),
        "lived_s": round(lived, 3),
        "handled": life.handled,
        "mailbox": mailbox | {key: round(mailbox[key], 3) for key in ("waited_ms", "longest_ms")},
        "in_hand": [_hand(hand, life.loop.time()) for hand in message],
        "tasks": [_hand(hand, life.loop.time()) for hand in hands if hand not in message],
    }


def _hand(hand: InHand, now: float) -> dict[str, Any]:
    """Return one piece of work: for how long, of how many seconds (0: no limit), and where."""
    return {
        "title": hand.title,
        "seconds": round(max(0.0, now - hand.since), 3),
        "limit": hand.limit,
        "stack": list(find_stack(hand.task)),
    }


def _supervisor(node: Node, above: str, crashes: Crashes) -> dict[str, Any]:
    """Return what is known of a supervisor."""
    return {
        "name": node.name,
        "kind": "supervisor",
        "supervisor": above or None,
        "state": node.state,
        "strategy": node.strategy,
        "restarts": node.restarts,
        "children": [
            {"name": each.name, "kind": each.kind, "state": each.state, "restarts": each.restarts}
            for each in node.children
        ],
        "recent_restarts": crashes.list_restarts(node.name),
    }


#: Which topic tells of what happened to a child.
TOLD: Final = {
    "started": topics.ACTOR_STARTED,
    "restarted": topics.ACTOR_RESTARTED,
    "gave_up": topics.ACTOR_GAVE_UP,
    "start_error": topics.ACTOR_CRASHED,
}

#: Names of which the last crash is kept, and restarts that are kept of each supervisor.
NAMES_LIMIT, RESTARTS_LIMIT = 1_000, 10


def find_child(report: Report) -> str:
    """Return the name of the child a report is about; those of a template share one id."""
    return str(getattr(report.handle, "name", report.child))


class Crashes:
    """Hears every report of a tree and can say over whom a supervisor gave up."""

    def __init__(self, now: Callable[[], int] = lambda: 0) -> None:
        """Begin without a crash; `now` gives the wall-clock time in UTC microseconds."""
        self._now = now
        #: The last crash below each supervisor, and which of them gave up because of it.
        self._last: dict[str, str] = {}
        self._gave_up: set[str] = set()
        #: The last crash of each name and their number, the name that crashed last at the end.
        self._crashes: dict[str, tuple[dict[str, Any], int]] = {}
        self._restarts: dict[str, deque[dict[str, Any]]] = {}
        #: The first crash with an error that ends the daemon; None without one.
        self.fatal: CortexError | None = None

    def find_last(self, name: str) -> dict[str, Any] | None:
        """Return the last crash of an actor or a supervisor; None if it had none.

        It has a `reason`, and `at`, in UTC microseconds.
        """
        return self._crashes[name][0] if name in self._crashes else None

    def count(self, name: str) -> int:
        """Return how often a name has crashed."""
        return self._crashes[name][1] if name in self._crashes else 0

    def list_restarts(self, supervisor: str) -> list[dict[str, Any]]:
        """Return the last restarts of a supervisor, oldest first: `child`, `at`, as `find_last`."""
        return list(self._restarts.get(supervisor, ()))

    def find_reason(self, supervisor: str) -> str | None:
        """Return over whose crashes a supervisor gave up; None while it has not."""
        return self._last.get(supervisor) if supervisor in self._gave_up else None

    def take(self, report: Report) -> str:
        """Remember a report; return its reason in words."""
        child = find_child(report)
        # Characters of an exception that a reason shows; the log has the traceback.
        reason = "" if report.reason is None else repr(report.reason)[:300]
        fault = report.reason
        if self.fatal is None and isinstance(fault, CortexError) and fault.ends_daemon:
            self.fatal = fault
        match report.kind:
            case "gave_up":
                self._gave_up.add(report.supervisor)
                return self._last.get(report.supervisor, reason)
            case "started":
                self._gave_up.discard(child)
            case "restarted":
                self._gave_up.discard(child)
                kept = self._restarts.setdefault(report.supervisor, deque(maxlen=RESTARTS_LIMIT))
                kept.append({"child": child, "at": self._now()})
            case "exited" if child in self._gave_up:
                self._last[report.supervisor] = self._last.get(child, reason)
                self._note_crash(child, self._last[report.supervisor])
            case "exited" | "start_error":
                # Remember who ended, if it was not in order.
                # Ends in order are no crash.
                if report.reason not in ("normal", "shutdown"):
                    self._note_crash(child, reason)
                    text = f"{report.supervisor}/{child} crashed too often: {reason}"
                    self._last[report.supervisor] = text
        return reason

    def _note_crash(self, child: str, reason: str) -> None:
        """Remember a crash, and forget the oldest of too many."""
        times = self.count(child) + 1
        self._crashes.pop(child, None)
        self._crashes[child] = {"reason": reason, "at": self._now()}, times
        if len(self._crashes) > NAMES_LIMIT:
            del self._crashes[next(iter(self._crashes))]
