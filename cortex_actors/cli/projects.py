"""`init`, `projects`, `remove` and `scan`: which projects are followed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cortex_actors.cli.output import HomeOption, JsonOption, examples, show_json, show_table
from cortex_actors.client import Client
from cortex_actors.logrecord import visible

#: What means a folder and never a project's name or id.
_FOLDERS = (".", "..")

PathArgument = Annotated[Path, typer.Argument(help="The project's folder.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("init", epilog=examples("cortex init", "cortex init ~/code/atlas-api"))(init)
    app.command("projects", epilog=examples("cortex projects", "cortex projects --json"))(projects)
    app.command("remove", epilog=examples("cortex remove ~/code/atlas-api"))(remove)
    app.command("scan", epilog=examples("cortex scan", "cortex scan ~/code/atlas-api"))(scan)


def init(path: PathArgument = Path(), as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Follow a project: read its instruction files now and whenever they change."""
    found = Client(home).call("add_project", path=str(path.absolute()))
    if as_json:
        show_json(found)
        return
    verb = "following" if found["new"] else "already following"
    print(f"{verb} {found['name']} ({found['id']}) in {found['root']}")


def projects(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List the projects that are followed."""
    found = Client(home).call("projects")
    if as_json:
        show_json(found)
        return
    rows = [(p["name"], p["files"], p["insights"], p["id"], p["root"]) for p in found["projects"]]
    empty = "no project is followed; follow one with: cortex init PATH"
    show_table("Projects", ("name", "files", "insights", "id", "folder"), rows, empty=empty)
    for file in found["broken"]:
        print(visible(f"cannot read {file['path']}: {file['reason']}"))


def remove(path: PathArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Follow a project no longer; its files are not touched."""
    found = Client(home).call("remove_project", path=str(path.absolute()))
    if as_json:
        show_json(found)
        return
    print(f"no longer following {found['name']} ({found['id']})")


def scan(
    path: Annotated[Path | None, typer.Argument(help="A project's folder (all).")] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Read instruction files again, of one project or of all."""
    found = Client(home).call("scan", path=str(path.absolute()) if path else None)
    if as_json:
        show_json(found)
        return
    print(f"reading {path or 'all projects'} again, seq {found['seq']}")


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
