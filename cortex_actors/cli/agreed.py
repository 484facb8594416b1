"""The way down in the demonstration: what projects agree on, and a project that receives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cortex_actors.cli.approving import asking, show_proposed, unapproved
from cortex_actors.cli.blocks import Block, show_blocks
from cortex_actors.cli.output import shortened
from cortex_actors.client.connection import Answer, Client

#: Principles that are shown, and that are asked for: of each it is to be known who says it.
SHOWN, ASKED = 5, 500

#: What a file's answer says when something was written into it.
WRITTEN = "written"


def brought(client: Client, folders: Sequence[Path]) -> Answer:
    """Bring what projects agree on to the one that lacks most of it; return what was seen.

    Every project is asked without writing, and then that one's files are written, as by a person
    who has read the diff and accepts it.
    """
    found = client.call("principles", limit=ASKED)
    own = {each["id"]: set(each["projects"]) for each in found["principles"]}
    found["principles"] = found["principles"][:SHOWN]
    shown = {each: client.call("resolve", path=str(each), dry_run=True) for each in folders}
    lacking = {folder: _lacking(shown[folder], folder, own) for folder in folders}
    most = max(folders, key=lambda folder: len(lacking[folder]))
    if not lacking[most]:
        return {"principles": found, "project": None, "shown": [], "files": [], "left": []}
    done = client.call("resolve", path=str(most), approve=unapproved(shown[most]))
    return {
        "principles": found,
        "project": {"name": most.name, "root": str(most)},
        "shown": shown[most]["files"],
        "files": done["files"],
        "left": done["left"],
    }


def show_agreed(found: Answer) -> None:
    """Print the principles, the diffs with every note that is accepted, and what was written."""
    principles = found["principles"]
    blocks = [_block(n, each) for n, each in enumerate(principles["principles"], start=1)]
    show_blocks(
        f"What projects agree on ({principles['total']} principles)",
        blocks,
        empty="no two projects agree on anything yet",
    )
    files = [each for each in found["files"] if each["state"] == WRITTEN]
    if not files:
        print("\nno project lacks anything that others agree on")
        return
    shown = {each["path"]: each for each in found["shown"]}
    print(f"\n$ cortex resolve {found['project']['name']}\n")
    seen: set[str] = set()
    for each in files:
        # A file whose notes were all in a diff above adds nothing to what a person decides by.
        notes = {bullet["id"] for bullet in shown[each["path"]]["bullets"]}
        if notes - seen:
            show_proposed(shown[each["path"]])
        seen |= notes
    print(f"{asking(unapproved({'files': found['shown']}))} [y/N]: y")
    names = [_below(each["path"], found["project"]["root"]) for each in files]
    print(f"wrote {', '.join(names)}")


def _lacking(shown: Answer, folder: Path, own: Mapping[str, set[str]]) -> set[str]:
    """Return the principles that a project would receive and says in none of its files itself."""
    given = {bullet["id"] for each in shown["files"] for bullet in each["bullets"]}
    return {name for name in given if folder.name not in own.get(name, ())}


def _block(number: int, principle: Answer) -> Block:
    """Return a principle's entry."""
    about = f"{principle['category']}, rank {principle['rank']:.2f}, from "
    return Block(
        f"{number}.",
        shortened(principle["content"]),
        [about + ", ".join(sorted(principle["projects"]))],
    )


def _below(path: str, root: str) -> str:
    """Return a path from its project on."""
    return path.removeprefix(f"{root}/")
