"""`model status | prepare | verify | use NAME`: the model that embeds, and its compiled form.

What `cortex model` does, with a daemon or without one.

Everything that is not quick to import is imported where it is needed: the other commands list this
one and should not pay for it.

What `cortex embeddings` does without a daemon: on the rows of the ledger, under the home's lock.

So a home whose daemon cannot start, for whatever reason, can still give up its migration.
"""

from __future__ import annotations

import asyncio
from contextlib import closing, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from cortex_actors.cli.output import Commands, HomeOption, JsonOption, examples, show_json
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import SystemClock, iso
from cortex_actors.errors import CortexError, DaemonDown, NotFound, Refused
from cortex_actors.home import Home
from cortex_actors.process import lock
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cortex_actors.embedding.manifest import Gates
    from cortex_actors.embedding.models import Model
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
        made = _made_report(home, found["source"], chosen(home.ledger), say=say)
        unused = found["form"] == "float" and not _wanted(home)
        made = {**made, "id": found["id"], "unused": unused}
    coming = None
    if next_ is not None and next_.provider == COMPILES and not is_compiled(next_.model_id):
        coming = _made_report(home, source_of(next_.model_id), next_, say=say)
    if made["made"] or coming or found["provider"] == COMPILES:
        with suppress(DaemonDown):
            Client(home, timeout=TIMEOUT).call("prepare_model")
    return {**made, "coming": coming}


def _made_report(
    home: Home, source: str, known: Chosen | None, *, say: Callable[[str], None]
) -> Answer:
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


#: Bytes of a megabyte, as people count them.
MB = 1_000_000

#: What a shell gets from a command that Ctrl-C ended.
INTERRUPTED = 130


def group() -> typer.Typer:
    """Return the group."""
    model = typer.Typer(
        help="See, compile, check and choose the model that embeds.",
        rich_markup_mode=None,
        epilog=examples("cortex model status", "cortex model prepare", "cortex model verify"),
    )
    model.callback(cls=Commands, invoke_without_command=True)(status)
    model.command("status", epilog=examples("cortex model status --json"))(status)
    model.command("prepare", epilog=examples("cortex model prepare"))(prepare)
    model.command("verify", epilog=examples("cortex model verify", "cortex model verify --json"))(
        verify
    )
    model.command(
        "use",
        epilog=examples("cortex model use all-MiniLM-L6-v2", "cortex model use ~/models/my-model"),
    )(use)
    return model


def status(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Say which model embeds, whether it is compiled and how good that is, and what is under way.

    Works without a daemon, too.
    """
    found = in_use(Home.of(home))
    _show(found, as_json=as_json, lines=_lines(found))


def prepare(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Compile the model now, and not in the background; a second time there is nothing to do."""
    try:
        found = make(Home.of(home), say=_silent if as_json else _step)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    _show(found, as_json=as_json, lines=_made(found))


def verify(as_json: JsonOption = False, home: HomeOption = None) -> int:
    """Check the compiled model's files and gates. Exit code: 0 good or none, 1 wrong."""
    found = check(Home.of(home))
    _show(found, as_json=as_json, lines=_checked(found))
    return 1 if found["wrong"] else 0


def use(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model's name, or its folder.")],
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Change to another model: at once where there are no vectors yet, else by a migration."""
    found = begin_using(Home.of(home), name)
    _show(found, as_json=as_json, lines=_begun(found))


def _show(found: Answer, *, as_json: bool, lines: Iterator[str]) -> None:
    """Print what was found, for a program or for a person."""
    if as_json:
        show_json(found)
        return
    for line in lines:
        print(visible(line))


def _lines(found: Answer) -> Iterator[str]:
    """Yield what `status` says."""
    yield f"model     {found['source']} ({found['provider']})"
    yield f"space     {found['id']}"
    embedder = found.get("embedder")
    if embedder:
        reason = f": {embedder['reason']}" if embedder.get("reason") else ""
        yield f"state     {embedder.get('state', '?')}{reason}"
    else:
        yield "state     no daemon runs"
    compiled = found["compiled"]
    if compiled is None:
        yield f"compiled  no: {found['why']}"
    else:
        yield from _compiled_lines(compiled)
    for name, why in found["damaged"].items():
        lost = found.get("lost") and name == found["id"]
        yield f"{'not there' if lost else 'damaged':9} {name}: {why}"
    if moving := _under_way(found.get("migration") or {}):
        yield f"under way {moving}"


def _compiled_lines(compiled: Answer) -> Iterator[str]:
    """Yield what there is to say of a compiled form."""
    size = f"{compiled['size'] / MB:.1f} MB"
    yield f"compiled  {compiled['kind']}, {size}, {iso(compiled['made_at'])}"
    if compiled["note"]:
        yield f"          {compiled['note']}"
    yield f"gates     {_gates(compiled['gates'])}"
    yield f"reads     {compiled['max_tokens']} tokens at a time, pooled by {compiled['pooling']}"
    versions = ", ".join(f"{name} {number}" for name, number in compiled["versions"].items())
    yield f"made with {versions}"
    yield f"folder    {compiled['folder']}"


def _gates(gates: dict[str, float]) -> str:
    """Return how near a compiled form is to its float model."""
    return (
        f"mean cosine {gates['mean_cosine']:.4f}, Spearman {gates['spearman']:.4f}, "
        f"top-10 overlap {gates['overlap']:.3f}"
    )


def _under_way(migration: dict[str, Any]) -> str:
    """Return what the daemon does about models now; empty when nothing."""
    coming = migration.get("coming")
    if migration.get("state") == "compiling":
        return _compiling(migration.get("making") or {})
    if coming:
        done = f"{migration['done']:,} of {migration['total']:,} texts"
        return f"migration to {coming['model_id']}: {done}"
    return str(migration.get("reason") or migration.get("note") or "")


def _compiling(making: Answer) -> str:
    """Return which model is compiled, since when, and the last step."""
    text = "compiling"
    if making:
        text += f" {making['source']} since {iso(making['since'])}"
        text += f": {making['step']}" if making["step"] else ""
    return text


def _made(found: Answer) -> Iterator[str]:
    """Yield what `prepare` says at its end."""
    coming, compiled = found.get("coming"), found["compiled"]
    if coming:
        form = coming["compiled"]["model_id"]
        how = f"made in {coming['took_s']:.0f} s" if coming["made"] else "there already"
        yield f"coming    {form}: {how}; used once the migration has come so far"
    if compiled is None:
        if not coming:
            yield f"nothing to do: {found['why']}"
        return
    how = f"made in {found['took_s']:.0f} s" if found["made"] else "there already, nothing to do"
    yield f"compiled  {compiled['model_id']}, {compiled['size'] / MB:.1f} MB: {how}"
    yield f"gates     {_gates(compiled['gates'])}"
    if compiled["note"]:
        yield f"note      {compiled['note']}"
    if found["unused"]:
        yield "note      embedding.compile is false, so the float model goes on embedding"


def _checked(found: Answer) -> Iterator[str]:
    """Yield what `verify` says."""
    if found["compiled"] is None and not found["wrong"]:
        yield f"there is no compiled model to check: {found['why']}"
    for each in found["files"]:
        yield f"whole     {each}"
    if found["gates"]:
        yield f"gates     {_gates(found['gates'])}"
        yield f"once      {_gates(found['compiled']['gates'])}"
    for each in found["wrong"]:
        yield f"wrong     {each}"


def _begun(found: Answer) -> Iterator[str]:
    """Yield what `use` says."""
    model = found["model_id"]
    if found["how"] == "first":
        yield f"{model} embeds from the next start on: cortex start"
    elif found["how"] == "next start":
        yield f"the next start migrates to {model}; the model before it answers until then"
    else:
        yield f"migrating to {model} in the background; the model before it answers until then"
        yield "how far it is: cortex model migration"


def _step(line: str) -> None:
    """Show a step of a compile."""
    print(visible(line), flush=True)


def _silent(_line: str) -> None:
    """Show nothing: a program reads what comes at the end."""


T = TypeVar("T")

#: Vectors that one statement deletes; nobody waits, but the statement's list is kept small.
FORGOTTEN = 5_000


def migration(home: Home) -> Answer:
    """Return which model answers, which one is to come, and which are kept.

    Raises `DaemonDown` where there is no ledger yet.
    """
    return _unit(home, _migration)


def cancel_in_ledger(home: Home) -> Answer:
    """End the migration that the ledger holds; raises `NotFound` when there is none.

    What it made is kept, as by a daemon.
    """
    return _unit(home, _cancel)


def prune_in_ledger(home: Home) -> Answer:
    """Delete the vectors of models that neither answer nor come; a crash keeps all of them."""
    return _unit(home, _prune)


def _unit(home: Home, unit: Callable[[Connection], T]) -> T:
    """Run a unit of work in the ledger of a daemon that is down."""
    from cortex_actors.storage.ledger import offline  # noqa: PLC0415 - SQLAlchemy

    if not home.ledger.exists():
        # Nothing is locked, because not even the home may be there.
        raise DaemonDown(f"no daemon runs for {home.root}, and it has no ledger yet: cortex start")
    with closing(lock.acquire(home)):
        return offline.commit(home.ledger, unit)


def _migration(connection: Connection) -> Answer:
    """Return the models of a ledger, in the shape of the verb's answer."""
    from cortex_actors.storage import embeddings, models  # noqa: PLC0415 - SQLAlchemy

    active, coming = models.active(connection), models.coming(connection)
    far = None if coming is None else embeddings.progress(connection, coming.model_id)
    return {
        "state": "down",
        "reason": "no daemon runs; the next start goes on with it" if coming else "",
        "note": "",
        "differs": "",
        "active": None if active is None else asdict(active),
        "coming": None if coming is None else asdict(coming),
        "total": 0 if far is None else far.total,
        "done": 0 if far is None else far.done,
        "failed": 0,
        "rate": 0.0,
        "left_s": None,
        "retired": [asdict(each) for each in models.retired(connection)],
    }


def _cancel(connection: Connection) -> Answer:
    """End the migration."""
    from cortex_actors.storage import models  # noqa: PLC0415 - SQLAlchemy

    found = models.cancel(connection, SystemClock().now())
    if found is None:
        raise NotFound("cannot cancel: no migration is under way")
    return {"cancelled": asdict(found)}


def _prune(connection: Connection) -> Answer:
    """Forget every model that is not in use."""
    from cortex_actors.storage import models  # noqa: PLC0415 - SQLAlchemy

    old = [each.model_id for each in models.retired(connection)] + models.strangers(connection)
    forgotten = dict.fromkeys(old, 0)
    for model in old:
        while gone := models.forget(connection, model, FORGOTTEN):
            forgotten[model] += gone
    return {"forgotten": forgotten}
