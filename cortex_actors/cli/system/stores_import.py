"""`stores import`: the stores of a Seren Corpus Callosum, from its YAML file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, HomeOption, JsonOption, Option, command, read_text
from cortex_actors.cli.show import counted, joined
from cortex_actors.cli.system.stores import format_values, shown
from cortex_actors.client.connection import Answer, Client
from cortex_actors.errors import visible
from cortex_actors.federation.callosum import LONGEST, CallosumFile
from cortex_actors.federation.callosum import read_text as read_stores
from cortex_actors.federation.schema import mask_address

if TYPE_CHECKING:
    from cortex_actors.federation.store import StoreSpec


@command(
    "stores import",
    "seren-corpus-callosum.yaml --dry-run",
    "seren-corpus-callosum.yaml",
    "runtime-stores.json --replace --yes",
)
def import_(
    path: Annotated[Path, Argument(metavar="FILE", help="A Callosum's YAML, or its overlay.")],
    *,
    replace: Annotated[bool, Option(help="Let the file win over stores added by command.")] = False,
    dry_run: Annotated[bool, Option(help="Say what would come of it, and change nothing.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Add the stores of a Callosum's file, and turn the fan as it says.

    What is no store is left out and listed. Where the file has tokens of this machine sent to its
    addresses (token_env, token_keyring), that is shown and asked first.
    """
    text = read_text(path, "import stores", most=LONGEST)
    said = read_stores(text)
    if dry_run:
        found = Client(home).call("import_stores", text=text, replace=replace, dry_run=True)
        if as_json:
            show.json({**found, "knobs": found["changed"]})
        else:
            _show_foreseen(said, found)
        return
    lending = [each for each in said.stores if each.auth.token_env or each.auth.token_keyring]
    if lending and not yes:
        for each in lending:
            line = f"{each.name}: {_lent(each)} goes to {mask_address(each.url)}"
            print(visible(line), file=sys.stderr)
        refusal = "refused to lend tokens of this machine to a file's addresses without being asked"
        question, no = "Send these tokens there?", "nothing was imported"
        show.confirm(question, refusal=refusal, no=no, err=True)
    found = Client(home).call("import_stores", text=text, replace=replace)
    (show.json if as_json else _show)(found)


def _lent(store: StoreSpec) -> str:
    """Return where the token lies that a store is given."""
    if store.auth.token_keyring:
        return f"the keyring's {store.auth.token_keyring}"
    return f"the variable {store.auth.token_env}"


def _show_foreseen(said: CallosumFile, found: Answer) -> None:
    """Print what would come of a file."""
    rows = {each["name"]: each for each in found["stores"]}
    blocks = [_entry(each, rows[each.name], found) for each in said.stores if each.name in rows]
    title = f"{counted(len(blocks), 'store')} would be taken"
    show.blocks(title, blocks, empty="no store of the file would be taken")
    if found["changed"]:
        show.lines(f"would turn {format_values(found['changed'])}, until the daemon restarts")
    show.lines(*(f"would leave out {e['name']}: {e['reason']}" for e in found["skipped"]))
    show.lines(*(f"note: {text}" for text in found["warnings"]))


def _show(found: Answer) -> None:
    """Print what came of it."""
    for did in ("added", "replaced"):
        if found[did]:
            show.lines(f"{did} {', '.join(found[did])}")
    if found["changed"]:
        show.lines(f"turned {format_values(found['changed'])}")
        print("that lasts until the daemon restarts; write it into cortex.toml to keep it")
    if not (found["added"] or found["replaced"] or found["changed"]):
        print("the file added nothing")
    show.lines(*(f"left out {each['name']}: {each['reason']}" for each in found["skipped"]))
    show.lines(*(f"note: {text}" for text in found["warnings"]))


def _entry(store: StoreSpec, row: Answer, found: Answer) -> show.ListEntry:
    """Return a store's entry in a list; its options are shown as the list of stores has them."""
    facts = joined(
        store.type,
        mask_address(store.url),
        None if store.weight == 1 else f"weight {store.weight:g}",
        f"floor {store.floor:g}" if store.floor else None,
        _token(store),
        None if store.enabled else "disabled",
        "in place of the one there is" if store.name in found["replaced"] else None,
    )
    options = joined(*[f"{key}: {shown(value)}" for key, value in row["options"].items()])
    return show.ListEntry("+", store.name, [facts, options])


def _token(store: StoreSpec) -> str | None:
    """Return where a store's token comes from; the token itself is never shown."""
    if store.auth.token:
        return "its token is in the file"
    return f"its token is {_lent(store)}" if store.auth else None
