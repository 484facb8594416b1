"""One call on the doctor: look, mend if that is wished, and look again.

The same for a daemon and for one that is down: only the `Ward` differs.

What `--repair` does: everything that can be made again, one unit of work after the other.

Nothing of a person's is ever written: of files, reading is asked for. Whatever cuts it short leaves
what was done; a second run does the rest.

The doctor while no daemon runs; the caller holds the home's lock.

The vector index while no daemon runs: opened in a child process, compared, and closed again.

Chroma's files may end the process that opens them, so it is never ours. The caller must hold the
home's lock: two clients on one folder lose vectors without a word.

The round trip: the daemon remembers, recalls and forgets a probe, as an agent would.

Every part may say of itself that it is well while nothing works. So the verbs that agents use are
tried in earnest, under a name that is kept for it: what is remembered, found and gone again has
been through the mailboxes, the embedder, the ledger and the search. A trial leaves nothing behind;
what a crash left of one, the next removes.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cortex_actors.clock import SECOND, Clock, make_ulid
from cortex_actors.doctor import checks, models
from cortex_actors.domain import hit
from cortex_actors.domain.agent import Caller
from cortex_actors.domain.event import Event, FileChanged, Payload
from cortex_actors.domain.memory import PROBE, Realm
from cortex_actors.domain.project import find_innermost
from cortex_actors.errors import ConfigurationError, CortexError, RoundTripFailed
from cortex_actors.runtime.child import ChildProcess
from cortex_actors.settings import Settings, load
from cortex_actors.storage.events import store
from cortex_actors.storage.health.file import LedgerReader
from cortex_actors.storage.health.rows import MENDS, Mend
from cortex_actors.storage.index import pending
from cortex_actors.storage.index.life import Generations, IndexLife
from cortex_actors.storage.index.vectors import COLLECTIONS
from cortex_actors.storage.index.verification import IndexVerdict, Verification
from cortex_actors.storage.ledger import backups, offline
from cortex_actors.storage.ledger.files import Halt
from cortex_actors.topics import FILE_CHANGED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from cortex_actors.doctor.checks import CheckRound
    from cortex_actors.home import Home
    from cortex_actors.storage.ledger.actor import Connection


class QueryRunner(Protocol):
    """Runs queries on a connection that only reads."""

    async def __call__(self, query: Callable[[Connection], Any]) -> Any:  # noqa: ANN401
        """Return what the query finds."""


@dataclass(frozen=True, slots=True)
class Ward:
    """How what is to be mended is reached: through a daemon, or past one that is down."""

    #: Runs a query beside the daemon's own readers.
    read: QueryRunner
    #: Commits a unit of work.
    write: Callable[[Callable[[Connection], Any]], Awaitable[Any]]
    #: Says, durably, that files have changed.
    say: Callable[[Sequence[FileChanged]], Awaitable[Any]]
    #: Begins a new generation of the index; None where a unit of work does.
    renew: Callable[[], Awaitable[None]] | None = None


async def repair_all(look: CheckRound, ward: Ward) -> list[tuple[hit.Repair, str]]:
    """Do everything that was found and can be mended, in the order of `Repair`.

    Returns each repair that did something, with what it did, in words.
    """
    wanted = {each.repair for each in look.diagnoses if each.repair is not None}
    return [
        (repair, did)
        for repair in hit.Repair
        if repair in wanted and (did := await _treated(repair, look, ward))
    ]


async def _treated(repair: hit.Repair, look: CheckRound, ward: Ward) -> str:
    """Mend one kind of damage and say what was done; "" when there was nothing left to do."""
    if repair is hit.Repair.FILES:
        return await _read_again(look, ward)
    if repair is hit.Repair.INDEX and ward.renew is not None:
        await ward.renew()
        return f"1 {MENDS[repair].did}"
    mend, model = MENDS[repair], look.model
    todo = await ward.read(lambda opened: mend.find(opened, model))
    for start in range(0, len(todo), mend.slice):
        await ward.write(partial(_worked, mend, model, todo[start : start + mend.slice]))
    return f"{len(todo):,} {mend.did}" if todo else ""


def _worked(mend: Mend, model: str, todo: Sequence[Any], connection: Connection) -> None:
    """Do some of it, in the transaction of the connection."""
    mend.work(connection, model, todo)


async def _read_again(look: CheckRound, ward: Ward) -> str:
    """Publish durably that the files that were missed have changed; no file is written."""
    seen = look.seen
    if seen is None:
        return ""
    late = [
        FileChanged(owner.id, path)
        for path in seen.missed
        if path not in seen.soon and (owner := find_innermost(seen.projects, path)) is not None
    ]
    await ward.say(late)
    return f"{len(late):,} files wait to be read again" if late else ""


async def examine(
    ward: Ward,
    look: Callable[[], Awaitable[CheckRound]],
    *,
    compare: Callable[[], Awaitable[list[hit.Diagnosis]]],
    clock: Clock,
    repair: bool,
) -> dict[str, Any]:
    """Return the diagnoses as they are at the end, and what was repaired.

    `compare` compares the index, by the means of the process that has it open. A damaged ledger is
    not repaired, whatever else is wrong with it: its recovery is the next start's.
    """

    async def look_around() -> CheckRound:
        """Return everything that is found now."""
        seen = await look()
        if seen.model and not any(each.damaged for each in seen.diagnoses):
            seen = replace(seen, diagnoses=[*seen.diagnoses, *await compare()])
        return seen

    begun = clock.monotonic()
    found = await look_around()
    done: list[tuple[hit.Repair, str]] = []
    if repair and not any(each.damaged for each in found.diagnoses):
        done = await repair_all(found, ward)
        if done:
            found = await look_around()
    serious = (hit.Severity.WARNING, hit.Severity.ERROR)
    return {
        "severity": str(hit.find_worst(found.diagnoses)),
        "exit_code": hit.choose_exit_code(found.diagnoses),
        "online": ward.renew is not None,
        "checks": [each.as_json() for each in found.diagnoses],
        "wrong": sum(each.severity in serious for each in found.diagnoses),
        "repaired": [{"repair": str(repair), "did": did} for repair, did in done],
        "took_s": round(clock.monotonic() - begun, 3),
    }


async def compare_index(patient: models.Patient, read: QueryRunner) -> list[hit.Diagnosis]:
    """Return how the index that the ledger names compares with it. Raises `ConfigurationError`."""
    state = await read(pending.load_state)
    if state is None:
        return []
    settings = patient.settings.storage
    place = Generations(patient.home.index, settings, COLLECTIONS).find_place(state)
    if place.server is None and not place.folder.is_dir():
        name = f"generation {place.generation}"
        if state.applied_seq > 0:
            text, mend = f"the folder of {name}, {place.folder}, is gone", models.BEGINS
            return [hit.warning(models.CONTENT, text, mend=mend, repair=hit.Repair.INDEX)]
        # It need not have one before it was begun.
        text = f"{name} is built by the next start; exact search answers until it is there"
        return [hit.note(models.CONTENT, text, mend="cortex start")]

    async def verify() -> IndexVerdict:
        """Open the generation in a child and verify it; raises `IndexDown` where it cannot be."""
        life = IndexLife(place, deadline=settings.index_timeout_s)
        try:
            # What Chroma writes is ignored: its answers say what is wrong with its files.
            await life.open(ChildProcess.spawn, lambda _line: None)
            one = Verification(life.ask, read, model=state.model, deep=True)
            return await one.run(place.collections, patient.clock)
        finally:
            await life.close()
            await life.wait_gone()

    return await models.compare_index(verify, renews=False)


#: What the doctor is called as the source of an event.
SOURCE = "doctor"


async def examine_offline(
    home: Home, clock: Clock, *, repair: bool, thorough: bool
) -> dict[str, Any]:
    """Return what is found in a home that no daemon runs in, and what was mended.

    See `examine`. Files that were missed are read by the next start; a new generation of the index
    is built by it, too.
    """
    backups.finish(home.ledger)
    wrong: list[hit.Diagnosis] = []
    try:
        settings = load(home)
    except ConfigurationError as why:
        # The defaults, where no daemon would start.
        settings, text = Settings.model_construct(), f"no daemon starts with them: {why}"
        wrong.append(hit.error("settings", text, mend=f"mend {home.settings}"))
    patient = models.Patient(home, settings, clock, online=False, thorough=thorough)
    halt = Halt()

    def ask(query: Callable[[Connection], Any]) -> Any:  # noqa: ANN401 - whatever it finds
        with LedgerReader(home.ledger, clock, halt) as reader:
            return reader.ask(query)

    async def read(query: Callable[[Connection], Any]) -> Any:  # noqa: ANN401 - likewise
        return await asyncio.to_thread(ask, query)

    async def write(unit: Callable[[Connection], Any]) -> Any:  # noqa: ANN401 - likewise
        return await asyncio.to_thread(offline.commit, home.ledger, unit)

    async def look() -> CheckRound:
        found = await asyncio.to_thread(checks.run_checks, patient, halt)
        return replace(found, diagnoses=[*found.diagnoses, *wrong])

    async def say(changed: Sequence[FileChanged]) -> None:
        """Store that files have changed, for the next start."""
        at = clock.now()
        said: list[Event[Payload]] = [
            Event(f"evt_{make_ulid(at)}", FILE_CHANGED, each, at, SOURCE) for each in changed
        ]
        await write(lambda connection: len(store(connection, said)))

    ward, compare = Ward(read, write, say), partial(compare_index, patient, read)
    return await examine(ward, look, compare=compare, clock=clock, repair=repair)


#: Seconds one step may take: a question that waits for a model has an answer long before.
LIMIT = 30.0

#: Hits that are asked for: only the probe is in its realm.
_FEW = 3

#: What the names of lists begin with that search by meaning, and by words.
_MEANING, _WORDS = "dense", "words"


class StepState(StrEnum):
    """How a step went, and a trial: as its worst step."""

    OK = "ok"
    #: It was done, and part of what does it did not answer.
    DEGRADED = "degraded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TrialStep:
    """One step of a trial; `said` is why it did not go well."""

    step: str
    state: StepState
    took_ms: float
    said: str = ""


@dataclass(frozen=True, slots=True)
class Trip:
    """One trial: what it came to, when it began, UTC microseconds, and its steps in order."""

    state: StepState
    reason: str
    at: int
    took_ms: float
    steps: tuple[TrialStep, ...]


class RoundTrip:
    """Tries a front desk, one trial at a time, and knows how the last one went.

    What is known is lost with the daemon: the next one tries for itself soon after its start.
    """

    def __init__(
        self, left: Callable[[], Awaitable[Sequence[str]]], clock: Clock, *, limit: float = LIMIT
    ) -> None:
        """Begin without a trial; `left` gives the ids of probes that are still there."""
        self.last: Trip | None = None
        self._left = left
        self._clock = clock
        self._limit = limit
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, desk: Any) -> Trip:  # noqa: ANN401 - has the three verbs
        """Return how a trial of `remember`, `recall` and `forget` went, as agents call them.

        Raises nothing but what ends the caller.
        """
        async with self._one_at_a_time:
            self.last = await _DoctorTrial(desk, self._left, self._clock, self._limit).trip()
            return self.last

    def as_status(self) -> dict[str, Any] | None:
        """Return the last trial as `status` has it, with its age in seconds; None without one."""
        if self.last is None:
            return None
        found = asdict(self.last)
        del found["steps"]
        return {**found, "age_s": self._age(self.last)}

    def list_reasons(self) -> list[str]:
        """Return why the daemon is not well, by the last trial; nothing when it went well."""
        last = self.last
        return [] if last is None or last.state is StepState.OK else [f"round trip: {last.reason}"]

    def as_diagnosis(self) -> hit.Diagnosis:
        """Return the last trial as the doctor tells it."""
        last, mend = self.last, "cortex doctor --round-trip tries again and says each step"
        if last is None:
            text = "not tried yet in this life of the daemon"
            return hit.note("round trip", text, mend="cortex doctor --round-trip")
        ago = f"{self._age(last):,.0f} s ago"
        if last.state is StepState.OK:
            did = "a probe was remembered, recalled and forgotten"
            return hit.Diagnosis("round trip", f"{did} in {last.took_ms:,.0f} ms, {ago}")
        bad = hit.Severity.ERROR if last.state is StepState.FAILED else hit.Severity.WARNING
        return hit.Diagnosis("round trip", f"{last.reason} ({ago})", bad, mend)

    def _age(self, trip: Trip) -> float:
        """Return the seconds since a trial began; 0 where the clock was set back."""
        return round(max(0.0, (self._clock.now() - trip.at) / SECOND), 3)


@dataclass
class _DoctorTrial:
    """One trial, step by step."""

    _desk: Any
    _left: Callable[[], Awaitable[Sequence[str]]]
    _clock: Clock
    _limit: float
    _id: str = ""
    _steps: list[TrialStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Choose a text that was never embedded: one from a cache would prove nothing."""
        self._me = Caller(PROBE)
        self._at = self._clock.now()
        self._mark = f"number {self._at}"
        self._text = f"Cortex tries itself with probe {self._mark}."

    async def trip(self) -> Trip:
        """Return what all steps came to; what was remembered is forgotten, whatever fails."""
        begun = self._clock.monotonic()
        await self._do("tidy", self._tidy)
        if await self._do("remember", self._remember):
            await self._do("recall", self._recall)
            if await self._do("forget", self._forget):
                await self._do("gone", self._gone)
        took = round((self._clock.monotonic() - begun) * 1_000, 3)
        order = list(StepState)
        worst = max(self._steps, key=lambda each: order.index(each.state))
        reason = f"{worst.step}: {worst.said}" if worst.said else ""
        return Trip(worst.state, reason, self._at, took, tuple(self._steps))

    async def _do(self, name: str, step: Callable[[], Awaitable[str | None]]) -> bool:
        """Do one step and note how it went; say whether the next can be done.

        A step returns what did not answer, and raises where it failed.
        """
        begun, state = self._clock.monotonic(), StepState.OK
        try:
            async with asyncio.timeout(self._limit):
                if said := await step() or "":
                    state = StepState.DEGRADED
        except TimeoutError:
            state = StepState.FAILED
            said = f"no answer within {self._limit:g} s; see cortex daemon logs"
        except Exception as error:  # noqa: BLE001 - whatever fails is what is looked for
            state, expected = StepState.FAILED, isinstance(error, CortexError)
            said = str(error) if expected else f"{error!r}; see cortex daemon logs"
        took = round((self._clock.monotonic() - begun) * 1_000, 3)
        self._steps.append(TrialStep(name, state, took, said))
        return state is not StepState.FAILED

    async def _tidy(self) -> None:
        """Forget what a crash left of an earlier trial."""
        if left := list(await self._left()):
            await self._desk.forget(left, caller=self._me)

    async def _remember(self) -> str:
        """Remember the probe; without a vector it is kept all the same."""
        saved = await self._desk.remember(self._text, caller=self._me)
        self._id = str(saved["id"])
        if saved.get("pending"):
            return "it is kept, and has no vector: the embedder did not answer"
        return ""

    async def _recall(self) -> str:
        """Find the probe by a question; say which half of the search did not find it."""
        found = await self._ask()
        mine = next((each for each in found["hits"] if each["id"] == self._id), None)
        if mine is None or mine["text"] != self._text:
            why = "; ".join(str(each["reason"]) for each in found.get("failed", ()))
            raise RoundTripFailed(
                f"what was remembered just now is not found{': ' + why if why else ''};"
                " see cortex daemon logs, and cortex doctor for the ledger's words and vectors"
            )
        lists = [str(each) for each in mine.get("extra", {}).get("found_by", ())]
        if not any(each.startswith(_MEANING) for each in lists):
            return "it is found by its words alone: questions are not answered by meaning now"
        if not any(each.startswith(_WORDS) for each in lists):
            return "it is found by its meaning alone: questions are not answered by words now"
        return ""

    async def _forget(self) -> None:
        """Forget the probe."""
        await self._desk.forget([self._id], caller=self._me)

    async def _gone(self) -> None:
        """Look whether it is really gone, from every answer and from the ledger."""
        found = await self._ask()
        if any(each["id"] == self._id for each in found["hits"]) or await self._left():
            raise RoundTripFailed(
                "what was forgotten is still there; the next trial tries again: "
                "see cortex daemon logs"
            )

    async def _ask(self) -> Mapping[str, Any]:
        """Ask for the probe, in words of which not all are its own."""
        found: Mapping[str, Any] = await self._desk.recall(
            f"which probe has {self._mark}",
            _FEW,
            realm=Realm.PRIVATE.value,
            track=False,
            caller=self._me,
        )
        return found
