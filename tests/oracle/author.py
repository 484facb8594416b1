"""Writes random lives of supervision trees: some chance, much intent.

Most steps meet a child that is there, most failures meet a restart. What the two worlds do
differently on purpose, or leave open, is not written:

- An exit signal that kills a supervisor reaches its children in Erlang while the level above goes
  on already; ours kills them first. Then, and where children are stopped at the same time
  (simple_one_for_one), what happened is compared without its order (`order`).
- OTP 25 counts a template's child that is terminated while it is being restarted as one that is
  still being restarted, for ever: its number of active children is then too low. That child is
  left in peace.
- Below an orphan that is a supervisor itself, Erlang asks and we kill: only supervisors of leaves
  are killed.
"""

from __future__ import annotations

import random
from typing import Any

from tests.oracle.scenario import Child, Flags, Scenario

#: Milliseconds a slow child takes to end, and in which a supervisor loses its patience: far apart,
#: and far from what a busy machine adds to a fast one.
SLOW = 900
SHORT = 200

#: Milliseconds that are enough for everybody.
LONG = 5000

#: Seconds in which restarts are counted: for ever, or so few that `WAIT` ms are over after it.
#: OTP 25 counts whole seconds, hence the distance.
FOREVER = 1000
PERIOD = 2
WAIT = 4000

#: As many restarts as a supervisor may be allowed, and how often one is.
ENDLESS = 1_000_000
HANGING = 0.08

#: Ids of a level, below the letters of the level above.
LETTERS = "abcde"

#: Why a child ends by itself.
_REASONS = ("normal", "shutdown", ("shutdown", "x"), "boom", "boom", "kill")


def generate(seed: int, count: int) -> list[Scenario]:
    """Return scenarios, each of which depends on the seed and its own number only."""
    return [_Author(random.Random(f"{seed}/{n}")).write(n) for n in range(count)]


class _Author:
    """Writes one scenario."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.slow = chance.random() < 0.06
        self.timed = not self.slow and chance.random() < 0.03
        self.kills_branches = chance.random() < 0.25
        #: Every supervisor that is there or may be added: its strategy and its children's ids. The
        #: first children's come several times, so that most steps meet somebody.
        self.known: dict[str, tuple[str, list[str]]] = {}
        #: Supervisors of leaves only, which may be killed.
        self.low: list[str] = []
        #: Supervisors that go on for ever, so that there is time to do something meanwhile. Not
        #: one_for_all, which starts and stops the others each time, and none that may end then:
        #: it depends on chance whether the child hangs in the next one, too.
        self.patient: list[str] = []
        self.unordered = False

    def write(self, number: int) -> Scenario:
        """Return a scenario."""
        depth = self.pick(0, 1, 1, 2)
        flags, children = self.level("top", depth, simple=self.chance.random() < 0.13)
        self.spoil(children)
        plans: list[tuple[str, str, int]] = []
        if children and self.chance.random() < 0.1:
            plans.append((self.pick("fail", "fail", "ignore"), self.any_id(), self.pick(1, 1, 2)))
        steps = [self.fill(name) for name, (kind, _) in self.known.items() if _is_simple(kind)]
        several = [*steps, *(self.step() for _ in range(self.chance.randint(3, 10)))]
        flat = [step for steps in several for step in steps]
        order = "any" if self.unordered else "exact"
        return Scenario(number, order, flags, children, plans, flat)

    # The tree.

    def level(self, name: str, depth: int, *, simple: bool) -> tuple[Flags, list[Child]]:
        """Return the flags and children of one supervisor."""
        strategy = self.pick("one_for_one", "one_for_all", "rest_for_one")
        auto = self.pick("never", "never", "any_significant", "all_significant")
        if simple:
            strategy, auto, self.unordered = "simple_one_for_one", "never", True
        period = PERIOD if self.timed else FOREVER
        intensity = ENDLESS if self.chance.random() < HANGING else self.pick(0, 1, 1, 2, 3, 5)
        flags = Flags(strategy, intensity, period, auto)
        if intensity == ENDLESS and strategy != "one_for_all" and auto == "never":
            self.patient.append(name)
        prefix = "" if name == "top" else name
        ids = [prefix + letter for letter in LETTERS]
        self.known[name] = strategy, ids
        if simple:
            self.low.append(name)
            return flags, [self.leaf("template", auto)]
        mine = ids[: self.pick(0, 1, 2, 2, 3, 3, 4, 4) if name == "top" else self.pick(1, 2, 3)]
        self.chance.shuffle(mine)
        self.known[name] = strategy, [*mine, *mine, *mine, *mine, *ids]
        children = [self.child(each, depth, auto) for each in mine]
        if all(child.below == "leaf" for child in children):
            self.low.append(name)
        return flags, children

    def child(self, name: str, depth: int, auto: str) -> Child:
        """Return a leaf or, while there is depth left, perhaps a branch."""
        leaf = self.leaf(name, auto)
        if depth == 0 or self.chance.random() < 0.4:
            return leaf
        below = self.level(name, depth - 1, simple=self.chance.random() < 0.2)
        shutdown: int | str = self.pick("infinity", LONG * 2)
        if self.kills_branches and name in self.low and self.chance.random() < 0.5:
            shutdown, self.unordered = "brutal_kill", True
        return leaf._replace(shutdown=shutdown, type="supervisor", below=below)

    def leaf(self, name: str, auto: str) -> Child:
        """Return a leaf; some count as supervisors, which shows in the counts only."""
        restart = self.pick("permanent", "permanent", "transient", "temporary")
        significant = auto != "never" and restart != "permanent" and self.chance.random() < 0.5
        shutdown = self.pick(LONG, LONG, "brutal_kill", "infinity", SHORT if self.slow else LONG)
        kind = self.pick("worker", "worker", "worker", "supervisor")
        return Child(name, restart, shutdown, kind, significant)

    def spoil(self, children: list[Child]) -> None:
        """Now and then, make the top's children what no supervisor accepts."""
        if not children or self.chance.random() > 0.02:
            return
        child = self.chance.choice(children)
        if self.chance.random() < 0.5 and child.id != "template":
            children.append(child)
        else:
            children[children.index(child)] = child._replace(significant=not child.significant)

    # The steps.

    def step(self) -> list[tuple[Any, ...]]:
        """Return one step, or a few that belong together."""
        of = self.chance.choice(list(self.known))
        strategy, ids = self.known[of]
        name = self.chance.choice(ids)
        roll = self.chance.random()
        if of in self.patient and roll < 0.25 and name not in self.known:
            return [("hang", of, name, self.meanwhile(of, name))]
        if roll < 0.2:  # a restart that does not succeed at once
            mode = self.pick("fail", "fail", "fail", "ignore")
            return [(mode, self.any_id(), self.pick(1, 2, 3, 6)), self.end(name, "boom", "kill")]
        if roll < 0.53:
            return [self.end(name, *_REASONS)]
        if roll < 0.58:
            return [(self.pick("fail", "ignore"), name, self.pick(1, 1, 2))]
        if roll < 0.63:
            leaves = sorted({each for each in ids if each not in self.known})
            some = self.chance.sample(leaves, min(len(leaves), self.pick(2, 3, 5)))
            return [("burst", some, self.pick(*_REASONS))]
        if roll < 0.7 and self.slow:
            return [("slow", name, SLOW)]
        if roll < 0.7 and self.timed:  # what came before is forgotten
            return [self.end(name, "boom"), ("wait", WAIT), self.end(name, "boom")]
        return [self.call_dynamic(of, name) if _is_simple(strategy) else self.call(of, name)]

    def meanwhile(self, of: str, name: str) -> tuple[Any, ...]:
        """Return what is done while a child is being restarted in vain."""
        if _is_simple(self.known[of][0]):
            others = [each for each in self.known[of][1] if each != name]
            return self.call_dynamic(of, self.chance.choice(others))
        word = self.pick("terminate_child", "restart_child", "delete_child", "start_child", "stop")
        if word == "start_child":
            return word, of, self.leaf(name, "never")
        if word == "stop":
            return (word, of) if of == "top" else ("get_childspec", of, name)
        return word, of, name

    def end(self, name: str, *reasons: Any) -> tuple[Any, ...]:
        """Return the end of a child by itself."""
        if name not in self.known:
            return "exit", name, self.pick(*reasons)
        if name in self.low and self.kills_branches:
            self.unordered = True
            return "exit", name, "kill"
        return "stop", name

    def call(self, of: str, name: str) -> tuple[Any, ...]:
        """Return a call of a supervisor whose children have ids."""
        word = self.pick(
            "terminate_child", "terminate_child", "restart_child", "restart_child",
            "delete_child", "get_childspec", "start_child", "start_child",
        )  # fmt: skip
        if word != "start_child":
            return word, of, name
        auto = self.pick("never", "never", "any_significant")
        child = self.leaf(name, auto)
        if self.chance.random() < 0.2 and of == "top" and name not in self.known:
            below = self.level(name, 0, simple=self.chance.random() < 0.2)
            child = child._replace(shutdown="infinity", type="supervisor", below=below)
        return word, of, child

    def call_dynamic(self, of: str, name: str) -> tuple[Any, ...]:
        """Return a call of a supervisor whose children have none."""
        word = self.pick("start", "start", "start", "by_pid", "by_pid", "by_pid", "by_id")
        if word == "start":
            return "start_dynamic", of, name
        if word == "by_pid":
            functions = "terminate_child", "terminate_child", "get_childspec"
            return "by_pid", of, self.pick(*functions), name
        words = "terminate_child", "restart_child", "delete_child", "get_childspec"
        return self.pick(*words), of, name

    def fill(self, of: str) -> list[tuple[Any, ...]]:
        """Return the first children of a dynamic supervisor."""
        _, ids = self.known[of]
        return [("start_dynamic", of, name) for name in ids[: self.chance.randint(1, 5)]]

    def any_id(self) -> str:
        """Return the id of any child that there is, or may be."""
        _, ids = self.known[self.chance.choice(list(self.known))]
        return self.chance.choice(ids)

    def pick(self, *values: Any) -> Any:
        """Return one of some values."""
        return self.chance.choice(values)


def _is_simple(strategy: str) -> bool:
    return strategy == "simple_one_for_one"
