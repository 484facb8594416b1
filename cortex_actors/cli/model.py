"""`model status | prepare | verify | use NAME`: the model that embeds, and its compiled form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cortex_actors.cli.modelwork import begin_using, check, in_use, make
from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json
from cortex_actors.clock import iso
from cortex_actors.home import Home
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.client.connection import Answer

#: Bytes of a megabyte, as people count them.
MB = 1_000_000

#: What a shell gets from a command that Ctrl-C ended.
INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    """Add the commands."""
    model = typer.Typer(
        help="See, compile, check and choose the model that embeds.",
        rich_markup_mode=None,
        epilog=examples("cortex model status", "cortex model prepare", "cortex model verify"),
    )
    model.command("status", epilog=examples("cortex model status --json"))(status)
    model.command("prepare", epilog=examples("cortex model prepare"))(prepare)
    model.command("verify", epilog=examples("cortex model verify", "cortex model verify --json"))(
        verify
    )
    model.command(
        "use",
        epilog=examples("cortex model use all-MiniLM-L6-v2", "cortex model use ~/models/my-model"),
    )(use)
    app.add_typer(model, name="model")


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
        yield "how far it is: cortex embeddings status"


def _step(line: str) -> None:
    """Show a step of a compile."""
    print(visible(line), flush=True)


def _silent(_line: str) -> None:
    """Show nothing: a program reads what comes at the end."""
