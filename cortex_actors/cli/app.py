"""The Typer application: every command that may take half a second to load.

The groups and their order in help are here, and the spellings of the version before (`MOVED`).
The quick commands are listed too; `entry` answers them before this module is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, ClassVar

import typer
from typer.models import CommandInfo

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
from cortex_actors.cli.options import MOVED
from cortex_actors.cli.output import (
    Commands,
    HomeOption,
    JsonOption,
    examples,
    listing,
    show_json,
    show_table,
)
from cortex_actors.client.connection import Client
from cortex_actors.home import Home
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
    app.command("tree", epilog=examples("cortex debug tree", "cortex debug tree --stats"))(tree)
    app.command("topics", epilog=examples("cortex debug topics", "cortex debug topics --json"))(
        topics
    )


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
    epilog = examples("cortex daemon run", "cortex daemon run --home /tmp/try")
    app.command("run", epilog=epilog)(run)


def run(home: HomeOption = None) -> int:
    """Run the daemon in this terminal and show its log; Ctrl-C ends it."""
    from cortex_actors import daemon  # noqa: PLC0415 - what `start` gives to a child

    words = ["--foreground"] + (["--home", str(home)] if home else [])
    return daemon.main(words)


class Front(Commands):
    """All commands, those of every day first."""

    panels: ClassVar = {
        "Daily": "start stop status init remember recall resolve review demo",
        "Knowledge": "projects insights principles contradictions",
        "Memory": "memory agents knowledge",
        "Stores and models": "stores model",
        "Daemon": "daemon doctor hook debug",
    }


app = typer.Typer(
    name="cortex",
    cls=Front,
    help="A memory daemon for AI agents: it keeps what your instruction files and agents know.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=examples("cortex demo", "cortex start", "cortex init .", 'cortex recall "which port"'),
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: What the help says of the quick commands.
_QUICK = {
    "start": "Start the daemon in the background.",
    "stop": "Stop the daemon.",
    "status": "Show whether the daemon runs, and its state.",
    "hook": "Have git tell the daemon when files may have changed.",
    "restart": "Stop the daemon if it runs, and start it.",
    "reload": "Apply changed settings without a restart.",
    "publish": "Publish an event.",
}


def _quick(name: str) -> Callable[[typer.Context], int]:
    """Return a command that hands its words to the quick way."""

    def command(context: typer.Context) -> int:
        return fast.run([name, *context.args])

    return command


def _register_quick(group: typer.Typer, *names: str) -> None:
    """Add quick commands, so that help lists them; `entry` answers them before it loads this."""
    for name in names:
        group.command(
            name,
            help=_QUICK[name],
            add_help_option=False,
            context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        )(_quick(name))


def _group(about: str, *lines: str) -> typer.Typer:
    """Return an empty group."""
    return typer.Typer(cls=Commands, help=about, rich_markup_mode=None, epilog=examples(*lines))


def _status(as_json: JsonOption = False, home: HomeOption = None) -> int:
    """Show whether the daemon runs, and its state."""
    return fast.status(Home.of(home), as_json=as_json)


_register_quick(app, "start", "stop", "status", "hook")

#: Group -> what it holds itself, and what else is added to it.
_GROUPS: dict[str, tuple[typer.Typer, Sequence[Callable[[typer.Typer], None]]]] = {
    "projects": (projects.group(), (review.register_revoke,)),
    "insights": (
        insights.group(),
        (
            insights.register_clusters,
            history.register,
            history.register_blame,
            projects.register_reconcile,
        ),
    ),
    "principles": (
        principles.group(),
        (
            promotion.register_eligible,
            promotion.register_promotion,
            links.register,
            projects.register_organise,
        ),
    ),
    "contradictions": (
        contradictions.group(),
        (contradictions.register_judge, contradictions.register_calibrate),
    ),
    "review": (review.group(), ()),
    "memory": (
        memory.group(),
        (recall.register_search, backup.register_export, backup.register_import),
    ),
    "agents": (
        agents.group(),
        (village.register, village.register_threads, village.register_convergence),
    ),
    "knowledge": (knowledge.group(), ()),
    "stores": (stores.group(), ()),
    "model": (models.group(), (embeddings.register,)),
    "daemon": (
        listing(
            _status,
            "cortex daemon restart",
            "cortex daemon logs -f",
            "cortex daemon backup --list",
            "cortex daemon install --now",
            about="Run, configure, watch and back up the daemon.",
        ),
        (
            lambda group: _register_quick(group, "restart", "reload"),
            register_run,
            logs.register,
            events.register,
            lambda group: _register_quick(group, "publish"),
            projects.register_schedule,
            backup.register,
            service.register,
        ),
    ),
    "debug": (
        listing(
            tree,
            "cortex debug tree",
            "cortex debug runs --failed",
            about="Look inside: actors, topics, runs, parsing.",
        ),
        (
            register_show,
            events.register_actor,
            projects.register_runs,
            parse.register,
        ),
    ),
}

for _add in (
    projects.register,
    remember.register,
    recall.register,
    resolve.register,
    doctor.register,
    demo.register,
):
    _add(app)

for _name, (_held, _more) in _GROUPS.items():
    for _register in _more:
        _register(_held)
    app.add_typer(_held, name=_name, cls=Commands)

_crumbs = crumb.group()
_GROUPS["agents"][0].add_typer(_crumbs, name="crumb", cls=Commands)


def _register_moved() -> None:
    """Let the spellings of the version before run, hidden from help."""
    commands = {
        f"{name} {each.name}": each
        for name, (group, _) in _GROUPS.items()
        for each in group.registered_commands
    }
    emptied: dict[str, typer.Typer] = {}
    for old, new in MOVED.items():
        place, _, name = old.rpartition(" ")
        if place and place not in emptied:
            emptied[place] = _group("Moved; see cortex --help.", f"cortex {new}")
            app.add_typer(emptied[place], name=place, hidden=True)
        target = emptied.get(place, app)
        if each := commands.get(new):
            target.registered_commands.append(
                CommandInfo(**{**vars(each), "name": name, "hidden": True})
            )
    app.add_typer(_crumbs, name="crumb", cls=Commands, hidden=True)
    listed = examples("cortex projects")
    emptied["project"].command("list", epilog=listed, hidden=True)(projects.projects)


_register_moved()
