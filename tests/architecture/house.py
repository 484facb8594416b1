"""Rules about the product as a whole, and how far from each of them it still is.

Whatever can be judged in one file is in layers.py and manners.py, the most lines of a module and
of a function among them.

`python -m tests.architecture.house` prints who breaks which rule, and the counts.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.architecture.source import docstrings, dotted, functions, imports, modules
from tests.architecture.survey import Survey, circles, is_package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.architecture.source import Module

#: The package; modules directly in it are what most others need.
TOP = "cortex_actors"

#: Modules directly in the package.
TOP_LIMIT = 12

#: Modules directly in any other folder: more are two subjects.
FOLDER_LIMIT = 16

#: Code lines below which a module is a fragment of a subject.
FRAGMENT = 80

#: Code lines below which a module with a single importer belongs into that importer.
ANNEX = 60

#: Folders of adapters and tables, one small module each by their nature.
MAY_BE_SHORT = (
    "cortex_actors/federation/adapters/",
    "cortex_actors/storage/migrations/",
    "cortex_actors/storage/tables/",
)

#: What may name SQLite's driver and write its dialect: folders, and files without their suffix.
#: The dialect is the place for what differs between engines, and is not there for anything else.
SPEAKS_SQLITE = (
    "cortex_actors/storage/ledger/",
    "cortex_actors/storage/search/words.",
    "cortex_actors/storage/tables/dialect.",
)

#: Statements in SQLite's dialect elsewhere, because they are hot: `path:NAME` of a constant.
HOT: frozenset[str] = frozenset(
    f"cortex_actors/storage/{each}"
    for each in (
        "deliveries.py:_ALIKE",
        "memory_records.py:_ALONG",
        "memory_records.py:_AROUND",
        "memory_records.py:_BESIDE",
        "memory_records.py:_NEXT",
        "passages.py:_CHANGED",
        "pipeline/insight_evidence.py:_SCANS",
        "search/similar_memories.py:_SAYING",
        "search/similar_memories.py:_SCOPE",
    )
)

#: More than these are no exceptions.
HOT_LIMIT = 15

#: Bases out of the product: with more, methods are looked for in too many places.
BASES_LIMIT = 3

#: Parameters that may be given by position.
POSITIONAL_LIMIT = 2

#: A field that stands for all: how many files name it is how many a new field would change.
FIELD = "said_until"

_DRIVERS = frozenset({"aiosqlite", "pysqlite2", "pysqlite3", "sqlcipher3", "sqlite3"})

_DIALECT = re.compile(
    r"\bjson_(?:each|extract|group_array|tree)\b|\bMATCH\b|\bINSERT OR\b|\bPRAGMA\b|\bfts5\w*\("
    r"|\bsqlite_(?:master|schema|sequence)\b|\browid\b|\bWITHOUT ROWID\b|\blast_insert_rowid\b"
    r"|\bINDEXED BY\b|\bGLOB\b|\biif\(|\bprintf\(|\bgroup_concat\b|\btotal_changes\b"
)

#: Words that a reader whose second language is English stumbles over; docs/contributing.md names
#: plain ones.
_STUMBLES = re.compile(
    r"\b(?:whoever|somebody|nobody|anew|(?:is|are|was|were|be) told|stands?|takes? in|lets? go"
    r"|under way|in hand|knows? of|has it that)\b",
    re.IGNORECASE,
)

#: Today's count of what breaks a rule. A number may only fall; at the rule's goal its line goes.
OPEN: dict[str, int] = {
    "fragments": 7,
    "folder rings": 5,
    "lone protocols": 2,
    "wrapped functions": 2,
    "positional": 525,
    "words": 15,
    "field": 9,
}

#: What the product may have and need not use up. Code lines may only fall, to 59,000 in the end.
BOUNDS: dict[str, int] = {"code lines": 61_500, "modules": 300}


@dataclass(frozen=True)
class Rule:
    """What is promised, who breaks it, and how many may do so at the end."""

    name: str
    promise: str
    check: Callable[[Survey], Iterator[str]]
    goal: int = 0

    @property
    def allowed(self) -> int:
        """How many may break it today."""
        return OPEN.get(self.name, self.goal)


def top(survey: Survey) -> Iterator[str]:
    """Yield the modules directly in the package, beside its `__init__`."""
    for module in survey.modules:
        if str(module.path.parent) == TOP and not is_package(module):
            yield str(module.path)


def fragments(survey: Survey) -> Iterator[str]:
    """Yield modules that are too short for a subject."""
    for module in _may_be_judged_short(survey):
        if (lines := survey.sizes[str(module.path)]) < FRAGMENT:
            yield f"{module.path} has {lines} code lines"


def annexes(survey: Survey) -> Iterator[str]:
    """Yield short modules that only one other imports."""
    for module in _may_be_judged_short(survey):
        lines = survey.sizes[str(module.path)]
        users = survey.importers.get(".".join(module.path.with_suffix("").parts), set())
        if lines < ANNEX and len(users) == 1:
            yield f"{module.path} has {lines} code lines, and only {min(users)} imports it"


def _may_be_judged_short(survey: Survey) -> Iterator[Module]:
    """Yield the modules that are neither entrances nor adapters nor tables."""
    for module in survey.modules:
        if not module.path.name.startswith("__") and not str(module.path).startswith(MAY_BE_SHORT):
            yield module


def folders(survey: Survey) -> Iterator[str]:
    """Yield folders of too many modules; the package's own is counted for itself."""
    held = Counter(str(each.path.parent) for each in survey.modules if not is_package(each))
    for folder, count in sorted(held.items()):
        if count > FOLDER_LIMIT and folder != TOP:
            yield f"{folder} has {count} modules"


def namesakes(survey: Survey) -> Iterator[str]:
    """Yield names that several classes bear."""
    for name, classes in sorted(survey.named.items()):
        if len(classes) > 1:
            yield f"{name}: {', '.join(each.place for each in classes)}"


def rings(survey: Survey) -> Iterator[str]:
    """Yield modules that import one another in a circle, be it for types alone."""
    for circle in circles(survey.graph):
        yield from (f"{name} is in a circle of {len(circle)} modules" for name in circle)


def folder_rings(survey: Survey) -> Iterator[str]:
    """Yield folders, and files of the package's own, in circles that a folder is part of."""
    folders = {f"{each.path.parent}".replace("/", ".") for each in survey.product}
    for circle in circles(survey.folders):
        if folders & set(circle):
            yield from (f"{name} is in a circle: {', '.join(circle)}" for name in circle)


def sqlite(survey: Survey) -> Iterator[str]:
    """Yield files that name SQLite's driver or write its dialect without being the place for it."""
    for module in survey.product:
        if str(module.path).startswith(SPEAKS_SQLITE):
            continue
        found = sorted({*_drivers(module), *_dialect(module)})
        if found:
            yield f"{module.path}:{found[0][0]} says {', '.join(sorted({s for _, s in found}))}"


def _drivers(module: Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of the drivers and the dialect that a module imports."""
    for line, name in imports(module.tree):
        if name.split(".", maxsplit=1)[0] in _DRIVERS:
            yield line, name.split(".", maxsplit=1)[0]
        elif name.startswith("sqlalchemy.dialects.sqlite"):
            yield line, "sqlalchemy.dialects.sqlite"
        elif name.endswith(".driver_of"):
            yield line, "driver_of"


def _dialect(module: Module) -> Iterator[tuple[int, str]]:
    """Yield line and word of SQLite's dialect in a module's texts and calls."""
    silent = {id(first.value) for first in docstrings(module.tree) if isinstance(first, ast.Expr)}
    for statement in module.tree.body:
        if any(f"{module.path}:{name}" in HOT for name in _assigned(statement)):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute):
                yield from ((node.lineno, word) for word in _DIALECT.findall(node.attr))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                words = () if id(node) in silent else _DIALECT.findall(node.value)
                yield from ((node.lineno, word) for word in words)


def _assigned(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement gives a value to."""
    for node in ast.walk(statement) if isinstance(statement, ast.Assign | ast.AnnAssign) else ():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def hot(survey: Survey) -> Iterator[str]:
    """Yield listed statements that do not exist, and those that are too many."""
    known = {
        f"{module.path}:{name}"
        for module in survey.product
        for statement in module.tree.body
        for name in _assigned(statement)
    }
    yield from (f"{each} is listed and does not exist" for each in sorted(HOT - known))
    yield from (f"{each} is one too many" for each in sorted(HOT)[HOT_LIMIT:])


def mixins(survey: Survey) -> Iterator[str]:
    """Yield classes that are pieces of a class, and those that are made of many."""
    for each in survey.classes:
        bases = [name for name in each.bases if name in survey.named]
        if each.node.name.endswith(("Mixin", "Verbs")) or len(bases) > BASES_LIMIT:
            yield f"{each.place} {each.node.name} ({len(bases)} bases)"


def lone_protocols(survey: Survey) -> Iterator[str]:
    """Yield protocols that one class of the product fits and no stub of the tests."""
    for protocol in survey.classes:
        if not protocol.is_protocol or survey.members(protocol) <= {"__call__"}:
            continue
        made = survey.fitting(protocol, survey.classes)
        if len(made) == 1 and not survey.fitting(protocol, survey.stubs):
            yield f"{protocol.place} {protocol.node.name}: only {made[0].node.name}"


def wrapped_functions(survey: Survey) -> Iterator[str]:
    """Yield classes of a constructor and one method that has a public name or is the call."""
    for each in survey.classes:
        rest = [name for name in each.methods if name != "__init__"]
        is_one = len(each.methods) == len(rest) + 1 and len(rest) == 1 and not each.bases
        if is_one and (rest[0] == "__call__" or not rest[0].startswith("_")):
            yield f"{each.place} {each.node.name}.{rest[0]}"


def reexports(survey: Survey) -> Iterator[str]:
    """Yield modules of nothing but imports."""
    for module in survey.modules:
        if not is_package(module) and all(map(_passes_on, module.tree.body)):
            yield str(module.path)


def _passes_on(statement: ast.stmt) -> bool:
    """Return whether a statement is an import, `__all__` or a docstring."""
    if isinstance(statement, ast.If) and dotted(statement.test).endswith("TYPE_CHECKING"):
        return all(map(_passes_on, statement.body))
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    is_import = isinstance(statement, ast.Import | ast.ImportFrom)
    return is_text or is_import or "__all__" in set(_assigned(statement))


def positional(survey: Survey) -> Iterator[str]:
    """Yield functions with many parameters that may be given by position."""
    for module in survey.product:
        for function in functions(module.tree):
            given = [*function.args.posonlyargs, *function.args.args]
            count = len(given) - any(each.arg in {"self", "cls", "call"} for each in given[:1])
            if count > POSITIONAL_LIMIT:
                yield f"{module.path}:{function.lineno} {function.name} has {count}"


def field(survey: Survey) -> Iterator[str]:
    """Yield files that name the field that stands for all."""
    for module in survey.product:
        if re.search(rf"\b{FIELD}\b", module.text):
            yield str(module.path)


def words(survey: Survey) -> Iterator[str]:
    """Yield lines with a word that is not plain, in code, comments and texts."""
    for module in survey.product:
        for number, line in enumerate(module.text.splitlines(), 1):
            if found := _STUMBLES.search(line):
                yield f"{module.path}:{number} says {found[0]}"


RULES = (
    Rule("top", f"the package itself has at most {TOP_LIMIT} modules", top, TOP_LIMIT),
    Rule("fragments", f"a module has at least {FRAGMENT} code lines", fragments),
    Rule("annexes", f"no module under {ANNEX} code lines has a single importer", annexes),
    Rule("folders", f"a folder has at most {FOLDER_LIMIT} modules", folders),
    Rule("namesakes", "class names are unique", namesakes),
    Rule("rings", "modules do not import one another in circles", rings),
    Rule("folder rings", "folders do not import one another in circles", folder_rings),
    Rule("sqlite", "only the ledger, the words and the dialect speak SQLite", sqlite),
    Rule("hot", f"at most {HOT_LIMIT} statements elsewhere do, and they exist", hot),
    Rule("mixins", f"no class is a piece of one, or has over {BASES_LIMIT} bases", mixins),
    Rule("lone protocols", "a protocol has two implementations or a stub", lone_protocols),
    Rule("wrapped functions", "no class is one function with arguments", wrapped_functions),
    Rule("re-exports", "no module only passes on what others define", reexports),
    Rule("positional", f"after {POSITIONAL_LIMIT} parameters the rest are by name", positional),
    Rule("words", "a reader whose second language is English does not stumble", words),
    Rule("field", f"few files name a field such as {FIELD}", field, goal=6),
)


def measures(survey: Survey) -> dict[str, int]:
    """Return what is bounded: code lines of the product, and its modules."""
    return {"code lines": sum(survey.sizes.values()), "modules": len(survey.modules)}


def complaint(rule: Rule, found: list[str]) -> str:
    """Return what is wrong when those break a rule, or nothing."""
    count, listed = len(found), "\n  ".join(["", *found])
    if count > rule.allowed:
        return f"{rule.name} rose from {rule.allowed} to {count}: {rule.promise}{listed}"
    if rule.name not in OPEN:
        return ""
    if count <= rule.goal:
        return f"{rule.name} fell to {count}, which is the goal: remove it from OPEN"
    if count < rule.allowed:
        return f"{rule.name} fell from {rule.allowed} to {count}: lower the number in OPEN"
    return ""


def report(survey: Survey) -> Iterator[str]:
    """Yield who breaks which rule, then the counts as OPEN and BOUNDS have them."""
    counts = []
    for rule in RULES:
        found = list(rule.check(survey))
        yield from (f"{rule.name}: {rule.promise}", *(f"  {each}" for each in found))
        counts.append((rule.name, len(found), rule.allowed, rule.goal))
    counts += [(name, got, BOUNDS[name], BOUNDS[name]) for name, got in measures(survey).items()]
    yield f"\n{'':20}{'found':>8}{'allowed':>9}{'goal':>8}"
    yield from (f"{name:20}{got:8}{most:9}{goal:8}" for name, got, most, goal in counts)


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in report(Survey(modules())))
