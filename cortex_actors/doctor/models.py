"""What is known and done about models while no daemon runs: on a home's files and its ledger.

Rows are changed under the home's lock. So a home whose daemon cannot start, for whatever reason,
can still give up its migration.

The embedding models: which one answers, its files, and what the settings say of it.

Whether the vector index holds what the ledger says, as the process that has it open finds out.

`Patient` is what all checks of one visit look at: home, settings, clock.
"""

from __future__ import annotations

import asyncio
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors import settings
from cortex_actors.clock import Clock, SystemClock
from cortex_actors.domain.hit import Diagnosis, Repair, Severity, error, note, warning
from cortex_actors.embedding import manifest
from cortex_actors.embedding.factory import (
    COMPILES,
    find_source,
    is_compiled,
    is_hashing,
    report_model,
)
from cortex_actors.embedding.models import PUBLISHER, locate
from cortex_actors.errors import ActorAway, CortexError, DaemonDown, IndexDown, NotFound
from cortex_actors.process import lock
from cortex_actors.storage import models
from cortex_actors.storage.health.file import CheckupScope
from cortex_actors.storage.ledger import offline
from cortex_actors.storage.models import ChosenModel, find_active, find_coming, read_chosen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from cortex_actors.home import Home
    from cortex_actors.sections import EmbeddingSettings
    from cortex_actors.settings import Settings
    from cortex_actors.storage.index.life import GenerationPlace
    from cortex_actors.storage.index.verification import IndexVerdict
    from cortex_actors.storage.ledger.actor import Connection

T = TypeVar("T")

Answer = dict[str, Any]


def describe(home: Home) -> Answer:
    """Return what the files of a home say of its model.

    Raises `ModelMissing` for a home without vectors whose settings name no model that is here.
    """
    wanted, known = settings.load(home).embedding, read_chosen(home.ledger)
    if known is not None:
        model_id, provider = known.model_id, known.provider
    else:
        provider = wanted.provider
        named = provider == "sentence-transformers"
        model_id = locate(wanted.model).model_id if named else wanted.model
    return report_model(home.models, model_id, provider=provider, compiles=wanted.compile)


def make(home: Home, found: Answer, *, say: Callable[[str], None]) -> Answer:
    """Compile the model that was found in use, if it is not, and the one that is on its way.

    That one is `coming` in the answer. Raises `CompileFailed`, `ModelMissing`.
    """
    next_, made, coming = read_chosen(home.ledger, state="coming"), {**found, "made": False}, None
    if found["provider"] == COMPILES:
        made = _compiled(home, found["source"], read_chosen(home.ledger), say=say)
        wanted = settings.load(home).embedding.compile
        made |= {"id": found["id"], "unused": found["form"] == "float" and not wanted}
    if next_ is not None and next_.provider == COMPILES and not is_compiled(next_.model_id):
        coming = _compiled(home, find_source(next_.model_id), next_, say=say)
    return {**made, "coming": coming}


def _compiled(
    home: Home, source: str, known: ChosenModel | None, *, say: Callable[[str], None]
) -> Answer:
    """Return the report of a float model after compiling it, if that had not been done.

    Raises `ModelMissing`, and `NotFound` where its files are another model's now.
    """
    from cortex_actors.embedding.compiler import compile_model  # noqa: PLC0415 - seldom needed

    clock = SystemClock()
    begun = clock.monotonic()
    said: list[str] = []
    name = known.name if known is not None and known.name else None
    model = locate(name or settings.load(home).embedding.model)
    if model.model_id != source:
        raise NotFound(
            f"cannot compile {source}: its files are not where they were, and "
            f"{model.folder} holds {model.model_id}; bring them back, or change to another model "
            "with: cortex model migrate --to NAME"
        )

    def tell(line: str) -> None:
        said.append(line)
        say(line)

    # Whatever the settings say: the user asked for it.
    made = asyncio.run(compile_model(model, home.models, clock=clock, on_line=tell))
    after = report_model(home.models, made.model_id, provider=COMPILES, compiles=True)
    return {**after, "made": bool(said), "took_s": round(clock.monotonic() - begun, 3)}


def list_models(connection: Connection) -> Answer:
    """Return the models that a ledger knows: the one that answers, the next one, those before."""
    active, coming = models.find_active(connection), models.find_coming(connection)
    return {
        "active": None if active is None else asdict(active),
        "coming": None if coming is None else asdict(coming),
        "retired": [asdict(each) for each in models.list_retired(connection)],
    }


def cancel(home: Home) -> Answer:
    """End the migration that the ledger holds; raises `NotFound` when there is none.

    What it made is kept, as by a daemon.
    """
    if not home.ledger.exists():
        # Nothing is locked, because not even the home may be there.
        raise DaemonDown(f"no daemon runs for {home.root}, and it has no ledger yet: cortex start")
    with closing(lock.acquire(home)):
        found = offline.commit(home.ledger, partial(models.cancel, at=SystemClock().now()))
    if found is None:
        raise NotFound("cannot cancel: no migration runs")
    return {"cancelled": asdict(found)}


def check_active(opened: Connection, _scope: CheckupScope) -> Iterator[Diagnosis]:
    """Tell which model answers, and which one is on its way."""
    now, next_ = find_active(opened), find_coming(opened)
    if now is None:
        yield note("model", "the ledger names none yet", mend="a start does: cortex start")
    else:
        yield Diagnosis("model", f"{now.model_id}, {now.dimension} numbers")
    if next_ is not None:
        text = f"{next_.model_id} is on its way; the one before answers until then"
        yield note("model", text, mend="cortex model migration shows how far it is")


def check_files(patient: Patient) -> Iterator[Diagnosis]:
    """Compare every compiled model's files with the hashes in its manifest (100 ms a model)."""
    folder = patient.home.models
    wrong = manifest.list_damaged(folder)
    for name, why in wrong.items():
        if name == patient.model:
            yield error("model files", why, mend="cortex model prepare")
        else:
            yield note("model files", why, mend=f"it is not in use; delete {folder / name}")
    if patient.model and "+" in patient.model and patient.model not in wrong:
        yield from _used(patient)


def check_settings(patient: Patient) -> Iterator[Diagnosis]:
    """Compare the settings with the model that answers: the ledger decides, whatever they say."""
    found = read_chosen(patient.home.ledger)
    said = patient.settings.embedding
    given = said.model_fields_set & {"provider", "model"}
    if found is None or not given:
        yield Diagnosis("settings", "they name no other model than the one that answers")
        return
    differs = _differs(found, patient)
    if not differs:
        yield Diagnosis("settings", f"{found.model_id} is the model they name")
        return
    text = (
        f"{differs}, and {found.model_id} answers: a home that has vectors goes on with their model"
    )
    remedy = f"cortex model migrate --to {_named_model(said)}, or take the key out"
    yield Diagnosis("settings", text, Severity.NOTE, remedy)


def _used(patient: Patient) -> Iterator[Diagnosis]:
    """Look at the compiled model that answers."""
    if manifest.find_by_id(patient.home.models, patient.model) is None:
        text = (
            f"the compiled model {patient.model} is not there; texts are found by their words "
            "until it is made again"
        )
        yield warning("model files", text, mend="cortex model prepare")
    else:
        yield Diagnosis("model files", f"{patient.model}: as its manifest says")


def _differs(found: ChosenModel, patient: Patient) -> str:
    """Return which setting names another model than the one that answers; "" when none does."""
    said = patient.settings.embedding
    if "provider" in said.model_fields_set and said.provider != found.provider:
        return f"embedding.provider is {said.provider}"
    if found.provider == "hashing" or found.name is None or "model" not in said.model_fields_set:
        return ""
    if said.model.removeprefix(PUBLISHER) != found.name.removeprefix(PUBLISHER):
        return f"embedding.model is {said.model}"
    return ""


def _named_model(said: EmbeddingSettings) -> str:
    """Return the name of the model that the settings ask for, as a migration takes it."""
    if said.provider == "hashing" and not is_hashing(said.model):
        return "hashing"
    return f"openai:{said.model}" if said.provider == "openai" else said.model


#: What the comparison is called: `index` is what the ledger alone says of it.
CONTENT = "index content"

#: What mends an index that is not good while no daemon runs.
BEGINS = "cortex doctor --repair begins another from the stored vectors, and so does a start"

#: What a daemon does about one.
_RENEWED = "nothing: another is being built from the stored vectors, and exact search answers"

#: What has one begun whose folder is gone: a process that has its files open does not notice.
_REPAIR = "cortex doctor --repair begins another from the stored vectors"


async def compare_index(
    verify: Callable[[], Awaitable[IndexVerdict]], *, renews: bool
) -> list[Diagnosis]:
    """Return what a verification of the index finds.

    `renews` says that the process that has it open begins a new generation by itself when it is
    not good: a daemon does. Then one that does not answer now is being repaired.
    """
    try:
        verdict = await verify()
    except (IndexDown, ActorAway) as down:
        if not renews:
            text = f"it cannot be used: {down}"
            return [warning(CONTENT, text, mend=BEGINS, repair=Repair.INDEX)]
        text = f"it does not answer now, exact search does: {down}"
        return [note(CONTENT, text, mend="cortex status says how it is")]
    except CortexError as fault:
        return [error(CONTENT, f"it could not be compared: {fault}", mend="try it again")]
    if verdict.ok:
        held = sum(each.held for each in verdict.collections)
        asked = sum(each.canaries for each in verdict.collections)
        found = f"; {asked:,} that were asked for find themselves" if asked else ""
        return [Diagnosis(CONTENT, f"it holds {held:,} vectors, as the ledger says{found}")]
    if renews:
        return [warning(CONTENT, verdict.text, mend=_RENEWED)]
    return [warning(CONTENT, verdict.text, mend=BEGINS, repair=Repair.INDEX)]


def check_folder(place: GenerationPlace) -> Diagnosis | None:
    """Return that the folder of the generation that answers is gone, or empty; None if it is not.

    Its files stay open until the daemon ends, so every comparison still finds it good. A generation
    on a server has nothing of its own here. Blocks for a moment.
    """
    with suppress(OSError):
        if place.server is not None or any(place.folder.iterdir()):
            return None
    text = f"{place.folder} is gone; what is open answers until the daemon ends"
    return error(CONTENT, text, mend=_REPAIR, repair=Repair.INDEX)


@dataclass(frozen=True, slots=True)
class Patient:
    """One home, as one checkup finds it."""

    home: Home
    settings: Settings
    clock: Clock
    #: Whether a daemon runs: then we are in it.
    online: bool
    #: Whether a check may take as long as it needs.
    thorough: bool = False
    #: The vector space that answers; empty while it is not known.
    model: str = ""

    def as_scope(self) -> CheckupScope:
        """Return what the checks of the ledger want to know."""
        return CheckupScope(
            path=self.home.ledger,
            now=self.clock.now(),
            model=self.model,
            online=self.online,
            thorough=self.thorough,
        )
