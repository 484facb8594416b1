"""`run`: the daemon in this terminal."""

from __future__ import annotations

import typer

from cortex_actors.cli.output import HomeOption, examples


def register(app: typer.Typer) -> None:
    """Add the command."""
    epilog = examples("cortex run", "cortex run --home /tmp/try")
    app.command("run", epilog=epilog)(run)


def run(home: HomeOption = None) -> int:
    """Run the daemon in this terminal and show its log; Ctrl-C ends it."""
    from cortex_actors import daemon  # noqa: PLC0415 - what `start` gives to a child

    words = ["--foreground"] + (["--home", str(home)] if home else [])
    return daemon.main(words)
