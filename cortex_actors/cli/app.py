"""The Typer application: every command that may take half a second to load.

The quick commands are listed here too, so that `cortex --help` shows them; `entry` answers them
before this module is loaded.
"""

from __future__ import annotations

from collections.abc import Callable

import typer

from cortex_actors.cli import (
    actor,
    agents,
    backup,
    blame,
    calibrate,
    clusters,
    contradictions,
    convergence,
    crumb,
    demo,
    doctor,
    eligible,
    embeddings,
    events,
    export,
    fast,
    foreground,
    history,
    importing,
    insights,
    judge,
    knowledge,
    links,
    logs,
    memory,
    model,
    parse,
    post,
    principles,
    projects,
    promotion,
    recall,
    remember,
    resolve,
    review,
    revoke,
    schedule,
    search,
    service,
    show,
    stores,
    thread,
    work,
)
from cortex_actors.cli.output import examples

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
    foreground.register,
    logs.register,
    show.register,
    events.register,
    actor.register,
    agents.register,
    projects.register,
    work.register,
    schedule.register,
    insights.register,
    clusters.register,
    contradictions.register,
    review.register,
    judge.register,
    eligible.register,
    promotion.register,
    principles.register,
    links.register,
    history.register,
    resolve.register,
    blame.register,
    revoke.register,
    calibrate.register,
    remember.register,
    recall.register,
    search.register,
    memory.register,
    post.register,
    thread.register,
    convergence.register,
    crumb.register,
    knowledge.register,
    stores.register,
    parse.register,
    export.register,
    importing.register,
    backup.register,
    model.register,
    embeddings.register,
    doctor.register,
    demo.register,
    service.register,
):
    _register(app)
