"""The command line: builds the command that is called, and no other, from `commands.json`.

`make docs` writes that table out of the declarations. A row is a group or a command: its help,
examples and parameters, and what runs it, in `run`:

- `{"call": "module:function"}`: the function gets the parameters by name. With `show`, its answer
  is printed as that of an operation; `code` names what makes the exit code of it.
- `{"ask": "operation", "show": "module:function"}`: the daemon is asked, with the parameters that
  were given; `--json` prints its answer, else the function shows it: `show(found)`, or
  `show(found, given)` where it takes two. Where no daemon runs, `offline` answers, if that is
  there; where an id is given, `one` says which operation is asked for that one thing. With `here`
  it gets the folder in which it is asked.
- `{"quick": "name"}`: `entry` has `fast` read the words; the row is for help and shells.

Help needs the table alone: the module of a command is imported when the command runs.
"""

from __future__ import annotations

import json
import select
import socket
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from cortex_actors.client.connection import Client, find_folder
from cortex_actors.clock import SystemClock
from cortex_actors.errors import CortexError, DaemonDown, UsageError
from cortex_actors.home import Home

#: What `make docs` writes.
TABLE = Path(__file__).with_name("commands.json")

#: How help is asked for.
_HELP = {"help_option_names": ["-h", "--help"], "show_default": True}

#: Seconds after which a terminal shows what the command waits for.
SLOW = 2.0

#: Seconds between two looks at how far an answer is: each costs the daemon a millisecond.
LOOK = 0.5

#: Seconds the daemon has to name values to a shell: the tab key must not seem dead.
COMPLETE_TIMEOUT = 1.0

#: Likeness from which on an unknown command is taken for a mistyped one, as difflib counts it.
NEAR = 0.7

#: What a parameter is completed with -> the operation that lists it, the list in its answer, and
#: the field of an entry.
SOURCES = {
    "agents": ("agents", "agents", "id"),
    "insights": ("insights", "insights", "id"),
    "memories": ("memories", "memories", "id"),
    "principles": ("principles", "principles", "id"),
    "projects": ("projects", "projects", "name"),
    "stores": ("stores", "stores", "name"),
    "threads": ("threads", "threads", "thread"),
}

Row = dict[str, Any]


@cache
def load_table() -> dict[str, Row]:
    """Return every row by its path; the command line itself is at ""."""
    found: dict[str, Row] = json.loads(TABLE.read_bytes())
    return found


def run(words: list[str]) -> int:
    """Run one command; raises click's exceptions for wrong usage."""
    if sys.stderr.isatty():
        Client.when_slow = staticmethod(show_waiting)
    try:
        result = load_front().main(words, prog_name="cortex", standalone_mode=False)
    finally:
        Client.when_slow = None
    return result if isinstance(result, int) else 0


def load_front() -> CommandGroup:
    """Return the command line itself."""
    return CommandGroup("cortex", load_table()[""], path="")


def complete(instruction: str) -> int:
    """Answer a shell: `bash_source` prints its script, `bash_complete` what fits its words."""
    from click.shell_completion import shell_complete  # noqa: PLC0415 - for a shell only

    return shell_complete(load_front(), {}, "cortex", "_CORTEX_COMPLETE", instruction)


def suggest(error: click.ClickException) -> str:
    """Return which command an unknown one may be meant to be, of whatever group; "" for none."""
    if not isinstance(error, click.exceptions.NoSuchCommand) or error.ctx is None:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistyped command

    group = error.ctx.command_path.removeprefix("cortex").strip()
    # Of several of one name the last counts: of this group, else of the fewest words.
    paths = sorted(
        load_table(), key=lambda path: (path.rpartition(" ")[0] == group, -path.count(" "))
    )
    known = {path.rpartition(" ")[2]: path for path in paths}
    near = get_close_matches(error.command_name, known, 1, cutoff=NEAR)
    return f" (did you mean cortex {known[near[0]]}?)" if near else ""


class CommandGroup(click.Group):
    """A group of commands; without one of them it does what its own options and words ask.

    Its help shows whole sentences, under the titles that its row's `panels` give to names.
    """

    def __init__(self, name: str, row: Row, *, path: str) -> None:
        self.row, self._path = row, path
        super().__init__(
            name,
            callback=partial(_perform, row) if "run" in row else None,
            invoke_without_command="run" in row,
            no_args_is_help=False,
            context_settings=None if path else _HELP,
            **_shown(row),
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names that help shows, in its order."""
        return [*self.row["commands"]]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command below this group."""
        path = f"{self._path} {cmd_name}".strip()
        row = load_table().get(path)
        if row is None or not cmd_name:
            return None
        if "commands" in row:
            return CommandGroup(cmd_name, row, path=path)
        return click.Command(cmd_name, callback=partial(_perform, row), **_shown(row))

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters; a command below does not show the words of its group in usage."""
        found = super().get_params(ctx)
        return [p for p in found if ctx.command is self or p.param_type_name != "argument"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the group's own words, unless a command's name comes first."""
        if args and self.get_command(ctx, args[0]):
            # Its options are not read: a command below has its own.
            ctx._protected_args, ctx.args = args[:1], args[1:]  # noqa: SLF001 - where groups have them
            return args
        if any(each.param_type_name == "argument" for each in self.params):
            ctx.allow_interspersed_args, ctx.allow_extra_args = True, False
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what the command returns
        """Run the command that was named, else the group's own."""
        words = [*ctx._protected_args, *ctx.args]  # noqa: SLF001 - as above
        if not words:
            return super().invoke(ctx)
        name, command, rest = self.resolve_command(ctx, words)
        if name is None or command is None:
            return None
        ctx.args, ctx.invoked_subcommand = [], name
        with ctx, command.make_context(name, rest, parent=ctx) as inner:
            return command.invoke(inner)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their titles, each with its whole first paragraph."""
        panels = self.row.get("panels") or {"Commands": self.list_commands(ctx)}
        for title, names in panels.items():
            helps = [load_table()[f"{self._path} {name}".strip()]["help"] for name in names]
            first = [" ".join(each.split("\n\n")[0].split()) for each in helps]
            if first:
                with formatter.section(title):
                    formatter.write_dl([*zip(names, first, strict=True)])


def load(name: str) -> Any:  # noqa: ANN401 - whatever has that name
    """Return what `module:name` is."""
    module, _, inside = name.partition(":")
    return getattr(import_module(module), inside)


def show_waiting(
    sock: socket.socket, *, method: str, seconds: float, steps: Iterator[str] | None = None
) -> None:
    """Say in the terminal that an answer is late, until it comes or its time is over.

    `steps` yields how far it is by now, "" where that is not known; it is asked again and again.
    """
    if select.select([sock], [], [], min(SLOW, seconds))[0]:
        return
    clock, say = SystemClock(), partial(print, end="", file=sys.stderr, flush=True)
    end, ready = clock.monotonic() + max(seconds - SLOW, 0.0), False
    while not ready and (left := end - clock.monotonic()) > 0:
        step = next(steps, "") if steps else ""
        say(f"cortex: {step or f'still waiting for the daemon ({method})'}...")
        try:
            ready = bool(select.select([sock], [], [], min(left, LOOK) if steps else left)[0])
        finally:
            say("\r\x1b[K")
    if not ready:
        # The caller's own wait is over, too.
        sock.settimeout(1e-6)


def _shown(row: Row) -> dict[str, Any]:
    r"""Return a command's parameters and help; `\b` keeps the lines of its end as they are."""
    lines = [f"  {line}" for line in row.get("examples", ())]
    epilog = "\n".join(["\b", "Examples:", *lines]) if lines else None
    params = [_parameter(each) for each in row.get("params", ())]
    return {"params": params, "help": row["help"], "epilog": epilog}


def _perform(row: Row, **words: Any) -> Any:  # noqa: ANN401 - what was given, and what comes of it
    """Run a command with its parameters."""
    how = row["run"]
    given = {each["name"]: _value(each, words[each["name"]]) for each in row["params"]}
    if "show" not in how:
        return load(how["call"])(**given)
    return _answer(row, given)


def _value(row: Row, found: Any) -> Any:  # noqa: ANN401 - whatever a parameter holds
    """Return what a command gets for what was read: several values are a list, or one text.

    The function that the row's `read` names makes of it what is meant. Raises `HomeUnwritable` for
    a home that may not be entered.
    """
    if row["kind"] == "home":
        Home.find(found).require_entry()
    if row.get("many"):
        several = " ".join(found) if row.get("joined") else [*found]
        found = several if found or row.get("required") else None
    return load(row["read"])(found) if "read" in row and found is not None else found


def _answer(row: Row, given: dict[str, Any]) -> int:
    """Show the answer to what was given, and return the exit code."""
    how, as_json, has_home = row["run"], given.pop("as_json"), "home" in given
    client = Client(given.pop("home", None))
    if "call" in how:
        found = load(how["call"])(**({"client": client} if has_home else {}), **given)
    else:
        found = _ask(row, given, client=client)
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        load(how["show"])(found, *([given] if how.get("given") else []))
    return load(how["code"])(found) if "code" in how else 0


def _ask(row: Row, given: dict[str, Any], *, client: Client) -> Any:  # noqa: ANN401 - JSON
    """Return what the daemon answers to what was given.

    Raises `UsageError` for a flag that sets what was given, too, and for an option that is missing.
    """
    for each in row["params"]:
        if "missing" in each and given[each["name"]] is None:
            raise UsageError(each["missing"])
        if not each.get("sets") or not given[each["name"]]:
            continue
        name, value = each["sets"]
        if given[name] is not None:
            own = next(other["names"][0] for other in row["params"] if other["name"] == name)
            path = click.get_current_context().command_path
            both = f"{each['names'][0]} and {own}"
            raise UsageError(f"{both} exclude each other; see: {path} --help")
        given[name] = value
    method, params = _asked(row, given)
    try:
        return client.call(method, **params)
    except DaemonDown:
        if "offline" not in row["run"]:
            raise
        return load(row["run"]["offline"])(client.home, **params)


def _asked(row: Row, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return which operation is asked, and with what.

    Raises `UsageError` for anything beside an id that says all.
    """
    params: dict[str, Any] = {}
    for each in row["params"]:
        value = given.get(each["name"])
        if value is None or "sets" in each:
            continue
        if isinstance(value, Path):
            value = str(value.absolute())
        elif each.get("complete") == "projects":
            value = load("cortex_actors.cli.pipeline.projects:resolve_word")(value)
        params[each["name"]] = value
    if row["run"].get("here"):
        params["here"] = find_folder()
    source = click.get_current_context().get_parameter_source
    said = [name for name in params if source(name) is ParameterSource.COMMANDLINE]
    for one in row["run"].get("one", ()):
        word = params.get(one["by"])
        if word is not None and word.lower().startswith(one["prefix"]):
            if said != [one["by"]] or " " in word:
                raise UsageError(one["alone"])
            return one["ask"], {one["name"]: word}
    return row["run"]["ask"], params


def _parameter(row: Row) -> click.Parameter:
    """Return a parameter of click's."""
    about: dict[str, Any] = {
        "type": _type(row),
        "required": row.get("required", False),
        "metavar": row.get("metavar"),
        "help": row.get("help"),
        "shell_complete": _completer(row["complete"]) if "complete" in row else None,
    }
    about |= {"default": row["default"]} if "default" in row else {}
    if "names" not in row:
        return click.Argument([row["name"]], nargs=-1 if row.get("many") else 1, **about)
    names = [*row["names"]]
    if row["kind"] == "flag":
        about |= {"is_flag": True, "type": None, "default": row.get("default", False)}
        off = row.get("off")
        names = [*names[:-1], f"{names[-1]}/{off}"] if off else names
    return click.Option([row["name"], *names], multiple=row.get("many", False), **about)


def _type(row: Row) -> click.ParamType[Any]:
    """Return what click makes of a parameter's words."""
    low, high, kind = row.get("min"), row.get("max"), row["kind"]
    bounded = low is not None or high is not None
    if kind == "choice":
        return click.Choice(row["values"], case_sensitive=not row.get("ignore_case"))
    if kind == "int":
        return click.IntRange(low, high) if bounded else click.INT
    if kind == "float":
        return click.FloatRange(low, high) if bounded else click.FLOAT
    if kind in {"path", "home"}:
        # A home that may not be entered is no wrong usage: it has its own error.
        return click.Path(path_type=Path, readable=kind == "path")
    return click.STRING


def _completer(source: str) -> Callable[..., Any]:
    """Return what names the values of a parameter to a shell; nothing where no daemon answers."""
    operation, several, field = SOURCES[source]

    def values(ctx: click.Context, *about: Any) -> list[str]:  # noqa: ANN401 - what click hands on
        begun = about[-1].lower()
        try:
            client = Client(ctx.params.get("home"), timeout=COMPLETE_TIMEOUT)
            entries = client.call(operation)[several]
        except (CortexError, KeyError, OSError):
            return []
        names = [str(each[field]) for each in entries if each.get(field)]
        return [name for name in names if name.lower().startswith(begun)]

    return values
