"""Makes the snapshot of the registry, and of it the Python client's stub and pages.

The client is imported where it is needed: it reads the snapshot, which is written before.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex_actors.api import desk  # noqa: F401 - registers every operation
from cortex_actors.api.parameters import find_parameter
from cortex_actors.api.registry import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cortex_actors.api.registry import Operation

#: Where the pages are.
DOCS = Path(__file__).parent


def snapshot() -> str:
    """Return cortex_actors/api/operations.json: the registry, for whom it would be too slow."""
    rows = {each.method: _declared(each) for each in OPERATIONS.values()}
    # A line each, so that a change shows which operation it is of.
    lines = (
        f"{json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}"
        for name, row in sorted(rows.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _declared(operation: Operation) -> dict[str, Any]:
    """Return one operation of the snapshot."""
    schemas, rows = operation.schema["properties"], []
    for each in operation.signature.parameters.values():
        schema = schemas[each.name]
        kinds = schema.get("anyOf", [schema])
        row = {
            "name": each.name,
            "kinds": [kind["type"] for kind in kinds],
            "items": next((kind["items"]["type"] for kind in kinds if "items" in kind), None),
            "required": each.default is each.empty,
            "default": None if each.default is each.empty else each.default,
            "keyword": each.kind is each.KEYWORD_ONLY,
            "help": find_parameter(operation.method, each.name).constraints["description"],
        }
        rows.append(row)
    return {
        "name": operation.name,
        "http": operation.http,
        "agents": operation.agents,
        "description": operation.description,
        "parameters": rows,
    }


#: How the stub begins; the classes follow.
_STUB = """\
# Made from the registry of operations by `make docs`.
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Self

from cortex_actors.client.host import Embed
from cortex_actors.client.results import (
    Convergence,
    Crumb,
    Detail,
    Duplicate,
    Exported,
    Found,
    Imported,
    Saved,
    Stale,
    Thread,
)
from cortex_actors.home import Home
"""


def stub() -> str:
    """Return cortex_actors/client/cortex.pyi: every method of the library with its types."""
    from cortex_actors.client.cortex import AsyncCortex, Cortex  # noqa: PLC0415 - see above

    lines = [_STUB]
    for kind in (Cortex, AsyncCortex):
        methods = dict(inspect.getmembers(kind, inspect.isfunction))
        special = [name for name in methods if name.startswith("__")]
        plain = [name for name in methods if not name.startswith("_")]
        lines += [f"class {kind.__name__}:"]
        lines += [_stubbed(name, methods[name]) for name in (*special, *plain)]
        lines += ["    @property", "    def home(self) -> Home: ...", ""]
    return "\n".join(lines).rstrip() + "\n"


def _stubbed(name: str, method: Callable[..., Any]) -> str:
    """Return a method of the stub."""
    takes = inspect.signature(method)
    word = "async def" if _is_awaited(method) else "def"
    given = list(_words(takes, with_types=True))
    line = f"    {word} {name}({', '.join(given)}) -> {takes.return_annotation}: ..."
    if len(line) <= LINE:
        return line
    inner = "".join(f"        {each},\n" for each in given)
    return f"    {word} {name}(\n{inner}    ) -> {takes.return_annotation}: ..."


def _is_awaited(method: Callable[..., Any]) -> bool:
    """Return whether a method itself, and not what it wraps, is a coroutine function."""
    return bool(method.__code__.co_flags & inspect.CO_COROUTINE)


def _words(takes: inspect.Signature, *, with_types: bool) -> Iterator[str]:
    """Yield what stands between the parentheses of a method."""
    star = False
    for each in takes.parameters.values():
        star = star or each.kind is each.VAR_POSITIONAL
        if each.kind is each.KEYWORD_ONLY and not star:
            star = True
            yield "*"
        mark = "*" if each.kind is each.VAR_POSITIONAL else ""
        typed = with_types and each.annotation is not each.empty
        text = f"{mark}{each.name}" + (f": {each.annotation}" if typed else "")
        if each.default is each.empty:
            yield text
        else:
            is_text = isinstance(each.default, str)
            shown = json.dumps(each.default) if is_text else repr(each.default)
            yield f"{text} = {shown}" if typed else f"{text}={shown}"


#: Characters of a line, as ruff has it.
LINE = 100

#: What encloses the part of a page that is made from the code.
BEGIN, END = "<!-- Made from the code by `make docs`. -->", "<!-- Until here. -->"

#: The table that the command line is built from.
_COMMANDS = DOCS.parent / "cortex_actors" / "cli" / "commands.json"

#: Where operations belong that are called by a verb alone.
_SUBJECTS = {"recall": "memory", "remember": "memory"}

#: Methods that are no operation of their own -> the operation below whose subject they stand.
_FURTHER = {"export_to": "export", "import_from": "import_memories", "ingest_text": "ingest"}


def python_page() -> str:
    """Return docs/python.md; its last part lists every method."""
    from cortex_actors.client.cortex import Cortex  # noqa: PLC0415 - see above
    from cortex_actors.client.operations import NAMES, list_methods  # noqa: PLC0415 - see above
    from cortex_actors.client.results import WORDS  # noqa: PLC0415 - see above

    methods = inspect.getmembers(Cortex, inspect.isfunction)
    asks = {
        **{each.method: each.method for each in OPERATIONS.values()},
        **list_methods(),
        **_FURTHER,
    }
    # Two names of one method: the shorter way to say it is enough here.
    doubled = {verb for name, verb in NAMES.items() if asks.get(verb) == verb}
    rows: dict[str, list[str]] = {}
    for name, method in methods:
        if name in asks and name not in doubled:
            takes = inspect.signature(method)
            given = takes.replace(
                parameters=[
                    each
                    for each in takes.parameters.values()
                    if each.name not in {"self", *WORDS.get(asks[name], ())}
                ]
            )
            words = ", ".join(_words(given, with_types=False))
            gives = takes.return_annotation.replace("dict[str, Any]", "dict")
            about_ = (inspect.getdoc(method) or "").partition("\n")[0]
            row = f"| `{name}({words})` | `{gives}` | {about_} |"
            rows.setdefault(_subject(asks[name]), []).append(row)
    lines = []
    for subject in sorted(rows):
        lines += [f"### {subject}", "", "| method | gives | |", "|---|---|---|", *rows[subject], ""]
    return put("python.md", [*lines, *_glossary()])


def _glossary() -> list[str]:
    """Return what parameters mean: by their names, and where one means another thing."""
    from cortex_actors.client.operations import load_snapshot, make_signature  # noqa: PLC0415 - see above

    found: dict[str, dict[tuple[str, str], list[str]]] = {}
    for verb, row in load_snapshot().items():
        takes = list(make_signature(verb).parameters.values())[1:]
        for each, given in zip(takes, row["parameters"], strict=False):
            said = (each.annotation.removesuffix(" | None"), given["help"])
            found.setdefault(each.name, {}).setdefault(said, []).append(verb)
    lines = ["### Parameters", "", "| parameter | kind | means |", "|---|---|---|"]
    for name, meanings in sorted(found.items()):
        common = max(meanings, key=lambda said: len(meanings[said]))
        for (kind, help_), verbs in sorted(meanings.items(), key=lambda row: row[0] != common):
            shown = name if (kind, help_) == common else f"{', '.join(verbs)}: {name}"
            lines.append(f"| `{shown}` | `{kind.replace(' | ', ', ')}` | {help_} |")
    return lines


def agents_page() -> str:
    """Return docs/agents.md; its matrix says which operations agents may ask."""
    rows: dict[str, tuple[list[str], list[str], list[str], list[str]]] = {}
    for each in sorted(OPERATIONS.values(), key=lambda each: each.name):
        reads, changes, sessions, owners = rows.setdefault(_subject(each.method), ([], [], [], []))
        among = reads if each.http.startswith("GET ") else changes
        others = sessions if each.sessions else owners
        mark = "" if each.sessions or not each.agents else "*"
        (among if each.agents else others).append(f"`{each.method}`{mark}")
    lines = [
        "| about | agents may read | agents may change | a session may, too | yours alone |",
        "|---|---|---|---|---|",
    ]
    for subject, columns in sorted(rows.items()):
        lines.append(f"| {subject} | {' | '.join(', '.join(each) or '-' for each in columns)} |")
    return put("agents.md", [*lines, "", "`*`: not in a [session](#mcp)."])


def cli_page() -> str:
    """Return docs/cli.md; its last part lists every command with its options."""
    rows: dict[str, dict[str, Any]] = json.loads(_COMMANDS.read_text("utf-8"))
    lines = ["Every command also takes `--home` and `--help`, and prints JSON with `--json`.", ""]
    lines += ["| command | |", "|---|---|"]
    for path, row in sorted(rows.items()):
        if "run" not in row:
            continue
        words = " ".join(["cortex", path, *map(_usage, row["params"])]).split()
        said = " ".join(row.get("own", row["help"]).split("\n\n")[0].split())
        lines.append(f"| `{' '.join(words).replace('|', '&#124;')}` | {said} |")
    return put("cli.md", lines)


def _usage(row: dict[str, Any]) -> str:
    """Return how a parameter stands in the usage of its command; nothing for those all have."""
    if row["name"] in {"home", "as_json"} or row["kind"] == "home":
        return ""
    word = row.get("metavar") or row["name"].upper()
    if "names" not in row:
        shown = word if row.get("required") or word.startswith("[") else f"[{word}]"
        return f"{shown}..." if row.get("many") and "..." not in shown else shown
    name = max(row["names"], key=len)
    if row["kind"] == "flag":
        return f"[{name}|{row['off']}]" if row.get("off") else f"[{name}]"
    word = row.get("metavar") or ("N" if row["kind"] in {"int", "float"} else name[2:].upper())
    value = "|".join(row["values"]) if len(row.get("values", ())) in range(1, 5) else word
    return f"{name} {value}" if row.get("required") else f"[{name} {value}]"


def _subject(method: str) -> str:
    """Return what an operation is about: the first part of its name."""
    first = next(each.name for each in OPERATIONS.values() if each.method == method)
    first = first.partition(".")[0]
    return _SUBJECTS.get(first, first)


def put(page: str, lines: list[str]) -> str:
    """Return a page with its made part anew; the rest of it is written by hand."""
    before, _, rest = (DOCS / page).read_text("utf-8").partition(f"{BEGIN}\n")
    text = "\n".join(lines).strip()
    return f"{before}{BEGIN}\n\n{text}\n\n{END}\n{rest.partition(f'{END}' + chr(10))[2]}"
