"""`model`: the model that embeds, its compiled form, and the way to another model.

Without a daemon `doctor.models` answers: nearly all of that is possible then, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from cortex_actors.cli import show
from cortex_actors.cli.declare import HomeOption, JsonOption, Option, command, shows
from cortex_actors.client.connection import Answer, Client
from cortex_actors.clock import SECOND, SystemClock, format_span, iso
from cortex_actors.errors import DaemonDown, visible
from cortex_actors.home import Home

#: Seconds between two looks at how far it is.
POLL = 0.5

#: States in which there is work to do.
WORKING = ("compiling", "migrating")

#: Bytes of a megabyte, as people count them.
MB = 1_000_000

#: Answers where no daemon runs.
_OFFLINE = "cortex_actors.doctor.models"


@shows(
    "model",
    "",
    asks="model.show",
    also="model status",
    about="See, compile, check and choose the model that embeds.",
    is_group=True,
    offline=f"{_OFFLINE}:describe",
)
def show_model(found: Answer) -> None:
    """Print which model embeds, and how its compiled form is."""
    show.lines(*_lines(found))


def _in_use(home: Home) -> Answer:
    """Return what the daemon says of its model, else what the files of the home do."""
    from cortex_actors.doctor import models as offline  # noqa: PLC0415 - SQLAlchemy, numpy

    try:
        return Client(home).call("model")
    except DaemonDown:
        return offline.describe(home)


@command("model prepare", "")
def prepare(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Compile the model now, and not in the background; a second time there is nothing to do."""
    from cortex_actors.doctor import models as offline  # noqa: PLC0415 - SQLAlchemy, numpy

    place = Home.find(home)
    # A program reads what comes at the end.
    found = offline.make(
        place, _in_use(place), say=lambda line: show.lines(*[line] * (not as_json))
    )
    # What may be compiled says whether its compiled form is used.
    if found["coming"] or "unused" in found:
        with suppress(DaemonDown):
            Client(home).call("prepare_model")
    show.json(found) if as_json else show.lines(*_made(found))


@command(
    "model migrate",
    "--to all-MiniLM-L6-v2",
    "--to ~/models/my-model --no-wait",
    "--to nomic-embed-text --provider openai",
    asks="model.migrate",
    to=Option(metavar="NAME", help="A model's name or folder."),
    no_wait=Option(kind="flag", help="Do not watch it."),
)
def migrate(
    *, to: str, provider: str | None, no_wait: bool, as_json: bool, home: Path | None
) -> None:
    """Embed everything with another model, which answers once that is done."""
    client = Client(home)
    before = client.call("migration")["active"]
    begun = client.call("migrate", to=_absolute(to), provider=provider)
    if not no_wait:
        _watch(client, is_shown=not as_json)
    found = client.call("migration") if not no_wait else begun
    if as_json:
        show.json(found)
    elif no_wait:
        print(f"it goes on in the background: {visible(begun['coming']['model_id'])}")
        print("how far it is: cortex model migration")
    else:
        _say_end(found, before)


@shows("model migration", "--json")
def show_migration(found: Answer) -> None:
    """Print which model answers, which one is coming, and which are kept."""
    show.lines(*_migration_lines(found))


@shows("model cancel", "", offline=f"{_OFFLINE}:cancel")
def show_cancelled(found: Answer) -> None:
    """Print which migration was ended."""
    print(f"called off: {visible(found['cancelled']['model_id'])}; what it made is kept a week,")
    print("and used if you begin again")


def _absolute(name: str) -> str:
    """Return a folder's whole path: the daemon runs elsewhere. Other names stay as they are."""
    path = Path(name).expanduser()
    # The empty name would be the folder that one is in.
    return str(path.absolute()) if name.strip() and path.is_dir() else name


def _watch(client: Client, *, is_shown: bool) -> None:
    """Return once no migration runs; Ctrl-C ends only the watching."""
    with show.progress(is_shown=is_shown, follow="cortex model migration") as bar:
        task = bar.add_task("embedding", total=0, pace="")
        while (found := client.call("migration"))["coming"] or found["state"] in WORKING:
            # How far it is, or what it waits for.
            title = {"compiling": "compiling", "waiting": "waiting"}.get(found["state"])
            pace = found["reason"] if title == "waiting" else _pace(found)
            pace = visible(f" texts  {pace}")
            bar.update(task, description=title or "embedding", pace=pace)
            bar.update(task, total=found["total"], completed=found["done"])
            time.sleep(POLL)


def _pace(found: Answer) -> str:
    """Return how fast it goes and how long it will take."""
    if found["left_s"] is None or not found["total"]:
        return ""
    return f"{found['rate']:.0f}/s, {format_span(found['left_s'])} left"


def _say_end(found: Answer, before: Answer | None) -> None:
    """Say what came of a migration that was watched."""
    active = found["active"]
    if before is not None and active["model_id"] == before["model_id"]:
        print(f"called off: {visible(active['model_id'])} goes on answering")
        return
    print(f"{visible(active['model_id'])} answers now")
    if before is not None:
        print(f"vectors of {visible(before['model_id'])} are kept a week, to go back quickly")


def _migration_lines(found: Answer) -> list[str]:
    """Return what `status` says, a line each."""
    active, coming = found["active"], found["coming"]
    lines = ["answers   no model yet: cortex status says why"]
    if active:
        about = f"{active['provider']}, {active['dimension']} numbers"
        lines = [f"answers   {active['model_id']} ({about})"]
    if coming:
        pace = _pace(found)
        done = f"{found['done']:,} of {found['total']:,} texts"
        lines.append(f"coming    {coming['model_id']}: {done}{', ' if pace else ''}{pace}")
    if found["failed"]:
        lines.append(f"          {found['failed']:,} texts cannot be embedded with it")
    if found["state"] == "compiling":
        lines.append("compiling its compiled form is being made; it takes some 20 seconds")
    if found["reason"]:
        waits = found["state"] == "waiting"
        lines.append(f"{'waiting' if waits else 'failed':9} {found['reason']}")
    said = {"note": found["note"], "settings": found["differs"]}
    lines += [f"{word:9} {text}" for word, text in said.items() if text]
    now = SystemClock().now()
    for each in found["retired"]:
        ago = format_span((now - each["since"]) / SECOND)
        lines.append(f"kept      {each['model_id']}, replaced {ago} ago")
    return lines


def _lines(found: Answer) -> Iterator[str]:
    """Yield what `status` says."""
    yield f"model     {found['source']} ({found['provider']})"
    yield f"space     {found['id']}"
    state = "no daemon runs"
    if embedder := found.get("embedder"):
        reason = f": {embedder['reason']}" if embedder.get("reason") else ""
        state = f"{embedder.get('state', '?')}{reason}"
    yield f"state     {state}"
    compiled = found["compiled"]
    if compiled is None:
        yield f"compiled  no: {found['why']}"
    else:
        size = f"{compiled['size'] / MB:.1f} MB"
        yield f"compiled  {compiled['kind']}, {size}, {iso(compiled['made_at'])}"
        if compiled["note"]:
            yield f"          {compiled['note']}"
        yield f"gates     {_gates(compiled['gates'])}"
        most = f"{compiled['max_tokens']} tokens at a time"
        yield f"reads     {most}, pooled by {compiled['pooling']}"
        versions = ", ".join(f"{name} {number}" for name, number in compiled["versions"].items())
        yield f"made with {versions}"
        yield f"folder    {compiled['folder']}"
    for name, why in found["damaged"].items():
        lost = found.get("lost") and name == found["id"]
        yield f"{'not there' if lost else 'damaged':9} {name}: {why}"
    if moving := _under_way(found.get("migration") or {}):
        yield f"next      {moving}"


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
        making = migration.get("making")
        if not making:
            return "compiling"
        step = f": {making['step']}" if making["step"] else ""
        return f"compiling {making['source']} since {iso(making['since'])}{step}"
    if coming:
        done = f"{migration['done']:,} of {migration['total']:,} texts"
        return f"migration to {coming['model_id']}: {done}"
    return str(migration.get("reason") or migration.get("note") or "")


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
