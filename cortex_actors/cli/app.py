"""The Typer application: every command that may take half a second to load.

The quick commands are listed here too, so that `cortex --help` shows them; `entry` answers them
before this module is loaded.

`tree` and `topics`: the inside, for people.

`run`: the daemon in this terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from cortex_actors.cli import (
    agents,
    backup,
    contradictions,
    crumb,
    demo,
    doctor,
    embeddings,
    events,
    fast,
    history,
    insights,
    knowledge,
    links,
    logs,
    memory,
    models,
    parse,
    principles,
    projects,
    promotion,
    recall,
    remember,
    resolve,
    review,
    service,
    stores,
    village,
)
from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json, show_table
from cortex_actors.client.connection import Client
from cortex_actors.process.logfile import visible

#: Columns of `tree --stats`, and what they are called in the daemon's answer.
COLUMNS = {
    "waiting": "depth",
    "most": "high",
    "limit": "limit",
    "when full": "overflow",
    "dropped": "dropped",
    "handled": "handled",
    "waited ms": "waited_ms",
    "longest ms": "longest_ms",
}

StatsOption = Annotated[bool, typer.Option("--stats", help="Show every actor's mailbox instead.")]


def register_show(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("tree", epilog=examples("cortex tree", "cortex tree --stats"))(tree)
    app.command("topics", epilog=examples("cortex topics", "cortex topics --json"))(topics)


def tree(stats: StatsOption = False, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Draw the supervision tree as it is now, or show what every mailbox has seen."""
    found = Client(home).call("tree")
    if as_json:
        show_json(found["root"])
        return
    if stats:
        rows = list(_mailboxes(found["root"]))
        show_table("Mailboxes", ("actor", *COLUMNS), rows, empty="no actor lives")
        return
    print("\n".join(visible(line) for line in found["text"].splitlines()))


def topics(as_json: JsonOption = False) -> None:
    """List the topics that can be published and followed."""
    from cortex_actors.topics import TOPICS  # noqa: PLC0415 - needed here only

    # From the catalogue itself: the daemon need not run for this.
    if as_json:
        show_json([{"name": t.name, "durable": t.durable, "about": t.about} for t in TOPICS])
        return
    rows = [(t.name, "yes" if t.durable else "no", ", ".join(t.heard_by), t.about) for t in TOPICS]
    show_table("Topics", ("topic", "stored", "heard by", "about"), rows, empty="none")


def _mailboxes(node: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each actor of a tree, from top to bottom."""
    detail = node.get("detail") or {}
    if "depth" in detail:
        yield (node["name"], *(_cell(detail.get(key, "")) for key in COLUMNS.values()))
    for child in node.get("children", ()):
        yield from _mailboxes(child)


def _cell(value: object) -> str:
    """Return a number as people read it: milliseconds with one decimal."""
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def register_run(app: typer.Typer) -> None:
    """Add the command."""
    epilog = examples("cortex run", "cortex run --home /tmp/try")
    app.command("run", epilog=epilog)(run)


def run(home: HomeOption = None) -> int:
    """Run the daemon in this terminal and show its log; Ctrl-C ends it."""
    from cortex_actors import daemon  # noqa: PLC0415 - what `start` gives to a child

    words = ["--foreground"] + (["--home", str(home)] if home else [])
    return daemon.main(words)


app = typer.Typer(
    name="cortex",
    help="A memory daemon for AI agents: it keeps what your instruction files and agents know.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=examples("cortex demo", "cortex start", "cortex init .", 'cortex recall "which port"'),
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: Where the quick commands stand in the list, and what it says of them.
_QUICK = {
    "start": "Start the daemon in the background.",
    "stop": "Stop the daemon.",
    "restart": "Stop the daemon if it runs, and start it.",
    "reload": "Follow the settings as they are now.",
    "status": "Say whether the daemon runs and how it is.",
    "publish": "Say an event on a topic.",
    "hook": "Have git tell the daemon that files may have changed.",
}


def _quick(name: str) -> Callable[[typer.Context], int]:
    """Return a command that hands its words to the quick way."""

    def command(context: typer.Context) -> int:
        return fast.run([name, *context.args])

    return command


for _name, _about in _QUICK.items():
    app.command(
        _name,
        help=_about,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )(_quick(_name))

for _register in (
    register_run,
    logs.register,
    register_show,
    events.register,
    events.register_actor,
    agents.register,
    projects.register,
    projects.register_work,
    projects.register_schedule,
    insights.register,
    insights.register_clusters,
    contradictions.register,
    review.register,
    contradictions.register_judge,
    promotion.register_eligible,
    promotion.register_promotion,
    principles.register,
    links.register,
    history.register,
    resolve.register,
    history.register_blame,
    review.register_revoke,
    contradictions.register_calibrate,
    remember.register,
    recall.register,
    recall.register_search,
    memory.register,
    village.register,
    village.register_threads,
    village.register_convergence,
    crumb.register,
    knowledge.register,
    stores.register,
    parse.register,
    backup.register_export,
    backup.register_import,
    backup.register,
    models.register,
    embeddings.register_embeddings,
    doctor.register,
    demo.register,
    service.register,
):
    _register(app)
