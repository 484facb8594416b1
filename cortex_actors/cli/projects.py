"""`init`, `projects`, `remove`, `scan` and `project ...`: which projects are followed, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cortex_actors.cli import progress
from cortex_actors.cli.blocks import counted
from cortex_actors.cli.filters import one_of
from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json, show_table
from cortex_actors.client.connection import Answer, Client
from cortex_actors.process.logfile import visible

#: What means a folder and never a project's name or id.
_FOLDERS = (".", "..")

WaitOption = Annotated[
    bool | None,
    typer.Option("--wait/--no-wait", help="Return once all is read (where a terminal watches)."),
]

PathArgument = Annotated[Path, typer.Argument(help="The project's folder.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("init", epilog=examples("cortex init", "cortex init ~/code/atlas-api"))(init)
    app.command("projects", epilog=examples("cortex projects", "cortex projects --json"))(projects)
    app.command("remove", epilog=examples("cortex remove ~/code/atlas-api"))(remove)
    app.command("scan", epilog=examples("cortex scan", "cortex scan ~/code/atlas-api"))(scan)
    app.add_typer(_group(), name="project")


def _group() -> typer.Typer:
    """Return the same under the names that Cerno's users know."""
    project = typer.Typer(
        help="List the projects that are followed, say what is done in one, or leave it.",
        rich_markup_mode=None,
        epilog=examples(
            "cortex project list",
            "cortex project auto atlas-api on",
            "cortex project remove ~/code/atlas-api",
        ),
    )
    project.command("list", epilog=examples("cortex project list --json"))(projects)
    project.command("auto", epilog=examples("cortex project auto atlas-api on"))(auto)
    project.command("remove", epilog=examples("cortex project remove atlas-api"))(remove)
    return project


def init(
    path: PathArgument = Path(),
    wait: WaitOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Follow a project: read its instruction files now and whenever they change."""
    client = Client(home)
    found = client.call("add_project", path=str(path.absolute()))
    if as_json:
        _wait(client, found, wait=wait, as_json=True)
        return
    verb = "following" if found["new"] else "already following"
    print(f"{verb} {found['name']} ({found['id']}) in {found['root']}")
    if found.get("revoked"):
        print(f"it is taken back, nothing is learned of it: cortex revoke --undo {found['id']}")
    _wait(client, found, wait=wait)


def projects(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List the projects that are followed."""
    found = Client(home).call("projects")
    if as_json:
        show_json(found)
        return
    rows = [
        (
            f"{p['name']} (taken back)" if p.get("revoked") else p["name"],
            p["files"],
            p["insights"],
            p["watch_mode"] or "-",
            "by itself" if p["auto"] else "when asked",
            p["id"],
            p["root"],
        )
        for p in found["projects"]
    ]
    empty = "no project is followed; follow one with: cortex init PATH"
    names = ("name", "files", "insights", "watched by", "resolved", "id", "folder")
    show_table("Projects", names, rows, empty=empty)
    for file in found["broken"]:
        print(visible(f"cannot read {file['path']}: {file['reason']}"))


def remove(
    path: Annotated[Path, typer.Argument(help="The project's folder, name or id.")],
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Follow a project no longer; its files are not touched."""
    is_folder = path.is_dir() or "/" in str(path)
    found = Client(home).call("remove_project", path=str(path.absolute() if is_folder else path))
    if as_json:
        show_json(found)
        return
    print(f"no longer following {found['name']} ({found['id']})")


def auto(
    project: Annotated[str, typer.Argument(help="A project's folder, name or id.")],
    state: Annotated[str, typer.Argument(metavar="on|off", callback=one_of("on", "off"))],
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Have a project's instruction files written whenever something new is known, or not."""
    found = Client(home).call("set_auto", project=meant(project), on=state == "on")
    if as_json:
        show_json(found)
        return
    again = "" if found["new"] else " already"
    if found["auto"]:
        print(f"{found['name']} is{again} resolved by itself; see: cortex runs --kind resolver")
    else:
        print(f"{found['name']} is{again} resolved only when you ask: cortex resolve")


def scan(
    path: Annotated[Path | None, typer.Argument(help="A project's folder (all).")] = None,
    wait: WaitOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Read instruction files again, of one project or of all."""
    client = Client(home)
    found = client.call("scan", path=str(path.absolute()) if path else None)
    if as_json:
        _wait(client, found, wait=wait, as_json=True)
        return
    print(f"reading {path or 'all projects'} again, seq {found['seq']}")
    _wait(client, found, wait=wait)


def _wait(client: Client, found: Answer, *, wait: bool | None, as_json: bool = False) -> None:
    """Wait until everything is read where somebody watches or asks for it, and say what is known.

    With JSON, the answer is printed then, with how long it took.
    """
    if not (progress.is_watched() and not as_json if wait is None else wait):
        if as_json:
            show_json(found)
        return
    took = progress.watch(client, show=not as_json)
    known = client.call("insights", limit=1)["total"]
    if as_json:
        show_json({**found, "insights": known, "took_s": round(took, 3)})
        return
    print(f"read in {took:.1f} s; {counted(known, 'insight')} known: cortex insights")


def meant(project: str | None) -> str | None:
    """Return what the daemon is asked for: a folder of the caller's by its whole path.

    A word without a slash is a name or an id, even where a folder is called so, too.
    """
    if not project:
        return project
    folder = Path(project)
    if (project in _FOLDERS or "/" in project) and folder.is_dir():
        return str(folder.resolve())
    return project.rstrip("/") or project
