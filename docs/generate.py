"""Writes the pages that are made from the code: `make docs`; a test holds them to it."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

from cortex_actors import sections, settings, topics
from cortex_actors.api import desk  # noqa: F401 - registers every operation
from cortex_actors.api.parameters import find_parameter
from cortex_actors.api.registry import OPERATIONS
from cortex_actors.assembly.reload import Branch
from cortex_actors.cli import fast
from cortex_actors.cli.command_line import TABLE
from cortex_actors.cli.declare import (
    DECLARED,
    FRONT,
    HIDDEN,
    MOVED,
    Argument,
    Declared,
    HomeOption,
    Joined,
    JsonOption,
    One,
    Option,
    Preset,
)
from cortex_actors.runtime.actor import AsyncioActor
from cortex_actors.tree import INTENSITY, PERIOD, TREE
from docs import library

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from cortex_actors.cli.declare import About

#: Where the pages are.
DOCS = Path(__file__).parent

#: Sections of the settings by name, in the file's order.
SECTIONS = settings.Settings.model_fields


def topics_page() -> str:
    """Return docs/topics.md."""
    rows = [
        f"| `{topic.name}` | {_payload(topic)} | {'yes' if topic.durable else 'no'} "
        f"| {_key(topic)} | {', '.join(topic.said_by)} | {', '.join(topic.heard_by) or '-'} "
        f"| {topic.about} |"
        for topic in topics.TOPICS
    ]
    return "\n".join(
        [
            "# Topics",
            "",
            "Made from `cortex_actors/topics.py` by `make docs`.",
            "",
            "A topic is `noun:state`. Events of a *durable* topic are rows of the ledger: they are",
            "handled even if no actor that hears them was running. A field with `?` may be left",
            "out, and so may `project_id` of `file:changed`. Waiting events with one *key* are",
            "handled as one. *Heard by* names the actors that handle the event; `cortex daemon",
            "logs -f` shows every topic.",
            "",
            "| topic | payload | durable | key | said by | heard by | about |",
            "|---|---|---|---|---|---|---|",
            *rows,
            "",
            "Other processes may publish `custom:[a-z0-9-]{1,64}` with any JSON object of at most",
            f"{topics.PAYLOAD_LIMIT // 1024} KiB, and every topic above except `actor:*`,",
            "`daemon:*` and `*:complete`, which only the daemon publishes:",
            "",
            "```console",
            "$ cortex daemon publish custom:deployed version=1.4 ok:=true",
            "$ cortex daemon publish scan:requested",
            "```",
            "",
            *_hearing(),
        ]
    )


def _hearing() -> list[str]:
    """Return what docs/topics.md says of names, patterns and order."""
    return [
        "Nothing is kept in memory of a custom name, however many there are.",
        "",
        "## Hearing",
        "",
        "A pattern is `noun:state`, in which `*` means any run of letters, digits and hyphens",
        "(`file:*`, `*:complete`), or `*` alone for everything. An invalid pattern, and one that",
        "no topic can match, is an error.",
        "",
        "Every receiver gets the events of one publisher in their order. A receiver that raises,",
        "is slow or dies costs no other its event. Each connection to the control socket has one",
        "request at a time, so that a flood over it is slowed at its source.",
        "",
    ]


def configuration_page() -> str:
    """Return docs/configuration.md."""
    comments = _comments()
    lines = [
        "# Configuration",
        "",
        "Made from `cortex_actors/sections.py` by `make docs`.",
        "",
        "Settings are read from `cortex.toml` in the home, then from the environment, which wins:",
        "`CORTEX_EMBEDDING__MODEL` is `model` of `[embedding]`. A key that does not exist is an",
        "error (exit code 78). `cortex daemon reload` applies a change; some keys need `cortex",
        "daemon restart`, and `cortex daemon reload` names them. The home is `--home`, else",
        "`CORTEX_HOME`, else `$XDG_DATA_HOME/cortex-actors`.",
        "",
        "```toml",
        "# cortex.toml",
        "[watching]",
        "sweep_s = 10",
        "",
        "[embedding]",
        'model = "/models/my-sentence-model"',
        "```",
        "",
    ]
    for name, section in SECTIONS.items():
        kind = section.default.__class__
        lines += [f"## [{name}]", "", (kind.__doc__ or "").strip(), ""]
        lines += ["| key | default | meaning |", "|---|---|---|"]
        for key, field in kind.model_fields.items():
            default = field.default
            shown = list(default) if isinstance(default, tuple) else default
            lines.append(f"| `{key}` | `{shown}` | {comments[kind.__name__, key]} |")
        lines += ["", *(_one_store(comments) if name == "federation" else ())]
    return "\n".join(lines)


def actors_page() -> str:
    """Return docs/supervision.md."""
    kinds = {kind.__name__.lower(): kind for kind in _below(AsyncioActor)}
    drawing = re.search(r"```\n.*?\n```", _doc("cortex_actors.tree"), re.DOTALL)
    lines = [
        "Made from the actors' cards, their classes and `cortex_actors/tree.py` by `make docs`;",
        "tests hold the cards to the code.",
        "",
        drawing[0] if drawing else "",
        "",
        f"A branch that restarts its children more than {INTENSITY} times in {PERIOD:g} s gives up",
        "and is restarted by the branch above it.",
        "",
        "*Hears* are topics of the bus, *says* what it publishes, *asks* the names it is handed a",
        "way to, *keeps* what it has between two messages, with what becomes of that in a crash",
        "(`-`: nothing that a crash could lose). *Mailbox* is how many messages may wait, and what",
        "a full one does: `back-pressure` makes senders wait, `refuse` tells them at once,",
        "`drop-new` drops a message. *Message limit* is how long one message may",
        "take before the watchdog restarts the actor.",
        "",
    ]
    for branch, names in _branches(TREE):
        lines += [f"### {branch.name}", "", f"Strategy: `{branch.strategy}`.", ""]
        for name in names:
            lines += _actor(kinds[name], name)
    return library.put("supervision.md", lines)


def _branches(branch: Branch) -> Iterator[tuple[Branch, list[str]]]:
    """Yield the branches that have actors, in the order of their start."""
    if branch.strategy == "dynamic":  # tasks, which are no actors
        return
    names = [child for child in branch.children if isinstance(child, str)]
    if names or not branch.children:
        # The actors of a branch that begins empty are called what it is, without the s.
        yield branch, names or [branch.name.removesuffix("s")]
    for child in branch.children:
        if isinstance(child, Branch):
            yield from _branches(child)


def _actor(kind: type[AsyncioActor], name: str) -> list[str]:
    """Return what the page says of one actor."""
    text = _doc(kind.__module__)
    about = text.split("\n", maxsplit=1)[0].split(": ", maxsplit=1)[1]
    card = re.findall(r"^(hears|says|asks|keeps) {2,}(\S.*(?:\n +\S.*)*)$", text, re.MULTILINE)
    rows = [(line, re.sub(r"\s+", " ", told)) for line, told in card]
    rows += [
        ("mailbox", f"{kind.mailbox_limit or 'no limit'}, {kind.overflow}"),
        ("message limit", f"{kind.message_limit:g} s" if kind.message_limit else "none"),
    ]
    return [
        f"#### {name}",
        "",
        about[0].upper() + about[1:],
        "",
        "| | |",
        "|---|---|",
        *(f"| {line} | {told.replace('*', chr(92) + '*')} |" for line, told in rows),
        "",
    ]


def _below(kind: type[AsyncioActor]) -> Iterator[type[AsyncioActor]]:
    """Yield the product's actors below a class."""
    for child in kind.__subclasses__():
        yield from _below(child)
        if child.__module__.startswith("cortex_actors."):
            yield child


def _doc(module: str) -> str:
    """Return a module's docstring."""
    return inspect.getdoc(sys.modules[module]) or ""


def _payload(topic: topics.Topic) -> str:
    """Return the names of what travels on a topic."""
    needed = [
        field.name if field.default is MISSING else f"{field.name}?"
        for field in fields(topic.payload)
    ]
    return ", ".join(needed) or "-"


def _one_store(comments: dict[tuple[str, str], str]) -> Iterator[str]:
    """Yield the table of what one store may have."""
    kind = sections.StoreSettings
    yield from ("### [[federation.stores]]", "", (kind.__doc__ or "").strip(), "")
    yield from ("| key | default | meaning |", "|---|---|---|")
    for key, field in kind.model_fields.items():
        default = "required" if field.is_required() else f"`{field.default}`"
        yield f"| `{key}` | {default} | {comments[kind.__name__, key]} |"
    yield ""


def _key(topic: topics.Topic) -> str:
    """Return what makes two waiting events one."""
    if topic.key is None:
        return "-"
    return ", ".join(topic.key) or "all are one"


def _comments() -> dict[tuple[str, str], str]:
    """Return the `#:` text of each setting, by class and key."""
    found: dict[tuple[str, str], str] = {}
    owner, comment = "", ""
    for line in Path(sections.__file__ or "").read_text("utf-8").splitlines():
        if match := re.match(r"class (\w+)\(", line):
            owner, comment = match[1], ""
        elif match := re.match(r"    #: ?(.*)", line):
            comment = f"{comment} {match[1]}".strip()
        elif match := re.match(r"    (\w+): ", line):
            found[owner, match[1]], comment = comment, ""
    return found


#: Modules with commands, in the order in which help shows what one group has of several.
COMMANDS = (
    "pipeline.projects pipeline.insights pipeline.history pipeline.principles "
    "pipeline.contradictions pipeline.review memory.recall pipeline.resolve system.demo "
    "setup uninstall memory.memory system.backup memory.agents system.stores "
    "system.models service system.events system.doctor"
).split()

#: Examples that a group has at most, of its own and of the commands below it.
EXAMPLES = 5

#: Pieces of the table.
Row = dict[str, Any]


def commands_table() -> str:
    """Return cortex_actors/cli/commands.json: what the command line is built from."""
    for name in COMMANDS:
        import_module(f"cortex_actors.cli.{name}")
    modules = [f"cortex_actors.cli.{name}" for name in COMMANDS]

    def place(found: tuple[int, Declared]) -> tuple[int, int, int]:
        number, each = found
        code = each.function.__code__
        # Decorators are applied from the lowest to the highest.
        return modules.index(each.function.__module__), code.co_firstlineno, -number

    declared = [each for _, each in sorted(enumerate(DECLARED), key=place)]
    groups: dict[str, Row] = {"": {**FRONT, "commands": []}}
    groups |= {each.path: {**_command(each), "commands": []} for each in declared if each.is_group}
    rows = {each.path: _command(each) for each in declared if not each.is_group}
    rows = {MOVED.get(name, name): _quick(name) for name in fast.QUICK} | rows
    for path in [*rows, *groups]:
        if path and path not in HIDDEN:
            groups[path.rpartition(" ")[0]]["commands"].append(path.rpartition(" ")[2])
    for path, row in groups.items():
        below = [(groups | rows)[f"{path} {each}"] for each in row["commands"]] if path else []
        first = [line for each in below for line in each.get("examples", ())[:1]]
        row["examples"] += first[: max(0, EXAMPLES - len(row["examples"]))]
    # One row a line, so that a change can be read.
    every = {**groups, **rows}
    lines = [f"{json.dumps(path)}: {json.dumps(row, default=str)}" for path, row in every.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _command(each: Declared) -> Row:
    """Return the row of a declared command, or of a group with what it runs."""
    if each.operation:
        return _derived(each)
    own = inspect.cleandoc(each.function.__doc__ or "")
    row: Row = {"help": each.about or own}
    row["examples"] = [*each.examples]
    row["run"] = {"call": _place(each.function), **_run(each)}
    hints = get_type_hints(each.function, include_extras=True)
    parameters = inspect.signature(each.function).parameters
    row["params"] = [
        _parameter(given, hints[name]) for name, given in parameters.items() if name != "client"
    ]
    if each.run.get("show"):
        more = [_parameter(given, hint) for given, hint in _everywhere()]
        row["params"] += more if "client" in parameters else more[:1]
    return row


def _place(function: Callable[..., object]) -> str:
    """Return where a function is, as a row names it."""
    return f"{function.__module__}:{function.__name__}"


def _run(each: Declared) -> Row:
    """Return what is said of how a command runs."""
    said = {key: value for key, value in each.run.items() if value is not None}
    row = {key: _place(value) if callable(value) else value for key, value in said.items()}
    show = each.run.get("show") if each.by_hand else each.function
    if callable(show) and len(inspect.signature(show).parameters) > 1:
        row["given"] = True
    return row


def _derived(each: Declared) -> Row:
    """Return the row of a command that asks an operation."""
    operation = OPERATIONS[each.operation or ""]
    # What it raises is for programs: a person reads the error.
    first = operation.description.split("\n\n")[0].partition(" Raises ")[0]
    if each.run.get("offline"):
        first += " Works without a daemon, too."
    function = each.function
    row: Row = {"help": inspect.getdoc(function) if each.by_hand else each.about or first}
    row["examples"] = [*each.examples]
    target = _place(function)
    row["run"] = {"call": target} if each.by_hand else {"ask": operation.method, "show": target}
    row["run"] |= _run(each)
    row["params"] = [
        _operand(each, given)
        for name, given in operation.signature.parameters.items()
        if name not in (*each.leave_out, "here")
    ]
    if "here" in operation.signature.parameters:
        row["run"]["here"] = True
    row["params"] += [
        _more(name, own)
        for name, own in each.spelled.items()
        if isinstance(own, Preset) or name not in operation.signature.parameters
    ]
    if each.one:
        row["run"]["one"] = [_one(one, row["params"]) for one in each.one]
    row["params"] += [_parameter(given, hint) for given, hint in _everywhere()]
    return row


def _more(name: str, own: Option | Argument | Preset) -> Row:
    """Return an option that the operation does not have; a flag may set one that it has."""
    if isinstance(own, Preset):
        names = [*(own.names or _spelling(name))]
        row: Row = {"name": name, "kind": "flag", "names": names, "sets": own.sets}
        return {**row, "help": own.help}
    if isinstance(own, Argument):
        raise TypeError(f"{name} is no parameter of the operation")
    names = [*(own.names or _spelling(name))]
    return {"name": name, "kind": "text", "names": names, "sets": None, **_said(own.about)}


def _one(found: One, params: list[Row]) -> Row:
    """Return how one thing is asked for: by the words among the parameters, or one more."""
    other = OPERATIONS[found.operation]
    (given,) = other.signature.parameters.values()
    meaning = find_parameter(other.method, given.name)
    row: Row = {"kind": "text", "complete": meaning.complete}
    by = next((each["name"] for each in params if each.get("joined")), None)
    if option := found.option:
        by = option.names[0].removeprefix("--")
        own = {"names": [*option.names], "metavar": meaning.metavar, **option.about}
        row |= {"name": by, **own}
        params.append({key: value for key, value in row.items() if value is not None})
    elif by is None:
        by = given.name
        row |= {"name": by, "metavar": f"[{meaning.metavar}]", "help": meaning.help}
        params.insert(0, row)
    asked = {"ask": other.method, "name": given.name}
    return {**asked, "by": by, "prefix": found.prefix, "alone": found.alone}


def _preset(each: Declared) -> set[str]:
    """Return the parameters that a flag of the command may give a value."""
    flags = [own for own in each.spelled.values() if isinstance(own, Preset)]
    return {own.sets[0] for own in flags if own.sets}


def _everywhere() -> Iterator[tuple[inspect.Parameter, Any]]:
    """Yield the options that every command which asks an operation has."""
    for name, hint, default in (("as_json", JsonOption, False), ("home", HomeOption, None)):
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default), hint


def _operand(each: Declared, given: inspect.Parameter) -> Row:
    """Return a parameter of an operation as a command has it."""
    operation = OPERATIONS[each.operation or ""]
    meaning, own = find_parameter(operation.method, given.name), each.spelled.get(given.name)
    hint = operation.hints[given.name]
    kind = "path" if meaning.is_path else getattr(own, "about", {}).get("kind")
    row: Row = {"name": given.name, **({"kind": kind} if kind else _kind(hint))}
    required = given.default is given.empty
    if isinstance(own, Option) or (own is None and not required):
        names = own.names if own and own.names else meaning.names
        row["names"] = [*(names or _spelling(given.name))]
        if row["kind"] == "flag" and given.default is True:
            row["off"] = f"--no-{row['names'][-1].removeprefix('--')}"
    if isinstance(own, Joined):
        row |= {"many": True, "joined": True}
    if required and "missing" not in getattr(own, "about", ()):
        row["required"] = True
    unsaid = required or isinstance(own, Joined) or given.name in _preset(each)
    if given.default is None and row["kind"] == "flag":
        row["default"] = None  # neither yes nor no was said
    elif not unsaid and not any(given.default is x for x in (None, False, ())):
        row["default"] = given.default
    found: Row = {"metavar": meaning.metavar, "complete": meaning.complete, "help": meaning.help}
    found |= {"min": meaning.least, "max": meaning.most}
    row |= {key: value for key, value in found.items() if value is not None}
    if meaning.words is not None:
        enum = f"{meaning.words.__module__.rpartition('.')[2]}.{meaning.words.__name__}"
        row |= {"kind": "choice", "values": [str(word) for word in meaning.words], "enum": enum}
    if own is None or isinstance(own, Preset):
        return row
    return {**row, **_said(own.about)}


def _parameter(given: inspect.Parameter, hint: Any) -> Row:  # noqa: ANN401 - any annotation
    """Return a parameter as the table has it: what is not said of it is left out."""
    kind, declared = get_args(hint)
    row: Row = {"name": given.name, **_kind(kind)}
    if isinstance(declared, Option):
        row["names"] = [*(declared.names or _spelling(given.name))]
    elif not isinstance(declared, Argument):
        raise TypeError(f"{given} is neither an option nor an argument")
    if given.default is given.empty:
        row["required"] = True
    elif given.default is None and row["kind"] == "flag":
        row["default"] = None  # neither yes nor no was said
    elif given.default is not None and given.default is not False:
        row["default"] = given.default
    return {**row, **_said(declared.about)}


def _spelling(name: str) -> tuple[str]:
    """Return how the option of a parameter is spelled where nothing is said of that."""
    return (f"--{name.replace('_', '-')}",)


def _said(about: About) -> Row:
    """Return what is said of a parameter, as a row has it."""
    row: Row = {key: each for key, each in about.items() if key not in {"words", "one_of", "read"}}
    if read := about.get("read"):
        row["read"] = f"{read.__module__}:{read.__name__}"
    return {**row, **_values(about)}


def _values(about: About) -> Row:
    """Return what a row says of the values that a parameter may have; nothing for any value."""
    values = [*about.get("words", ())]
    if enum := about.get("one_of"):
        module, _, name = enum.partition(".")
        members = getattr(import_module(f"cortex_actors.domain.{module}"), name)
        values += [str(each) for each in members]
    if not values:
        return {}
    return {"kind": "choice", "values": values, **({} if "words" in about else {"enum": enum})}


def _kind(hint: Any) -> Row:  # noqa: ANN401 - any annotation
    """Return what an annotation says: the kind, and whether there are several."""
    if get_origin(hint) in (Union, UnionType):
        several = [each for each in get_args(hint) if each is not type(None)]
        hint = str if str in several else several[0]  # a moment is a number or a text
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) is list:
        return {**_kind(get_args(hint)[0]), "many": True}
    if get_origin(hint) in {Sequence, dict}:
        return {"kind": "text", "many": True}
    return {"kind": {bool: "flag", int: "int", float: "float", str: "text", Path: "path"}[hint]}


def _quick(name: str) -> Row:
    """Return the row of a quick command: a shell that completes needs its options."""
    params = [_action(each) for each in fast.make_parser(name)._actions]  # noqa: SLF001 - no other way
    run = {"quick": name}
    return {"help": fast.QUICK[name][0], "run": run, "params": [each for each in params if each]}


def _action(each: argparse.Action) -> Row:
    """Return an option or a word of argparse's; nothing for `--help`."""
    if each.dest == "help":
        return {}
    row: Row = {"name": each.dest, "kind": "flag" if each.nargs == 0 else "text"}
    if each.choices:
        row |= {"kind": "choice", "values": [*each.choices]}
    if each.option_strings:
        row["names"] = [*each.option_strings]
    elif each.nargs == "*":
        row["many"] = True
    return row


#: Page, or another file, -> what makes it. The snapshot comes before the
#: client's pages, and the table before the page of commands, which are made from them.
PAGES = {
    "../cortex_actors/api/operations.json": library.snapshot,
    "supervision.md": actors_page,
    "configuration.md": configuration_page,
    "topics.md": topics_page,
    "../cortex_actors/client/cortex.pyi": library.stub,
    "python.md": library.python_page,
    "agents.md": library.agents_page,
    str(TABLE): commands_table,
    "cli.md": library.cli_page,
}


if __name__ == "__main__":
    for page, make in PAGES.items():
        (DOCS / page).write_text(make(), encoding="utf-8")
