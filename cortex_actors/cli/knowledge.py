"""`knowledge`: documents that are read, what they say, and taking them out again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cortex_actors.cli.output import (
    Commands,
    HomeOption,
    JsonOption,
    counted,
    examples,
    joined,
    show_json,
    show_table,
)
from cortex_actors.cli.recall import TIMEOUT, question_of, show_hits
from cortex_actors.client.connection import Answer, Client
from cortex_actors.client.operations import LONG
from cortex_actors.clock import iso
from cortex_actors.errors import UsageError
from cortex_actors.process.logfile import visible

#: Documents that are named of those that failed or in which something was met.
_NAMED = 20

TopicOption = Annotated[str | None, typer.Option(help="Only documents of this topic.")]


def group() -> typer.Typer:
    """Return the group."""
    found = typer.Typer(
        help="Have documents read, and find what they say.",
        rich_markup_mode=None,
        epilog=examples(
            "cortex knowledge ingest ~/notes",
            "cortex knowledge search how do we deploy",
            "cortex knowledge topics",
            "cortex knowledge remove --topic drafts",
        ),
    )
    found.callback(cls=Commands, invoke_without_command=True)(topics)
    found.command("ingest", epilog=examples("cortex knowledge ingest docs/ --topic handbook"))(
        ingest
    )
    found.command("search", epilog=examples("cortex knowledge search rollback --topic ops"))(search)
    found.command("topics", epilog=examples("cortex knowledge topics --json"))(topics)
    found.command("remove", epilog=examples("cortex knowledge remove --topic drafts"))(remove)
    found.command("restore", epilog=examples("cortex knowledge restore --topic drafts"))(restore)
    return found


def ingest(
    path: Annotated[
        Path, typer.Argument(help="A document, or a folder of them (*.md, *.markdown, *.mdx).")
    ],
    *,
    topic: Annotated[
        str | None, typer.Option(help="Their topic (default: the first folder below).")
    ] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Read a document, or all in a folder; what has not changed costs next to nothing."""
    whole = str(path.expanduser().absolute())
    found = Client(home).call("ingest", timeout=LONG, path=whole, topic=topic)
    if as_json:
        show_json(found)
        return
    print(_tally(found))
    for each in found["documents"]:
        for line in _told(each)[:_NAMED]:
            print(visible(line))
    if found["skipped"]:
        some = ", ".join(found["skipped"][:_NAMED])
        print(visible(f"passed over: {some}"))
    for folder in found["closed"]:
        print(visible(f"cannot be read: {folder}"))


def search(
    words: Annotated[list[str], typer.Argument(metavar="QUESTION...", help="In plain words.")],
    *,
    topic: TopicOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="At most.")] = 5,
    code: Annotated[
        bool | None, typer.Option("--code/--text", help="Only code, or only text.")
    ] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Find pieces of documents; `cortex recall` finds them among everything else."""
    asked: dict[str, Any] = {"query": question_of(words), "limit": limit, "topic": topic}
    found = Client(home, timeout=TIMEOUT).call("knowledge_search", **asked, code=code)
    if as_json:
        show_json(found)
        return
    show_hits(found, "nothing was found; see what there is with: cortex knowledge topics")


def topics(*, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List the topics, with how much each holds."""
    found = Client(home).call("knowledge_topics")
    if as_json:
        show_json(found)
        return
    rows = [
        (each["topic"], each["documents"], each["pieces"], each["withdrawn"], iso(each["read_at"]))
        for each in found["topics"]
    ]
    show_table(
        f"{counted(found['documents'], 'document')}, {counted(found['pieces'], 'piece')}",
        ("topic", "documents", "pieces", "taken out", "last read"),
        rows,
        empty="no document was read yet; read some with: cortex knowledge ingest FOLDER",
    )


def remove(
    *,
    topic: TopicOption = None,
    source: Annotated[str | None, typer.Option(help="One document, by path or name.")] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Take a document or a topic out of what is found; `restore` brings it back."""
    found = Client(home).call("remove_knowledge", **_meant(topic, source))
    _show_done(found, found["withdrawn"], "took out", as_json=as_json)


def restore(
    *,
    topic: TopicOption = None,
    source: Annotated[str | None, typer.Option(help="One document, by path or name.")] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Bring back what `remove` took out, as it was last read."""
    found = Client(home).call("restore_knowledge", **_meant(topic, source))
    _show_done(found, found["restored"], "brought back", as_json=as_json)


def _meant(topic: str | None, source: str | None) -> dict[str, Any]:
    """Return which documents are meant; a file that lies there is meant by its whole path."""
    if (topic is None) == (source is None):
        raise UsageError("give either --topic or --source")
    if source is not None and Path(source).expanduser().exists():
        source = str(Path(source).expanduser().resolve())
    return {"topic": topic, "source": source}


def _show_done(found: Answer, sources: list[str], did: str, *, as_json: bool) -> None:
    """Print which documents something was done with."""
    if as_json:
        show_json(found)
        return
    print(f"{did} {counted(len(sources), 'document')}")
    for each in sources[:_NAMED]:
        print(visible(f"  {each}"))
    if len(sources) > _NAMED:
        print(f"  and {len(sources) - _NAMED:,} more")


def _tally(found: Answer) -> str:
    """Return how many documents there were, and what became of them."""
    counts = joined(f"{state} {count:,}" for state, count in sorted(found["counts"].items()))
    return visible(f"{counts or 'no document'} in {found['root']}")


def _told(document: dict[str, Any]) -> list[str]:
    """Return what there is to say of one document: why it failed, that it is gone, what it held."""
    if "error" in document:
        return [f"failed: {document['error']}"]
    if document["state"] == "withdrawn":
        return [f"withdrawn: {document['source']}"]
    return [f"{document['source']}: {each}" for each in document.get("told", [])]
