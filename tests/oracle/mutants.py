"""Faults that Erlang's traces must find in supervision.py, each put in on purpose.

A mutant is an exact text of the engine, which occurs once, and what takes its place. When the
engine changes, a test says which of them have to follow.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import supervision

if TYPE_CHECKING:
    from types import ModuleType


class Mutant(NamedTuple):
    """One fault."""

    name: str
    old: str
    new: str


#: The engine's file.
ENGINE = Path(supervision.__file__)

MUTANTS = (
    Mutant(
        "one restart less is allowed",
        "if len(self._recent) > self.intensity:",
        "if len(self._recent) >= self.intensity:",
    ),
    Mutant(
        "restarts are never forgotten",
        "if then >= now - self.period)]",
        "if then >= 0)]",
    ),
    Mutant(
        "restarts are forgotten at once",
        "if then >= now - self.period)]",
        "if then > now)]",
    ),
    Mutant(
        "children are stopped in the order of their start",
        "            for child in reversed(children):\n",
        "            for child in children:\n",
    ),
    Mutant(
        "a group is stopped in the order of its start",
        "        for member in reversed(group):",
        "        for member in group:",
    ),
    Mutant(
        "rest_for_one restarts everybody",
        "            group = group[group.index(child) :]",
        "            group = group[:]",
    ),
    Mutant(
        "rest_for_one leaves out the last",
        "            group = group[group.index(child) :]",
        "            group = group[group.index(child) : -1] or [child]",
    ),
    Mutant(
        "one_for_all restarts one",
        'if self.strategy in ("one_for_all", "rest_for_one"):',
        'if self.strategy == "rest_for_one":',
    ),
    Mutant(
        "a group takes its temporary children with it",
        'rest = [member for member in group if member.spec.restart != "temporary"]',
        "rest = group",
    ),
    Mutant(
        "a temporary child outlives the restart of its group",
        "        for member in reversed(group):\n",
        "        for member in [m for m in reversed(group) if m.spec.restart != 'temporary']:\n",
    ),
    Mutant(
        "a transient child is restarted after an orderly end",
        'if restart == "temporary" or (restart == "transient" and _is_orderly(reason)):',
        'if restart == "temporary":',
    ),
    Mutant(
        "a transient child is never restarted",
        'if restart == "temporary" or (restart == "transient" and _is_orderly(reason)):',
        'if restart != "permanent":',
    ),
    Mutant(
        "an explained shutdown is no orderly end",
        'case "normal" | "shutdown" | ("shutdown", _):',
        'case "normal" | "shutdown":',
    ),
    Mutant(
        "a child to be killed is asked",
        "            if child.spec.shutdown != BRUTAL_KILL and not watcher.done():",
        "            if not watcher.done():",
    ),
    Mutant(
        "patience never ends",
        "patience, first = child.spec.patience, asyncio.FIRST_COMPLETED",
        "patience, first = None, asyncio.FIRST_COMPLETED",
    ),
    Mutant(
        "a failed restart is not tried again",
        "            if again:\n                self._retry(child)\n",
        "",
    ),
    Mutant(
        "the next try does not count as a restart",
        "            await self._restart(child)\n\n    async def _restart_group",
        "            self._recent.pop(0)\n            await self._restart(child)\n\n"
        "    async def _restart_group",
    ),
    Mutant(
        "terminating a child does not stop the attempts to restart it",
        'if known and child.state == "restarting" and child.wait is wait:',
        "if known:",
    ),
    Mutant(
        "one significant child is always enough",
        'if self.auto_shutdown == "any_significant" or not any(others):',
        "if True:",
    ),
    Mutant(
        "one significant child is never enough",
        'if self.auto_shutdown == "any_significant" or not any(others):',
        "if not any(others):",
    ),
    Mutant(
        "every child is significant",
        '        if not child.spec.significant or self.auto_shutdown == "never":',
        '        if self.auto_shutdown == "never":',
    ),
    Mutant(
        "a temporary child that has ended stays on the list",
        '        lasting = not self._nameless and child.spec.restart != "temporary"',
        "        lasting = not self._nameless",
    ),
    Mutant(
        "an ignored child of a template stays on the list",
        '        lasting = not self._nameless and child.spec.restart != "temporary"',
        '        lasting = child.spec.restart != "temporary"',
    ),
    Mutant(
        "the children before a failed one are not stopped",
        "        except StartError as error:\n            await self._terminate_all()\n",
        "        except StartError as error:\n",
    ),
    Mutant(
        "the children of a killed supervisor live on",
        "        for child in self._alive:\n            _kill(child)\n",
        "",
    ),
    Mutant(
        "the list is in the order of the start",
        "for c in reversed(self._children.values())\n        ]",
        "for c in self._children.values()\n        ]",
    ),
    Mutant(
        "an exit counts that came before its child was stopped",
        "        if self._alive.get(child) is not watcher:\n",
        "        if child not in self._alive:\n",
    ),
    Mutant(
        "a child that is being restarted can be deleted",
        '        if child.state != "stopped":\n            raise self._refusal(child.state, name)',
        '        if child.state == "running":\n            raise self._refusal(child.state, name)',
    ),
    Mutant(
        "a child that runs no more can be added again",
        '            if old.state != "running":\n',
        '            if old.state == "restarting":\n',
    ),
)


def load(mutant: Mutant, folder: Path) -> ModuleType:
    """Return the engine with a fault, from a file in a folder."""
    text = ENGINE.read_text(encoding="utf-8").replace(mutant.old, mutant.new)
    file = folder / "supervision_mutant.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[file.stem]
    return module
