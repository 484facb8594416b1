"""The embedding models: which one answers, its files, and what the settings say of it.

Whether the vector index holds what the ledger says, as whoever has it open finds out.

`Patient` is what all checks of one visit look at: home, settings, clock.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from cortex_actors.domain.hit import Diagnosis, Repair, Severity, error, note, warning
from cortex_actors.embedding import manifest
from cortex_actors.embedding.factory import is_hashing
from cortex_actors.embedding.models import PUBLISHER
from cortex_actors.errors import ActorAway, CortexError, IndexDown
from cortex_actors.storage.health.file import Scope
from cortex_actors.storage.models import active, chosen, coming

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from cortex_actors.clock import Clock
    from cortex_actors.home import Home
    from cortex_actors.sections import EmbeddingSettings
    from cortex_actors.settings import Settings
    from cortex_actors.storage.index.life import Place
    from cortex_actors.storage.index.verification import Verdict
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.models import Chosen


#: The packages that run a compiled model: others only made it.
_RUNNING = ("onnxruntime", "tokenizers")


def answering(opened: Connection, _scope: Scope) -> Iterator[Diagnosis]:
    """Tell which model answers, and which one is on its way."""
    now, next_ = active(opened), coming(opened)
    if now is None:
        yield note("model", "the ledger names none yet", mend="a start does: cortex start")
    else:
        yield Diagnosis("model", f"{now.model_id}, {now.dimension} numbers")
    if next_ is not None:
        text = f"{next_.model_id} is on its way; the one before answers until then"
        yield note("model", text, mend="cortex model migration shows how far it is")


def model_files(patient: Patient) -> Iterator[Diagnosis]:
    """Compare every compiled model's files with the hashes in its manifest (100 ms a model)."""
    folder = patient.home.models
    wrong = manifest.damaged(folder)
    for name, why in wrong.items():
        if name == patient.model:
            yield error("model files", why, mend="cortex model prepare")
        else:
            yield note("model files", why, mend=f"nobody uses it; delete {folder / name}")
    if patient.model and "+" in patient.model and patient.model not in wrong:
        yield from _used(patient)


def configured(patient: Patient) -> Iterator[Diagnosis]:
    """Compare the settings with the model that answers: the ledger decides, whatever they say."""
    found = chosen(patient.home.ledger)
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
    found = manifest.by_id(patient.home.models, patient.model)
    if found is None:
        text = (
            f"the compiled model {patient.model} is not there; texts are found by their words "
            "until it is made again"
        )
        yield warning("model files", text, mend="cortex model prepare")
        return
    _folder, made = found
    other = [
        f"{name} {made.versions[name]} (now {_version(name)})"
        for name in _RUNNING
        if name in made.versions and made.versions[name] != _version(name)
    ]
    if other:
        text = f"{patient.model} was checked with {', '.join(other)}"
        remedy = "cortex model verify compares it with the model it was made of"
        yield note("model files", text, mend=remedy)
    else:
        yield Diagnosis("model files", f"{patient.model}: as its manifest says")


def _differs(found: Chosen, patient: Patient) -> str:
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


def _version(package: str) -> str:
    """Return the version of a package that is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


#: What the comparison is called: `index` is what the ledger alone says of it.
CONTENT = "index content"

#: What mends an index that is not good while no daemon runs.
ANEW = "cortex doctor --repair begins another from the stored vectors, and so does a start"

#: What a daemon does about one.
_RENEWED = "nothing: another is being built from the stored vectors, and exact search answers"

#: What has one begun whose folder is gone: whoever has its files open does not notice.
_REPAIR = "cortex doctor --repair begins another from the stored vectors"


async def compared(verify: Callable[[], Awaitable[Verdict]], *, renews: bool) -> list[Diagnosis]:
    """Return what a verification of the index finds.

    `renews` says that whoever has it open begins a new generation by itself when it is not good:
    a daemon does. Then one that does not answer now is being seen to.
    """
    try:
        verdict = await verify()
    except (IndexDown, ActorAway) as down:
        if not renews:
            text = f"it cannot be used: {down}"
            return [warning(CONTENT, text, mend=ANEW, repair=Repair.INDEX)]
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
    return [warning(CONTENT, verdict.text, mend=ANEW, repair=Repair.INDEX)]


def lost(place: Place) -> Diagnosis | None:
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
    #: The vector space that answers; empty while nobody knows.
    model: str = ""

    def scope(self) -> Scope:
        """Return what the checks of the ledger want to know."""
        return Scope(
            path=self.home.ledger,
            now=self.clock.now(),
            model=self.model,
            online=self.online,
            thorough=self.thorough,
        )
