"""Watches the tree while it lives: who is there, in which order they come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex_actors.assembly.reload import Branch
from cortex_actors.tree import TREE

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.runtime.actor import AsyncioActor
    from cortex_actors.runtime.life import Life
    from supervision import Report
    from tests.simulation.simulated_loop import Simulation


def _branches(branch: Branch) -> dict[str, Branch]:
    """Return a branch and those below it, by name."""
    found = {branch.name: branch}
    for child in branch.children:
        if isinstance(child, Branch):
            found |= _branches(child)
    return found


class Witness:
    """Hears the reports of one tree and notes what must not be."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.problems: list[str] = []
        #: Starts of actors, restarts included.
        self.starts = 0
        self._branches = _branches(TREE)
        #: Children of each supervisor that run.
        self._running: dict[str, list[str]] = {name: [] for name in self._branches}
        self._gave_up: set[str] = set()
        self._lives: dict[str, Life] = {}

    def made(self, name: str, make: Callable[[], AsyncioActor]) -> AsyncioActor:
        """Make an actor; its last life must be over by then."""
        last = self._lives.get(name)
        if last is not None and not last.ended.done():
            self.problems.append(f"a second {name} was made while the first one lived")
        actor = make()
        self._lives[name] = actor.actor_ref.life
        self.starts += 1
        return actor

    def hear(self, report: Report) -> None:
        """Take in a report."""
        name, child = report.supervisor, str(report.child)
        self._simulation.note(f"{name}: {child} {report.kind} {_words(report.reason)}")
        branch = self._branches[name]
        if report.kind == "gave_up":
            self._gave_up.add(name)
        if branch.strategy in ("simple_one_for_one", "dynamic"):
            return
        match report.kind:
            case "started" | "restarted":
                self._came(branch, child, first=report.kind == "started")
            case "exited":
                self._went(branch, child, report.reason)
            case "shutdown_error" if report.reason == "abandoned":
                self.problems.append(f"{name}/{child} survived even a kill")

    def _came(self, branch: Branch, child: str, *, first: bool) -> None:
        order = [each if isinstance(each, str) else each.name for each in branch.children]
        running, place = self._running[branch.name], order.index(child)
        if child in running:
            self.problems.append(f"{branch.name}/{child} started twice")
            running.remove(child)
        grouped = first or branch.strategy == "rest_for_one"
        if grouped and running != order[:place]:
            self.problems.append(f"{branch.name}/{child} started beside {running}")
        running.insert(sum(order.index(each) < place for each in running), child)
        if _is_branch(branch, child):
            self._gave_up.discard(child)

    def _went(self, branch: Branch, child: str, reason: Any) -> None:
        running = self._running[branch.name]
        if child not in running:
            self.problems.append(f"{branch.name}/{child} ended and had not started")
            return
        nested = _is_branch(branch, child)  # an actor may have the name of its branch
        stopped = reason == "shutdown" and not (nested and child in self._gave_up)
        later = running[running.index(child) + 1 :]
        if stopped and later:
            self.problems.append(f"{branch.name}/{child} was stopped before {later}")
        running.remove(child)
        if nested and self._running[child]:
            self.problems.append(f"{child} ended before its {self._running[child]}")


def _is_branch(branch: Branch, child: str) -> bool:
    """Tell whether a child of a branch is a branch itself."""
    return any(isinstance(each, Branch) and each.name == child for each in branch.children)


def _words(reason: object) -> str:
    return "" if reason is None else repr(reason)[:80]
