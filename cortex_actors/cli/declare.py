"""How a command is declared: its spelling, its examples, its options; and spellings that moved.

`make docs` reads the declarations and writes `commands.json`, from which the command line is built:
a module of commands is loaded only when one of them is called. Standard library only.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar, Unpack

from cortex_actors.errors import BadInput, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    class About(TypedDict, total=False):
        """What may be said of an option or an argument; its kind is its annotation's."""

        help: str
        metavar: str
        #: What it is, where its annotation does not say enough.
        kind: str
        min: float
        max: float
        #: What an option of a command that asks an operation is, where it is not the operation's.
        default: object
        #: What is said where an option is not given that its operation needs.
        missing: str
        #: Whether it must be given: as above.
        required: bool
        #: Makes of what was given what is asked, or called with.
        read: Callable[..., object]
        #: Whether it may be given several times; of what its operation has not, one alone may.
        many: bool
        #: The values it may have, and the enumeration whose members are values, too:
        #: `module.Name` of the domain. A command gets the word: the enumeration's module is large.
        words: Sequence[str]
        one_of: str
        #: Whether upper and lower case are the same in its values.
        ignore_case: bool
        #: What a shell completes it with: a key of `command_line.SOURCES`.
        complete: str


Function = TypeVar("Function", bound="Callable[..., object]")


class Argument:
    """A word of a command; it is in the `Annotated` of its parameter."""

    def __init__(self, **about: Unpack[About]) -> None:
        self.about = about


class Option:
    """An option of a command, by its parameter's name unless `names` are given; as `Argument`."""

    def __init__(self, *names: str, **about: Unpack[About]) -> None:
        self.names, self.about = names, about


class Joined(Argument):
    """Words of a command that its operation gets as one text."""


class Preset:
    """A flag of a command that gives a parameter of its operation a value.

    Without `sets` only the function that shows the answer gets it.
    """

    def __init__(
        self,
        *names: str,
        sets: tuple[str, object] | None = None,
        help: str,  # noqa: A002
    ) -> None:
        self.names, self.sets, self.help = names, sets, help


#: Options of every command that asks the daemon.
HomeOption = Annotated[
    Path | None,
    Option("--home", kind="home", help="The daemon's folder (default: CORTEX_HOME, else XDG's)."),
]
JsonOption = Annotated[bool, Option("--json", help="Print JSON.")]


@dataclass(frozen=True, kw_only=True)
class One:
    """Another operation that a command asks where its argument is an id: for that one thing.

    The argument is that operation's only parameter, or the `Joined` words of the command where
    they begin with `prefix`; with an `option` it is that. `alone` is said where anything else is
    given, too.
    """

    operation: str
    prefix: str = ""
    alone: str
    option: Option | None = None


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One spelling of a command, or a group with what it runs by itself.

    With an `operation` the command has its parameters, and asks it, unless that is done `by_hand`:
    then the function is the command, as without one; else it shows the answer.
    """

    path: str
    function: Callable[..., Any]
    #: Whole lines.
    examples: Sequence[str]
    about: str | None = None
    is_group: bool = False
    operation: str | None = None
    leave_out: tuple[str, ...] = ()
    one: tuple[One, ...] = ()
    by_hand: bool = False
    run: Mapping[str, object] = field(default_factory=dict)
    spelled: Mapping[str, Option | Argument | Preset] = field(default_factory=dict)


#: Every command whose module is loaded.
DECLARED: list[Declared] = []


def command(
    path: str,
    /,
    *examples: str,
    about: str | None = None,
    is_group: bool = False,
    show: Callable[..., None] | None = None,
    code: Callable[[dict[str, Any]], int] | None = None,
    asks: str | None = None,
    leave_out: tuple[str, ...] = (),
    **spelled: Option | Argument | Preset,
) -> Callable[[Function], Function]:
    """Declare a function as a command, or as what a group runs where none below it is named.

    Its docstring is the help, unless `about` says what the group is for; an example is what is
    typed behind the command, or a whole line. With `show` it returns an answer, which `--json`
    prints, else `show`, as in `shows`; `code` makes the exit code of it. One that takes a `client`
    gets the daemon's, and has `--home`.

    With what it `asks` it has the parameters of that operation, as in `shows`, and gets each by its
    name; without `show` it gets `as_json` and `home` as well.
    """
    more: dict[str, Any] = {"operation": asks, "by_hand": True, "leave_out": leave_out}
    more |= {"run": {"show": show, "code": code}, "spelled": spelled}
    return _declaring(path, examples, about=about, is_group=is_group, **more)


def _declaring(
    path: str,
    examples: Sequence[str],
    also: str | None = None,
    **more: Any,  # noqa: ANN401 - fields of `Declared`
) -> Callable[[Function], Function]:
    """Return what declares a function; an example with a `cortex` in it is a whole line."""

    def declare(function: Function) -> Function:
        for where in filter(None, (path, also)):
            lines = [e if "cortex " in e else f"cortex {where} {e}".rstrip() for e in examples]
            DECLARED.append(Declared(path=where, function=function, examples=lines, **more))
            more.update(about=None, is_group=False)
        return function

    return declare


def shows(
    path: str,
    /,
    *examples: str,
    asks: str | None = None,
    about: str | None = None,
    is_group: bool = False,
    also: str | None = None,
    leave_out: tuple[str, ...] = (),
    offline: str | None = None,
    exits: Callable[[dict[str, Any]], int] | None = None,
    one: One | tuple[One, ...] = (),
    **spelled: Option | Argument | Preset,
) -> Callable[[Function], Function]:
    """Declare a function as what shows the answer of an operation.

    The operation is the one that is called as the command is, or what it `asks`; an example is
    what is typed behind the command, or a whole line. To a group's examples come those of the
    commands below it. What a group does by itself is `also` a command of its own.

    The function is called with the answer, and with what was asked where it takes a second
    parameter. The command's help and parameters are the operation's, without those to `leave_out`;
    `spelled` says what is different of one here, or adds a `Preset`. `--json` and `--home` come by
    themselves.

    Where no daemon runs, `offline` (`module:function`) answers in its place, with the home, and the
    parameters by name. `exits` makes the exit code of the answer.
    """
    return _declaring(
        path,
        examples,
        also=also,
        about=about,
        is_group=is_group,
        operation=asks or path.replace(" ", "."),
        leave_out=leave_out,
        one=one if isinstance(one, tuple) else (one,),
        run={"offline": offline, "code": exits},
        spelled=spelled,
    )


def read_file(path: Path, doing: str, *, most: int) -> bytes:
    """Return what a file says, at most one byte more than it may; `-` is standard input.

    Raises `NotFound`, or `BadInput` for what cannot be read or is no regular file; the error begins
    with `cannot {doing}`.
    """
    if str(path) == "-":
        return sys.stdin.buffer.read(most + 1)
    why = "it is no regular file"
    try:
        whole = path.expanduser()
        if whole.is_file() or not whole.exists():
            with whole.open("rb") as file:
                return file.read(most + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"cannot {doing}: there is no such file as {path}") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
    message = f"cannot {doing}: {path} cannot be read ({why})"
    raise BadInput(f"{message}; correct the path, or the right to read it")


#: The command line itself: what it is for, its examples, and titles with the names below them.
FRONT = {
    "help": "A memory daemon for AI agents: it keeps what your instruction files and agents know.",
    "examples": ["cortex demo", "cortex start", "cortex init .", 'cortex recall "which port"'],
    "panels": {
        "Daily": (
            "start stop status init setup remember recall brief resolve review triage lint "
            "demo".split()
        ),
        "Knowledge": "projects insights principles contradictions".split(),
        "Memory": "memory agents".split(),
        "Stores and models": "stores model".split(),
        "Daemon": "daemon doctor debug".split(),
    },
}

#: Commands that the list of all does not show: programs start them, or another one names them.
HIDDEN = frozenset({"mcp", "uninstall"})

#: Commands of the version before -> where they are now. The old spelling runs for this version, is
#: shown in no help, and names the new one in a terminal. Whole groups move with what is below them.
MOVED = {
    **{
        name: f"{group} {name}"
        for group, names in {
            "daemon": "restart reload run logs events schedule publish hook backup restore",
            "debug": "tree topics runs inspect parse",
            "projects": "remove scan revoke",
            "insights": "fragments reconcile history",
            "principles": "promotion links organise",
            "contradictions": "calibrate",
            "memory": "edit search knowledge export import",
            "agents": "post thread threads village convergence crumb",
        }.items()
        for name in names.split()
    },
    "blame": "insights history",
    "eligible": "principles promotion",
    "principles eligible": "principles promotion",
    "insights blame": "insights history",
    "service install": "daemon install",
    "service uninstall": "daemon uninstall",
    "service show": "daemon unit",
    "actor crash": "debug crash",
    "project list": "projects",
    "project auto": "projects auto",
    "project remove": "projects remove",
    "embeddings migrate": "model migrate",
    "embeddings status": "model migration",
    "embeddings cancel": "model cancel",
}


def find_moved(words: Sequence[str]) -> tuple[str, str, list[str]]:
    """Return the old spelling that words begin with, the new one, and the words with the new one.

    The old one is "" where nothing has moved.
    """
    for length in (2, 1):
        old = " ".join(words[:length])
        if new := MOVED.get(old):
            return old, new, [*new.split(), *words[length:]]
    return "", " ".join(words[:2]), [*words]
