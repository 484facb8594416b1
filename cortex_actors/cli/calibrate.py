"""`calibrate`: which thresholds fit what was decided; measured first, written only when asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json, show_table
from cortex_actors.client.connection import Client
from cortex_actors.errors import BadInput, NotFound

if TYPE_CHECKING:
    from typing import Any

    from cortex_actors.client.connection import Answer

#: Seconds a calibration may take: texts of a file are embedded, and pairs judged again and again.
PATIENCE = 300.0

#: What the daemon says where there are enough pairs, and nothing is better.
_AS_GOOD = "nothing fits these pairs better"

#: What is shown of a score.
_SHARES = ("precision", "recall")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "calibrate",
        epilog=examples(
            "cortex calibrate",
            "cortex calibrate --domain python",
            "cortex calibrate --pairs labelled.jsonl",
            "cortex calibrate --write",
        ),
    )(calibrate)


def calibrate(
    *,
    domain: Annotated[str | None, typer.Option(help="Only the pairs of this field.")] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(help='More pairs, a JSON object a line: {"label", "a": {"text"}, "b": ...}.'),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write what is better down, and follow it at once.")
    ] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show which thresholds fit the pairs that were decided, and what they would change."""
    brought = None if pairs is None else _read(pairs)
    found = Client(home, timeout=PATIENCE).call(
        "calibrate", domain=domain, pairs=brought, write=write
    )
    if as_json:
        show_json(found)
        return
    whole, *others = found["suggestions"] or [None]
    enough = [each for each in others if each["better"] or each["reason"] == _AS_GOOD]
    for each in filter(None, (whole, *enough)):
        _show(each)
    if few := [each for each in others if each not in enough]:
        names = ", ".join(f"{each['domain']} {sum(each['counts'].values())}" for each in few)
        print(f"too few decided pairs for a domain of their own: {names}\n")
    _close(found, write=write)


def _show(found: Answer) -> None:
    """Print what thresholds make of the pairs of one domain, now and then."""
    name = found["domain"] or "all domains"
    parts = [f"{count:,} {label}" for label, count in found["counts"].items() if count]
    rows = [_row("now", found["now"])]
    if found["better"]:
        rows.append(_row("suggested", found["then"]))
    show_table(
        f"{name}, pairs decided: {', '.join(parts) or 'none'}",
        ("", "cluster", "judged", "merges", "contradictions", "merged wrongly"),
        rows,
        empty="",
    )
    print(f"nothing else is suggested: {found['reason']}\n" if found["reason"] else "")


def _row(name: str, figures: Answer) -> tuple[object, ...]:
    """Return a line of figures: precision and recall where there are any."""
    return (
        name,
        f"{figures['cluster']:.2f}",
        f"{figures['judged']:.2f}",
        _both(figures["merges"]),
        _both(figures["contradictions"]),
        figures["contradictions_merged"],
    )


def _both(score: dict[str, Any]) -> str:
    """Return precision and recall."""
    shown = ["-" if score[name] is None else f"{score[name]:.2f}" for name in _SHARES]
    return " / ".join(shown)


def _close(found: Answer, *, write: bool) -> None:
    """Print what was written, or what can be done next."""
    better = [each for each in found["suggestions"] if each["better"]]
    if found["suggestions"]:
        print(
            "cluster: the cosine from which on two are one; judged: from which on two are compared"
        )
        print("merges and contradictions: precision / recall over the decided pairs")
    if found["written"]:
        changed = ", ".join(found["changed"]) or "nothing: cortex.toml says otherwise"
        print(f"wrote {found['written']}; changed {changed}")
        print("insights are compared anew by it; remove the file and reload to go back")
    elif better:
        print("nothing was written; follow it with: cortex calibrate --write")
    elif write:
        print("nothing was written: nothing is suggested")
    else:
        print("decide more pairs with: cortex contradictions")


def _read(path: Path) -> list[Any]:
    """Return the pairs of a file; raises `NotFound`, or `BadInput` naming the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        message = f"cannot read the pairs in {path}: it is not there"
        raise NotFound(message) from None
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read the pairs in {path}: {error}"
        raise BadInput(message) from error
    found = []
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                found.append(_needed(json.loads(line)))
        except ValueError as error:
            message = f"line {number} of {path} is no JSON object: {error}"
            raise BadInput(message) from error
    return found


def _needed(pair: Any) -> Any:  # noqa: ANN401 - any JSON; the daemon says what is wrong with it
    """Return what the daemon needs of a pair: a request has 1 MiB."""
    if not isinstance(pair, dict):
        return pair
    sides = {
        side: {name: pair[side].get(name) for name in ("text", "heading")}
        for side in ("a", "b")
        if isinstance(pair.get(side), dict)
    }
    return {"label": pair.get("label"), **sides}
