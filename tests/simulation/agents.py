"""Agents who remember, find, split, replace and forget while everything goes wrong.

Every text has a word of its own, which nobody else says: so it is known who may ever see it, and
that it is gone when it was forgotten.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.agent import Caller
from tests.simulation import audit, memory_audit
from tests.simulation.scenario import CALM, SHORT, Broken, Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.tree import Tree
    from tests.simulation.simulated_loop import Simulation

#: Who remembers.
AGENTS = ("CLAUDE", "VAJRA")

#: What they talk about; some say nearly the same, some the contrary.
CLAIMS = (
    "Redis listens on port 6379 by default",
    "Redis by default listens on port 6379",
    "Always run the tests before a commit",
    "Never run the tests before a commit",
    "The suite is run with pytest and takes a minute",
    "Deploys happen on Fridays",
)

#: Things that happen for each thing of an ordinary story: most of these are short.
MORE = 4

#: Counts what an agent's story still has to wait for.
WAITS = (
    "SELECT (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM index_ops)"
    " + (SELECT count(*) FROM memories WHERE merge_due = 1 AND status = 'active')"
    " + (SELECT count(*) FROM posts_due)"
)

#: Memories that may be chosen for something: (id, agent).
_KNOWN = (
    "SELECT id, agent_id FROM memories WHERE agent_id <> 'CORTEX-PROBE' AND status = ? ORDER BY id"
)


class Agents(Scenario):
    """One seed's story of agents; what they were told is kept here."""

    def __init__(self, simulation: Simulation, root: Path) -> None:
        super().__init__(simulation, root)
        self._numbers = itertools.count()
        #: Acknowledged: id -> nothing else; what somebody began to forget is doubtful.
        self.kept: set[str] = set()
        self.doubtful: set[str] = set()
        self.forgotten: set[str] = set()
        #: Own word of a private text -> its agent.
        self.secrets: dict[str, str] = {}
        faults = ("_crash", "_kill", "_kill_branch", "_storm", "_jump", "_spell", "_end_child")
        self._acts = [
            (10, self._remember),
            (3, self._burst),
            (3, self._post),
            (5, self._recall),
            (4, self._split),
            (4, self._supersede),
            (2, self._put_away),
            (4, self._forget),
            (2, self._crumb),
            (1, self._undo),
            (1, self._round_trip),
            *((1, getattr(self, each)) for each in (*faults, "_stop", "_cut")),
        ]

    async def play(self) -> None:
        """Play the whole story; raises `Broken`."""
        service = self.service
        tree = await service.ensure()
        service.weather.is_bad = True
        shares = [share for share, _ in self._acts]
        for _ in range(MORE * self.random.choice(SHORT)):
            tree = await service.ensure()
            ((_, act),) = self.random.choices(self._acts, shares)
            self.simulation.note(f"> {act.__name__[1:]}")
            if (wait := act(tree)) is not None:
                await wait
            await self.simulation.clock.sleep(self.random.uniform(0, 1.0))
        await self._calm()

    async def _calm(self) -> None:
        """Let everything settle, and look whether every promise was kept."""
        service = self.service
        service.weather.calm()
        self.simulation.note("the calm")
        tree = await service.ensure()
        await service.answered()
        try:
            await self.simulation.until(self._is_at_rest, CALM)
        except TimeoutError:
            waits = service.disk.query(WAITS)
            service.problems.append(f"{waits} still wait: {await tree.cortex.status()}")
        trip = await tree.cortex.round_trip()
        if trip["state"] != "ok":
            service.problems.append(f"a round trip in calm weather is {trip}")
        await self.simulation.until(self._is_at_rest, CALM)
        service.problems += [*memory_audit.problems(service.disk)]
        service.problems += memory_audit.unsettled(service.disk)
        gone = memory_audit.doubted(service.disk, self.doubtful)
        service.problems += memory_audit.lost(service.disk, self.kept - gone)
        service.problems += await self._remembered(tree)
        await service.stop()
        service.problems += audit.problems(service.disk, service.acknowledged)
        if service.problems:
            raise Broken("\n".join(service.problems[:10]))

    def _is_at_rest(self) -> bool:
        (waits,) = self.service.disk.query(WAITS)
        return waits == (0,)

    async def _remembered(self, tree: Tree) -> list[str]:
        """Return what was forgotten and stands somewhere, and what was kept and is not told of."""
        there = dict(self.service.disk.query("SELECT id, text FROM memories"))
        wrong = [f"{each} was forgotten and is there" for each in self.forgotten & set(there)]
        whole = " ".join(there.values())
        gone = [word for word in self.secrets if word not in whole]
        wrong += memory_audit.left(self.service.disk, gone)
        for name, agent in self.service.disk.query(_KNOWN, "active"):
            found = await tree.cortex.memory(name, caller=Caller(agent))
            if found["id"] != name:
                wrong.append(f"{name} is shown as {found['id']}")
        return wrong

    # What can happen.

    def _remember(self, _tree: Tree) -> None:
        agent = self.random.choice(AGENTS)
        self._say(agent, self._claim(agent))

    async def _burst(self, _tree: Tree) -> None:
        """Say one thing several times at once, as agents do who were told to remember it."""
        agent = self.random.choice(AGENTS)
        text = self._claim(agent)
        for _ in range(self.random.randint(2, 5)):
            self._say(agent, text)
            await self.simulation.clock.sleep(self.random.uniform(0, 0.02))

    def _claim(self, agent: str) -> str:
        """Return something to say, now and then with a word that is only this agent's."""
        claim = self.random.choice(CLAIMS)
        if self.random.random() < 0.5:
            return f"{claim}."
        word = f"secret{next(self._numbers)}x"
        self.secrets[word] = agent
        return f"{claim}, says {word}."

    def _say(self, agent: str, text: str) -> None:  # type: ignore[override]
        thread = self.random.choice(("", "", "", "ops"))

        async def said(tree: Tree) -> None:
            saved = await tree.cortex.remember(
                text, type="fact", thread=thread, caller=Caller(agent)
            )
            self.kept.add(saved["id"])

        self.service.ask("remember", said)

    def _post(self, _tree: Tree) -> None:
        agent, text = self.random.choice(AGENTS), self.random.choice(CLAIMS)

        async def posted(tree: Tree) -> None:
            saved = await tree.cortex.post(text, caller=Caller(agent))
            self.kept.add(saved["id"])

        self.service.ask("post", posted)

    def _recall(self, _tree: Tree) -> None:
        agent = self.random.choice(AGENTS)
        others = [word for word, whose in self.secrets.items() if whose != agent]
        query = self.random.choice([*CLAIMS, *others])

        async def asked(tree: Tree) -> None:
            found = await tree.cortex.recall(query, 20, caller=Caller(agent))
            shown = str(found["hits"])
            self.service.problems += [
                f"{agent} found {each}, which is {self.secrets[each]}'s"
                for each in others
                if each in shown
            ]

        self.service.ask("recall", asked)

    def _split(self, _tree: Tree) -> None:
        query = "SELECT DISTINCT w.id, w.agent_id FROM memories p JOIN memories w"
        wholes = self.service.disk.query(
            f"{query} ON w.id = p.merged_into WHERE w.status = 'active' ORDER BY w.id"
        )
        if wholes:
            name, agent = self.random.choice(wholes)
            self._do("split", partial(_split, name, Caller(agent)))

    def _supersede(self, _tree: Tree) -> None:
        some = self._chosen(2)
        if len(some) == 2:
            (old, agent), (new, _) = some
            self._do("supersede", partial(_supersede, old, new, Caller(agent)))

    def _put_away(self, _tree: Tree) -> None:
        for name, agent in self._chosen(1):
            self._do("archive", partial(_archive, name, Caller(agent)))
        archived = self.service.disk.query(_KNOWN, "archived")
        if archived and self.random.random() < 0.5:
            name, agent = self.random.choice(archived)
            self._do("restore", partial(_restore, name, Caller(agent)))

    def _forget(self, _tree: Tree) -> None:
        for name, agent in self._chosen(1):
            self.doubtful.add(name)

            async def gone(tree: Tree, name: str = name, agent: str = agent) -> None:
                await tree.cortex.forget([name], caller=Caller(agent))
                self.forgotten.add(name)

            self.service.ask("forget", gone)

    def _crumb(self, _tree: Tree) -> None:
        agent = self.random.choice(AGENTS)

        async def left(tree: Tree) -> None:
            await tree.cortex.leave_crumb("halfway through the deploy", caller=Caller(agent))

        self.service.ask("leave_crumb", left)

    def _undo(self, _tree: Tree) -> None:
        changes = self.service.disk.query("SELECT max(id) FROM memory_changes")
        if changes[0][0]:
            self._do("undo", partial(_undo, changes[0][0]))

    def _round_trip(self, _tree: Tree) -> None:
        self._do("round_trip", lambda tree: tree.cortex.round_trip())

    def _chosen(self, count: int) -> list[tuple[str, str]]:
        """Return active memories of one agent, by chance."""
        agent = self.random.choice(AGENTS)
        mine = [each for each in self.service.disk.query(_KNOWN, "active") if each[1] == agent]
        return self.random.sample(mine, min(count, len(mine)))

    def _do(self, what: str, ask: Any) -> None:
        self.service.ask(what, ask)


async def _split(name: str, caller: Caller, tree: Tree) -> None:
    await tree.cortex.split(name, caller=caller)


async def _supersede(old: str, new: str, caller: Caller, tree: Tree) -> None:
    await tree.cortex.supersede(old, new, caller=caller)


async def _archive(name: str, caller: Caller, tree: Tree) -> None:
    await tree.cortex.archive([name], caller=caller)


async def _restore(name: str, caller: Caller, tree: Tree) -> None:
    await tree.cortex.restore([name], caller=caller)


async def _undo(change: int, tree: Tree) -> None:
    await tree.cortex.undo(change)
