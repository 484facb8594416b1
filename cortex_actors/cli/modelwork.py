"""What `cortex model` does, with a daemon or without one.

Everything that is not quick to import is imported where it is needed: the other commands list this
one and should not pay for it.
"""

from __future__ import annotations

import asyncio
from contextlib import closing, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import SystemClock
from cortex_actors.errors import CortexError, DaemonDown, NotFound, Refused
from cortex_actors.process import lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex_actors.embedding.manifest import Gates
    from cortex_actors.embedding.models import Model
    from cortex_actors.home import Home
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.models import Chosen

#: Seconds a daemon may take to answer: it reads the model's files, or asks an endpoint.
TIMEOUT = 120.0


def in_use(home: Home) -> Answer:
    """Return what the daemon says of its model, else what the files of the home do.

    Raises `ModelMissing` for a home without vectors whose settings name no model that is here.
    """
    try:
        return Client(home, timeout=TIMEOUT).call("model")
    except DaemonDown:
        return _from_files(home)


def make(home: Home, *, say: Callable[[str], None]) -> Answer:
    """Compile the home's model if it is not, and have a daemon that runs take it up.

    So is the model that is on its way, if there is one; it is `coming` in the answer. Raises
    `CompileFailed`, `ModelMissing`.
    """
    from cortex_actors.embedding.factory import (  # noqa: PLC0415 - likewise
        COMPILES,
        is_compiled,
        source_of,
    )
    from cortex_actors.storage.models import chosen  # noqa: PLC0415 - SQLAlchemy

    found, next_ = in_use(home), chosen(home.ledger, state="coming")
    made = {**found, "made": False}
    if found["provider"] == COMPILES:
        made = _made(home, found["source"], chosen(home.ledger), say=say)
        unused = found["form"] == "float" and not _wanted(home)
        made = {**made, "id": found["id"], "unused": unused}
    coming = None
    if next_ is not None and next_.provider == COMPILES and not is_compiled(next_.model_id):
        coming = _made(home, source_of(next_.model_id), next_, say=say)
    if made["made"] or coming or found["provider"] == COMPILES:
        with suppress(DaemonDown):
            Client(home, timeout=TIMEOUT).call("prepare_model")
    return {**made, "coming": coming}


def _made(home: Home, source: str, known: Chosen | None, *, say: Callable[[str], None]) -> Answer:
    """Return the report of a float model after compiling it, if that had not been done."""
    from cortex_actors.embedding.compiler import compile_model  # noqa: PLC0415 - seldom needed
    from cortex_actors.embedding.factory import COMPILES, report  # noqa: PLC0415 - likewise

    clock = SystemClock()
    begun, model = clock.monotonic(), _float_model(home, source, known)
    said: list[str] = []

    def tell(line: str) -> None:
        said.append(line)
        say(line)

    # Whatever the settings say: whoever prepares wants it.
    made = asyncio.run(compile_model(model, home.models, clock=clock, on_line=tell))
    after = report(home.models, made.model_id, provider=COMPILES, compiles=True)
    return {**after, "made": bool(said), "took_s": round(clock.monotonic() - begun, 3)}


def check(home: Home) -> Answer:
    """Return whether the compiled model's files are whole and it still passes its gates."""
    from cortex_actors.embedding import calibration, manifest  # noqa: PLC0415 - numpy

    found = in_use(home)
    wrong = [f"{name}: {why}" for name, why in found["damaged"].items()]
    compiled, gates, files = found["compiled"], None, []
    if compiled is not None:
        folder = Path(compiled["folder"])
        try:
            read = manifest.read(folder)
            files = [f"{name}, sha256 {digest}" for name, digest in read.hashes.items()]
            gates = calibration.again(folder, read)
            missed = calibration.missed(gates, calibration.LEAST_OF[read.kind])
        except (CortexError, OSError, ValueError) as error:
            # The last one is of files that are what was written and hold no model all the same.
            missed = str(error)
        if missed:
            wrong.append(
                f"{folder.name}: {missed}. Delete the folder {folder}, then make it again: cortex "
                "model prepare"
            )
    shown = None if gates is None else _rounded(gates)
    return {**found, "files": files, "gates": shown, "wrong": wrong}


def begin_using(home: Home, name: str) -> Answer:
    """Have the home use another model; returns it and `how`: "now", "first" or "next start".

    Raises `ModelMissing` naming the mend, `Refused` for the model that is used already, and
    `DaemonDown` for a home that has no ledger yet, where the settings decide.
    """
    folder = Path(name).expanduser()
    # The empty name would be the folder that one is in.
    whole = str(folder.absolute()) if name.strip() and folder.is_dir() else name
    try:
        coming = Client(home, timeout=TIMEOUT).call("migrate", to=whole)["coming"]
    except DaemonDown:
        return _written(home, whole)
    return {**coming, "how": "now"}


def _wanted(home: Home) -> bool:
    """Say whether a daemon of this home embeds with compiled models."""
    from cortex_actors import settings  # noqa: PLC0415 - pydantic

    return settings.load(home).embedding.compile


def _from_files(home: Home) -> Answer:
    """Return what is known of the model of a home whose daemon does not answer."""
    from cortex_actors import settings  # noqa: PLC0415 - pydantic
    from cortex_actors.embedding.factory import report  # noqa: PLC0415 - with the ledger's rows
    from cortex_actors.storage.models import chosen  # noqa: PLC0415 - SQLAlchemy

    wanted = settings.load(home).embedding
    known = chosen(home.ledger)
    if known is not None:
        model_id, provider = known.model_id, known.provider
    else:
        model_id, provider = _first(wanted.model, wanted.provider), wanted.provider
    return report(home.models, model_id, provider=provider, compiles=wanted.compile)


def _first(name: str, provider: str) -> str:
    """Return the id, or what is known of it, of the model that a home without one would have."""
    from cortex_actors.embedding.models import locate  # noqa: PLC0415 - seldom needed

    return locate(name).model_id if provider == "sentence-transformers" else name


def _float_model(home: Home, source: str, known: Chosen | None) -> Model:
    """Return the float model whose compiled form is wanted; raises `ModelMissing`."""
    from cortex_actors import settings  # noqa: PLC0415 - pydantic
    from cortex_actors.embedding.models import locate  # noqa: PLC0415 - seldom needed

    name = known.name if known is not None and known.name else None
    model = locate(name or settings.load(home).embedding.model)
    if model.model_id != source:
        raise NotFound(
            f"cannot compile {source}: its files are not where they were, and "
            f"{model.folder} holds {model.model_id}; bring them back, or change to another model "
            "with: cortex model use NAME"
        )
    return model


def _written(home: Home, name: str) -> Answer:
    """Write down the model in the ledger of a daemon that is down; the next start does the work."""
    from cortex_actors.embedding.models import GIVE, locate  # noqa: PLC0415 - seldom needed
    from cortex_actors.storage.ledger import offline  # noqa: PLC0415 - SQLAlchemy
    from cortex_actors.storage.models import Chosen  # noqa: PLC0415 - likewise

    model = locate(name, mend=GIVE)
    if not home.ledger.exists():
        raise DaemonDown(
            f"{home.root} has no ledger yet, so its settings choose the model: write "
            f'`model = "{name}"` under [embedding] in {home.settings}, or start it with '
            f"CORTEX_EMBEDDING__MODEL={name} cortex start"
        )
    chosen = Chosen(model.model_id, "sentence-transformers", name, model.dimension)
    at = SystemClock().now()
    with closing(lock.acquire(home)):
        how = offline.commit(home.ledger, partial(_note, chosen=chosen, at=at))
    return {"model_id": model.model_id, "provider": chosen.provider, "name": name, "how": how}


def _note(connection: Connection, *, chosen: Chosen, at: int) -> str:
    """Write a model down as the one that answers, or as the one that comes; return when."""
    from cortex_actors.embedding.factory import source_of  # noqa: PLC0415 - seldom needed
    from cortex_actors.storage import models  # noqa: PLC0415 - SQLAlchemy

    active = models.active(connection)
    if active is None:
        models.settle(connection, chosen, at)
        return "first"
    if source_of(active.model_id) == chosen.model_id:
        raise Refused(f"cannot change to {chosen.model_id}: {active.model_id} answers already")
    models.begin(connection, chosen, at)
    return "next start"


def _rounded(gates: Gates) -> dict[str, float]:
    """Return gates as they are shown."""
    return {name: round(value, 6) for name, value in asdict(gates).items()}
