"""An actor's card - hears, says, asks, keeps - compared with what its class does."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tests.architecture.rows import promise
from tests.architecture.source import dotted, functions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.architecture.source import Module

#: The branches of the tree, in which actors live.
BRANCHES = frozenset(
    "storage embedding judging pipeline memory federation watching schedule gateways".split()
)

#: The lines of a card; `-` stands for nothing.
LINES = ("hears", "says", "asks", "keeps")

#: Classes that make their subclasses actors.
_ACTORS = frozenset({"AsyncioActor", "Consumer"})

#: A line of a card, and the indented ones that go on with it.
_LINE = re.compile(rf"^({'|'.join(LINES)}) {{2,}}(\S.*(?:\n +\S.*)*)$", re.MULTILINE)

#: A topic or a pattern as it is named in a card.
_TOPIC = re.compile(r"[a-z*]+:[a-z*-]+")

#: The method of the bus that makes an actor hear what its first argument covers.
_SUBSCRIBING = "subscribe"

#: What makes a new collection, which an actor then fills.
_COLLECTIONS = frozenset("dict list set deque defaultdict OrderedDict Counter bytearray".split())


def topic_constants(module: Module) -> dict[str, str]:
    """Return the constants of topics.py that name a topic: FILE_CHANGED -> file:changed."""
    found: dict[str, str] = {}
    for node in module.tree.body:
        target, value = _assigned(node)
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found[target] = value.value
    return {name: topic for name, topic in found.items() if _TOPIC.fullmatch(topic)}


def actors(module: Module) -> list[ast.ClassDef]:
    """Return the classes of a module that are actors by the names of their bases."""
    classes = [node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)]
    return [node for node in classes if _ACTORS & {_base(base) for base in node.bases}]


def _base(node: ast.expr) -> str:
    """Return the last name of a base class: `Consumer` for `bus.consumer.Consumer[int]`."""
    plain = node.value if isinstance(node, ast.Subscript) else node
    return dotted(plain).rpartition(".")[2]


def card(module: Module, topics: Mapping[str, str]) -> Iterator[str]:
    """Yield what an actor's card leaves out, or says wrongly, about its topics and its state."""
    if module.unit not in BRANCHES or not (found := actors(module)):
        return
    lines = lines_of(ast.get_docstring(module.tree) or "")
    for missing in [line for line in LINES if line not in lines]:
        yield f"{module.path}: the card has no line {missing!r} (two spaces after it, - for none)"
    tables = [table for cls in found if (table := _hears(cls)) is not None]
    heard = {_topic(key, topics) for table in tables for key in table.keys}
    yield from _differ(module, "hears", lines, heard | _subscribed(module, topics))
    yield from _differ(module, "says", lines, _said(module, tables, topics))
    yield from _kept(module, found, lines.get("keeps", ""))


def _differ(module: Module, line: str, lines: dict[str, str], real: set[str]) -> Iterator[str]:
    """Yield where a line of the card and the code disagree."""
    named = set(_TOPIC.findall(lines.get(line, "")))
    for topic in sorted(named - real):
        yield f"{module.path}: the card names {topic} under {line!r}, the code does not"
    for topic in sorted(real - named):
        yield f"{module.path}: the code has {topic}, the card does not name it under {line!r}"


def lines_of(text: str) -> dict[str, str]:
    """Return the lines of the card in a module's docstring."""
    return dict(_LINE.findall(text))


def state(cls: ast.ClassDef) -> set[str]:
    """Return the attributes in which an actor keeps something between two messages.

    Those are the ones that any method but `__init__` assigns, and those that begin as a new
    collection. What else `__init__` assigns is what the actor was handed.
    """
    kept: set[str] = set()
    for function in functions(cls):
        for node in ast.walk(function):
            value = getattr(node, "value", None)
            if function.name != "__init__" or _is_collection(value):
                kept |= {name for name in _targets(node) if name.startswith("self.")}
    return kept


def _targets(node: ast.AST) -> set[str]:
    """Return the dotted names that a statement assigns."""
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return set()
    each = [part for t in targets for part in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return {dotted(part) for part in each}


def _is_collection(value: ast.AST | None) -> bool:
    """Return whether an expression makes a new collection that can be filled."""
    if isinstance(value, ast.Call):
        return dotted(value.func).rpartition(".")[2] in _COLLECTIONS
    shapes = ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp
    return isinstance(value, shapes)


def _kept(module: Module, classes: list[ast.ClassDef], line: str) -> Iterator[str]:
    """Yield an actor that keeps something its card is silent about, or the other way round."""
    kept = sorted(name for cls in classes for name in state(cls))
    if line.startswith("nothing"):
        yield f"{module.path}: write - for nothing under 'keeps'"
    if line.startswith(("-", "nothing")) and kept:
        yield f"{module.path}: the card says it keeps nothing, the code keeps {', '.join(kept)}"
    if not line.startswith(("-", "nothing")) and not kept:
        yield f"{module.path}: the code keeps nothing, the card says otherwise under 'keeps'"


def _subscribed(module: Module, topics: Mapping[str, str]) -> set[str]:
    """Return the patterns that a module subscribes to by its own words."""
    calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    ours = [c for c in calls if dotted(c.func).rpartition(".")[2] == _SUBSCRIBING and c.args]
    return {_topic(call.args[0], topics) for call in ours}


def _hears(cls: ast.ClassDef) -> ast.Dict | None:
    """Return the table in the class attribute `hears`, if it has one."""
    for node in cls.body:
        target, value = _assigned(node)
        if target == "hears" and isinstance(value, ast.Dict):
            return value
    return None


def _assigned(node: ast.stmt) -> tuple[str, ast.expr | None]:
    """Return name and value of a plain or an annotated assignment, else nothing."""
    if isinstance(node, ast.Assign):
        return dotted(node.targets[0]), node.value
    if isinstance(node, ast.AnnAssign):
        return dotted(node.target), node.value
    return "", None


def _topic(node: ast.AST | None, topics: Mapping[str, str]) -> str:
    """Return the topic that an expression names, by its constant or as text; else its source."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    name = dotted(node).rpartition(".")[2] if node else ""
    return topics.get(name) or (ast.unparse(node) if node else "**")


def _said(module: Module, tables: list[ast.Dict], topics: Mapping[str, str]) -> set[str]:
    """Return the topics whose constants are used anywhere but where they are heard."""
    tabled = {id(node) for table in tables for key in table.keys if key for node in ast.walk(key)}
    calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    heard = [c for c in calls if dotted(c.func).rpartition(".")[2] == _SUBSCRIBING]
    tabled |= {id(node) for call in heard for arg in call.args[:1] for node in ast.walk(arg)}
    used = (node for node in ast.walk(module.tree) if id(node) not in tabled)
    names = (dotted(n).rpartition(".")[2] for n in used if isinstance(n, ast.Name | ast.Attribute))
    return {topics[name] for name in names if name in topics}


def undescribed(module: Module) -> Iterator[str]:
    """Yield tests without a docstring of one sentence (and, below it, the rows it proves)."""
    if not module.is_test:
        return
    for function in functions(module.tree):
        if function.name.startswith("test"):
            words = promise(ast.get_docstring(function) or "")
            if not words.strip().endswith(".") or "\n\n" in words:
                yield f"{module.path}:{function.lineno} {function.name} promises no one sentence"
