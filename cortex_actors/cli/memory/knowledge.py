"""`memory knowledge`: documents that are read, what they say, and taking them out again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, Option, shows
from cortex_actors.cli.memory.recall import QUESTION, show_hits
from cortex_actors.cli.show import counted, joined
from cortex_actors.client.connection import Answer
from cortex_actors.clock import iso

#: Documents that are named of those that failed or in which something was met.
_NAMED = 20


def resolve_path(path: Path) -> str:
    """Return a path as the daemon finds it, too."""
    return str(path.expanduser().absolute())


def meant(source: str) -> str:
    """Return which document is meant: a file that lies there by its whole path."""
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source


@shows(
    "memory knowledge ingest",
    "docs/ --topic handbook",
    asks="knowledge.ingest",
    leave_out=("text", "source"),
    path=Argument(kind="path", required=True, read=resolve_path),
)
def show_read(found: Answer) -> None:
    """Print what became of each document."""
    counts = joined(*(f"{state} {count:,}" for state, count in sorted(found["counts"].items())))
    show.lines(f"{counts or 'no document'} in {found['root']}")
    for each in found["documents"]:
        show.lines(*_told(each)[:_NAMED])
    show.lines(*(f"passed over: {each}" for each in found["skipped"]))
    show.lines(*(f"cannot be read: {folder}" for folder in found["closed"]))


@shows(
    "memory knowledge search",
    "rollback --topic ops",
    asks="knowledge.search",
    query=QUESTION,
    code=Option("--code/--text"),
)
def show_pieces(found: Answer) -> None:
    """Print the pieces that were found."""
    show_hits(found, "nothing was found; see what there is with: cortex memory knowledge topics")


@shows(
    "memory knowledge",
    "",
    asks="knowledge.topics",
    also="memory knowledge topics",
    about="Have documents read, and find what they say.",
    is_group=True,
)
def show_topics(found: Answer) -> None:
    """Print the topics, with how much each holds."""
    rows = [
        (each["topic"], each["documents"], each["pieces"], each["withdrawn"], iso(each["read_at"]))
        for each in found["topics"]
    ]
    title = f"{counted(found['documents'], 'document')}, {counted(found['pieces'], 'piece')}"
    columns = ("topic", "documents", "pieces", "taken out", "last read")
    empty = "no document was read yet; read some with: cortex memory knowledge ingest FOLDER"
    show.table(title, columns, rows, empty=empty)


@shows(
    "memory knowledge remove", "--topic drafts", asks="knowledge.remove", source=Option(read=meant)
)
@shows(
    "memory knowledge restore",
    "--topic drafts",
    asks="knowledge.restore",
    source=Option(read=meant),
)
def show_done(found: Answer) -> None:
    """Print which documents are found no more, or again."""
    did, name = ("took out", "withdrawn") if "withdrawn" in found else ("brought back", "restored")
    sources = found[name]
    print(f"{did} {counted(len(sources), 'document')}")
    show.lines(*(f"  {each}" for each in sources[:_NAMED]))
    if len(sources) > _NAMED:
        print(f"  and {len(sources) - _NAMED:,} more")


def _told(document: dict[str, Any]) -> list[str]:
    """Return what there is to say of one document: why it failed, that it is gone, what it held."""
    if "error" in document:
        return [f"failed: {document['error']}"]
    if document["state"] == "withdrawn":
        return [f"withdrawn: {document['source']}"]
    return [f"{document['source']}: {each}" for each in document.get("told", [])]
