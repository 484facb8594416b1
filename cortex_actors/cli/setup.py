"""`setup`: put the MCP server and the hooks into a client's configuration, and take them out.

What the new texts are is decided in `files/clients.py`; here files are read, shown and written.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cortex_actors import errors
from cortex_actors.cli import show
from cortex_actors.cli.declare import Argument, HomeOption, Option, command
from cortex_actors.clock import SystemClock, iso
from cortex_actors.domain.agent import read_agent_id
from cortex_actors.domain.project import hash_file
from cortex_actors.errors import visible
from cortex_actors.files import clients
from cortex_actors.files.clients import CLIENTS, SNIPPETS, McpClient, Wiring, read_text
from cortex_actors.files.place import LARGEST, Place, require_undisturbed
from cortex_actors.files.swap import Swap, WriteEntry, WriteState, translate_errors
from cortex_actors.home import FILE_MODE, Home

#: Characters of a line of a diff: a configuration on one line would fill the screen, and may hold
#: others' keys.
_WIDEST = 200

#: A comma at the end of a line, with the comment behind it.
_COMMA = re.compile(r",(\s*(?://.*)?)$")


class _DiffLine(str):
    """A line that equals the same with or without a comma at its end."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Compare without the comma."""
        return _COMMA.sub(r"\1", self) == _COMMA.sub(r"\1", str(other))

    def __hash__(self) -> int:
        """Hash what is compared."""
        return hash(_COMMA.sub(r"\1", self))


@dataclass(frozen=True)
class FileChange:
    """What one file says, and what it is to say; None for no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    #: Whether others may read it, where it is made.
    shared: bool = False

    @property
    def diff(self) -> str:
        """What changes, without lines around it or with a new comma: they may hold others' keys."""
        old, new = (
            [_DiffLine(each) for each in (text or b"").decode("utf-8", "replace").splitlines()]
            for text in (self.before, self.after)
        )
        names = (str(self.path), str(self.path) if self.after is not None else "(no file)")
        lines = difflib.unified_diff(old, new, *names, n=0, lineterm="")
        return "\n".join(e if len(e) <= _WIDEST else f"{e[:_WIDEST]}..." for e in lines)

    def write(self, *, at: int) -> str:
        """Write it, keep what it displaces beside it, and return what was done.

        Raises the refusals of a write, `Refused` for a file that was saved since, `WriteFailed`.
        """
        stamp = iso(at).replace("-", "").replace(":", "").removesuffix("Z")
        keep = f"{self.path.name}.cortex-{stamp}-{at % 1_000_000:06}.bak"
        there = next(each for each in self.path.parents if each.is_dir())
        entry = WriteEntry(
            run_id="",
            project_id="",
            root=str(there),
            path=str(self.path),
            agent="",
            before=self.before,
            after_sha256="" if self.after is None else hash_file(self.after),
            aside=keep,
            began_at=at,
        )
        with translate_errors(entry.path), Place.at(entry.root, entry.path, make=True) as place:
            require_undisturbed(place)
            place.look()  # refuses what is no ordinary file of the user's
            done = Swap(place, entry).write(self.after)
            if done.error is not None:
                raise done.error
            if done.state is not WriteState.DONE:
                if done.displaced is None:
                    place.unlink(keep)
                why = "was saved meanwhile and stays as it is"
                raise errors.Refused(f"{self.path} {why}; try again")
        if self.before is None and not self.shared:
            self.path.chmod(FILE_MODE)
        did = "removed" if self.after is None else "wrote"
        kept = f" (as it was: {keep})" if self.before is not None else ""
        return f"{did} {self.path}{kept}"


def change_text(path: Path, after: str, *, shared: bool = False) -> FileChange | None:
    """Return the change of a file to a text; None where it says that already.

    A link is followed to the file it leads to, whatever program keeps settings elsewhere. One that
    would hold nothing any more is removed.
    """
    real = Path(os.path.realpath(path))
    before = read_text(real)
    if after == before:
        return None
    gone = after.strip() in {"", "{}"} and not path.is_symlink()
    was = before.encode() if os.path.lexists(real) else None
    if gone and was is None:
        return None
    if len(was or b"") > LARGEST:
        raise errors.BadInput(
            f"{real} has more than {LARGEST:,} bytes and is not written; put the snippet of "
            "cortex setup other into it, or see: cortex setup claude-code --plugin"
        )
    return FileChange(real, was, None if gone else after.encode(), shared)


def plan_setup(
    client: McpClient, wiring: Wiring, *, root: Path | None, instructions: bool
) -> list[FileChange]:
    """Return what changes to set a client up.

    Raises `BadInput`, `Refused`, `UsageError`, and `ConfigurationError` where the plugin is.
    """
    if clients.uses_plugin(client):
        raise errors.ConfigurationError(
            f"{client.title} has the plugin {clients.PLUGIN} enabled, and its hooks would run "
            f"twice; first: claude plugin uninstall {clients.PLUGIN}"
        )
    path = locate(client, root)
    new = {path: clients.add_server(client, read_text(path), wiring=wiring, path=str(path))}
    if client.hooks is not None:
        path = client.locate(client.hooks, root)
        new[path] = clients.add_hooks(client, read_text(path), wiring=wiring, path=str(path))
    if instructions:
        path = _instructions(client, root)
        new[path] = clients.add_lines(read_text(path))
    return _changes(new, root)


def plan_removal(client: McpClient, root: Path | None) -> list[FileChange]:
    """Return what changes to take a client's entries out. Raises `BadInput` for a broken file."""
    path = locate(client, root)
    new = {path: clients.remove_server(client, read_text(path), path=str(path))}
    if client.hooks is not None:
        hooks = client.locate(client.hooks, root)
        text = clients.remove_hooks(read_text(hooks), path=str(hooks))
        new[hooks] = clients.remove_plugin(text, path=str(hooks))
    if root is not None or client.instructions.user:
        lines = _instructions(client, root)
        new[lines] = clients.remove_lines(read_text(lines))
    return _changes(new, root)


def _changes(new: Mapping[Path, str], root: Path | None) -> list[FileChange]:
    """Return what changes in files that are to have a text; a project's may be read by others."""
    changes = (change_text(path, text, shared=root is not None) for path, text in new.items())
    return [each for each in changes if each is not None]


def locate(client: McpClient, root: Path | None) -> Path:
    """Return where a client's servers are."""
    return client.locate(client.servers, root)


#: Which client: one that is configured, or one that gets a snippet.
_CLIENT = Argument(
    metavar="[CLIENT]", help=f"{', '.join(CLIENTS)}; a snippet: {', '.join(SNIPPETS)}."
)


@command(
    "setup",
    "",
    "claude-code",
    "claude-code --plugin",
    "codex --dry-run",
    "cursor --scope project --agent AZOTH",
    "claude-code --instructions --yes",
    "codex --remove",
    "vscode",
)
def setup(
    name: Annotated[str | None, _CLIENT] = None,
    *,
    scope: Annotated[str, Option(words=("user", "project"), help="Whose files.")] = "user",
    agent: Annotated[str | None, Option(help="As whom it reads and writes (as CLAUDE).")] = None,
    instructions: Annotated[bool, Option(help="Add four lines to CLAUDE.md or AGENTS.md.")] = False,
    plugin: Annotated[bool, Option(help="Print how Claude Code gets the plugin.")] = False,
    remove: Annotated[bool, Option(help="Take everything of ours out again.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", "-n", help="Show what would change.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Write without being asked.")] = False,
    home: HomeOption = None,
) -> None:
    """Connect an AI client with this memory: its MCP server and its hooks.

    Shows what changes in the client's configuration, asks, writes it, and keeps a copy beside it.
    Without a client it lists those that are here. To remove everything: cortex uninstall.
    """
    place = Home.find(home)
    client = CLIENTS.get(name or "")
    if name is None:
        _list(place)
    elif name in SNIPPETS:
        print(f"put this into {SNIPPETS[name][0]}:", file=sys.stderr)
        print(clients.make_snippet(name, Wiring.from_home(read_agent_id(agent or name), place)))
    elif client is None:
        there = ", ".join([*CLIENTS, *SNIPPETS])
        raise errors.NotFound(f"there is no client {name!r}; there are {there}")
    elif plugin:
        _print_plugin(client)
    else:
        root = _project() if scope == "project" else None
        wiring = Wiring.from_home(read_agent_id(agent or client.agent), place)
        if remove:
            changes = plan_removal(client, root)
        else:
            changes = plan_setup(client, wiring, root=root, instructions=instructions)
        if not changes:
            print(f"{client.title}: {'nothing of cortex is there' if remove else 'already set up'}")
        elif propose(changes, dry_run=dry_run, yes=yes):
            apply_changes(changes)
            for line in _next(client, root, remove=remove):
                print(line)


def propose(changes: Sequence[FileChange], *, dry_run: bool, yes: bool) -> bool:
    """Show what changes and ask; return whether it is to be written. Raises `Refused` for a no."""
    for each in changes:
        show.diff(each.diff)
    if not (yes or dry_run):
        names = " and ".join(str(each.path) for each in changes)
        refusal, no = f"nothing was written into {names}", "nothing was written"
        show.confirm(f"Write {names}?", refusal=refusal, no=no)
    return not dry_run


def apply_changes(changes: Sequence[FileChange]) -> None:
    """Write files one after the other and say so; each is whole or as it was."""
    for each in changes:
        print(visible(each.write(at=SystemClock().now())))


def _list(home: Home) -> None:
    """Print the clients, what is set up in each, and the next step."""
    rows, next_step = [], ""
    for client in CLIENTS.values():
        is_here = is_installed(client)
        try:
            entries = [*describe(client, [None, _project()])]
        except errors.CortexError as error:
            entries = [str(error)]
        rows.append((client.name, "yes" if is_here else "no", ", ".join(entries) or "no"))
        if is_here and not entries:
            next_step = next_step or f"cortex setup {client.name}"
    show.table("Clients", ("client", "installed", "set up"), rows, empty="")
    print(f"next: {next_step or 'cortex doctor (checks what is set up)'}")
    print(f"a snippet for others: cortex setup {'|'.join(SNIPPETS)}")
    print(f"home: {home.root}; remove everything: cortex uninstall")


def is_installed(client: McpClient) -> bool:
    """Tell whether a client seems to be on this machine."""
    return bool(shutil.which(client.program)) or (Path.home() / client.folder).is_dir()


def describe(client: McpClient, roots: Iterable[Path | None]) -> Iterator[str]:
    """Yield by which entries a client is set up. Raises `BadInput` for a broken file."""
    found = {each for root in roots for each in clients.list_entries(client, root)}
    hooks = Counter(path for path, entry in found if entry.find_option("hook"))
    for path, entry in sorted(found, key=lambda each: str(each[0])):
        if not entry.find_option("hook"):
            agent = entry.find_option("--agent") or "the default agent"
            yield f"server as {agent} ({_brief(path)})"
    yield from (f"{count} hooks ({_brief(path)})" for path, count in sorted(hooks.items()))
    if clients.uses_plugin(client):
        yield f"plugin {clients.PLUGIN}"


def _brief(path: Path) -> str:
    """Return a path as people write it."""
    mine = Path.home()
    return f"~/{path.relative_to(mine)}" if path.is_relative_to(mine) else str(path)


def _instructions(client: McpClient, root: Path | None) -> Path:
    """Return the file that gets the lines: of a project the one that is there.

    Raises `UsageError` for a client without a file of the user's.
    """
    if root is None and not client.instructions.user:
        raise errors.UsageError(
            f"{client.title} has no file of yours for instructions: --scope project"
        )
    path = client.locate(client.instructions, root)
    other = path.with_name("AGENTS.md")
    # A CLAUDE.md beside an AGENTS.md would keep Claude Code from reading that one.
    return other if root is not None and not path.exists() and other.exists() else path


def _project() -> Path:
    """Return the folder of the project that we are in: where git begins, else this one."""
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def _next(client: McpClient, root: Path | None, *, remove: bool) -> Iterator[str]:
    """Yield what a person does or should know now."""
    if remove:
        yield f"next: restart {client.title}"
        return
    yield f"next: {client.then}"
    if root is not None:
        yield "note: these files name the program on this machine; do not commit them for others"
    if client.servers.user.endswith(".toml"):
        text = read_text(locate(client, root))
        if clients.has_inline_hooks(text):
            yield f"note: {client.title} will say that it reads hooks from two files; it reads both"


def _print_plugin(client: McpClient) -> None:
    """Print where the plugin is and how it is installed; raises `UsageError` for other clients."""
    if client.name != "claude-code":
        raise errors.UsageError("--plugin is for claude-code; see: cortex setup --help")
    print(f"claude plugin marketplace add {find_plugin()}")
    print(f"claude plugin install {clients.PLUGIN}")


def find_plugin() -> Path:
    """Return the folder that Claude Code takes for a marketplace; raises `NotFound`."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "plugin", package.parent / "data" / "plugin"):
        if folder.is_dir():
            return folder
    raise errors.NotFound(f"the plugin is not in {package}; install cortex-actors again")
