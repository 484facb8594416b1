"""Toy children whose every move is written down, and a laboratory to keep them in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from supervision import IGNORE, ChildError, ChildSpec, Handle, Ignore, Report, Supervisor
from tests.supervision.waiting import Waits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Hashable

#: Seconds after which a test that waits for something has failed.
PATIENCE = 20.0


class Toy:
    """A child that ends when it is told to, or refuses to in one of several ways."""

    def __init__(self, lab: Lab, name: str, manners: dict[str, Any]) -> None:
        self.lab = lab
        self.name = name
        self.manners = manners
        self.ended: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    def end(self, reason: object) -> None:
        """End by itself."""
        if not self.ended.done():
            self.lab.note(f"end {self.name} {reason}")
            self.ended.set_result(reason)

    async def stop(self, timeout: float | None) -> None:
        """Be asked to end."""
        self.lab.note(f"stop {self.name}")
        self.lab.timeouts[self.name] = timeout
        if "asked" in self.manners:
            self.manners["asked"]()
        if "stop_error" in self.manners:
            raise self.manners["stop_error"]
        if self.manners.get("stubborn"):
            _, alive = await asyncio.wait({self.ended}, timeout=timeout)
            if alive:
                raise TimeoutError(self.name)
        self.end(self.manners.get("stop_reason", "shutdown"))
        if self.manners.get("lingers"):
            await asyncio.Event().wait()

    def kill(self) -> None:
        """Be killed, unless it is immortal."""
        self.lab.note(f"kill {self.name}")
        if "kill_error" in self.manners:
            raise self.manners["kill_error"]
        if not self.manners.get("immortal"):
            self.end("killed")

    async def exited(self) -> object:
        """Say why it ended."""
        reason = await asyncio.shield(self.ended)
        if isinstance(reason, BaseException) and self.manners.get("raises"):
            raise reason
        return reason


class Informed(Toy):
    """A toy that has something to say about itself."""

    def info(self) -> dict[str, object]:
        """Return what its manners say, or fail."""
        if "info_error" in self.manners:
            raise self.manners["info_error"]
        return dict(self.manners["info"])


class Lab:
    """Builds specs and supervisors, and remembers what happened to the children."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.reports: list[Report] = []
        self.toys: dict[str, Toy] = {}
        self.timeouts: dict[str, float | None] = {}
        #: How many of the next starts of a child fail, or are ignored.
        self.failures: dict[str, int] = {}
        self.ignored: dict[str, int] = {}
        #: A start waits until its gate opens.
        self.gates: dict[str, asyncio.Event] = {}
        #: How a toy of that name behaves, whatever its spec says: for the children of a template.
        self.manners: dict[str, dict[str, Any]] = {}
        self.time = 1000.0
        self._news = asyncio.Event()

    def spec(self, name: str, *, toy: dict[str, Any] | None = None, **options: Any) -> ChildSpec:
        """Return the spec of a toy with such manners."""

        async def start(*args: str) -> Toy | Ignore:
            return await self.make("-".join([name, *args]), toy or {})

        return ChildSpec(name, start, **options)

    async def make(self, name: str, manners: dict[str, Any]) -> Toy | Ignore:
        """Start a toy, as its test has arranged."""
        if name in self.gates:
            await self.gates[name].wait()
        if self._take(self.failures, name):
            message = f"{name} would not start"
            raise OSError(message)
        if self._take(self.ignored, name):
            return IGNORE
        self.note(f"start {name}")
        manners = {**manners, **self.manners.get(name, {})}
        self.toys[name] = (Informed if manners.keys() & {"info", "info_error"} else Toy)(
            self, name, manners
        )
        return self.toys[name]

    def top(self, *children: ChildSpec, **options: Any) -> Supervisor:
        """Return a supervisor that reports to the laboratory and lives by its clock."""
        settings: dict[str, Any] = {"name": "top", "report": self.report, "grace": 0.01}
        return Supervisor(children, **{**settings, "now": lambda: self.time, **options})

    def pool(self, *, intensity: int = 1, **options: Any) -> Supervisor:
        """Return a supervisor that makes children `t-x` from a template `t` with such options."""
        return self.top(
            self.spec("t", **options), strategy="simple_one_for_one", intensity=intensity
        )

    def level(self, name: str, *children: ChildSpec, **options: Any) -> ChildSpec:
        """Return the spec of a supervisor of such children, one level down."""
        of_parent = {key: options.pop(key) for key in ("restart", "significant") if key in options}

        async def start() -> Handle:
            return await self.top(*children, name=name, **options).start()

        return ChildSpec(name, start, type="supervisor", **of_parent)

    def report(self, report: Report) -> None:
        """Write down what a supervisor reports."""
        self.reports.append(report)
        self._news.set()

    def told(self, kind: str) -> list[tuple[Hashable, object]]:
        """Return what was reported of one kind."""
        return [(r.child, r.reason) for r in self.reports if r.kind == kind]

    def note(self, line: str) -> None:
        """Write down what a toy does."""
        self.log.append(line)
        self._news.set()

    async def noted(self, line: str) -> None:
        """Wait until a toy has done that."""
        async with asyncio.timeout(PATIENCE):
            while line not in self.log:
                self._news.clear()
                await self._news.wait()

    async def saw(self, kind: str, child: str, times: int = 1) -> None:
        """Wait until that was reported so often."""
        async with asyncio.timeout(PATIENCE):
            while [name for name, _ in self.told(kind)].count(child) < times:
                self._news.clear()
                await self._news.wait()

    async def crash(self, name: str, reason: object = "boom", times: int = 1) -> None:
        """End a child and wait until its supervisor has started it again."""
        before = [child for child, _ in self.told("restarted")].count(name)
        for n in range(times):
            self.toys[name].end(reason)
            await self.saw("restarted", name, before + n + 1)

    def lines(self, *verbs: str) -> list[str]:
        """Return what was logged of such verbs."""
        return [line for line in self.log if line.split()[0] in verbs]

    def _take(self, budget: dict[str, int], name: str) -> bool:
        if budget.get(name, 0) < 1:
            return False
        budget[name] -= 1
        return True


async def _end(supervisor: Supervisor) -> object:
    async with asyncio.timeout(PATIENCE):
        return await supervisor.exited()


async def _quiet(supervisor: Supervisor) -> None:
    for _ in range(5):
        await supervisor.count_children()


@pytest.fixture
def lab() -> Lab:
    """Return a laboratory of its own for each test."""
    return Lab()


@pytest.fixture
def end() -> Any:
    """Return what waits for the end of a supervisor and gives its reason."""
    return _end


@pytest.fixture
def quiet() -> Any:
    """Return what waits until a supervisor has handled the exits that have happened."""
    return _quiet


@pytest.fixture(autouse=True)
async def no_task_left() -> Any:
    """Fail a test that leaves a task behind."""
    before = asyncio.all_tasks()
    yield
    left = {task for task in asyncio.all_tasks() - before if task is not asyncio.current_task()}

    assert not left, left


@pytest.fixture
def waits() -> Waits:
    return Waits()


async def find_reason(refused: Awaitable[Any]) -> object:
    """Return why a call was refused."""
    with pytest.raises(ChildError) as refusal:
        await refused
    return refusal.value.reason
