"""`memory`: what agents remember: look at it, keep it, take it apart, let it go."""

from __future__ import annotations

import typer

from cortex_actors.cli import memoryhealth, memorykeep, memorylook, memorystate
from cortex_actors.cli.output import examples


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="Look at memories, keep them, take them apart, let them go, and undo that.",
        rich_markup_mode=None,
        no_args_is_help=True,
        epilog=examples(
            "cortex memory list --layer sensory",
            "cortex memory show mem_01KATQ8W",
            "cortex memory crystallize mem_01KATQ8W",
            "cortex memory split mem_01KATQ8W",
            "cortex memory changes",
            "cortex memory undo 12",
        ),
    )
    for add in (
        memorylook.register,
        memorykeep.register,
        memorystate.register,
        memoryhealth.register,
    ):
        add(group)
    app.add_typer(group, name="memory")
