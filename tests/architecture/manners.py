"""How a module is written: time, waiting, size, names, and what it must never call."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

from tests.architecture.source import code_lines, dotted, functions, uses

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import PurePosixPath

    from tests.architecture.source import Module

#: Code lines of a module: without blanks, comments and docstrings.
MODULE_LIMIT = 450

#: Lines of supervision.py, all of them: it is read from top to bottom as one thing.
ENGINE_LIMIT = 900

#: Lines of a function below its docstring.
FUNCTION_LIMIT = 40

#: Names under which things gather that have nothing to do with one another.
BANNED = frozenset({"utils", "util", "helpers", "helper", "manager", "common", "base", "engine"})

#: Files that may be named like a module of the standard library, each with its reason here.
_SHADOWS: frozenset[str] = frozenset()

_READS_TIME = frozenset(
    "time.time time.time_ns time.monotonic time.monotonic_ns time.perf_counter "
    "time.perf_counter_ns datetime.now datetime.utcnow datetime.today date.today".split()
)

_SLEEPS = frozenset({"asyncio.sleep", "time.sleep"})

#: They run what they read.
_RUNS_DATA = frozenset({"pickle", "marshal", "shelve", "dill", "cloudpickle"})

#: Paths of one developer's machine. In pieces, so that this line does not find itself.
_OUTSIDE = re.compile(
    r"(?<![\w./~{}$-])/(?:wo" + r"rk|ro" + r"ot)(?=[/\s\"'`),;:]|$)|\.\./sha" + r"red", re.MULTILINE
)

#: The one file that may look beside the checkout, for the test data of this machine.
_MAY_LOOK_OUT = ".ci/run"


def time(module: Module) -> Iterator[str]:
    """Yield readings of a clock anywhere but in clock.py."""
    if module.path.parts[0] != "cortex_actors" or module.unit == "clock":
        return
    for line, name in uses(module):
        if ".".join(name.split(".")[-2:]) in _READS_TIME:
            yield f"{module.path}:{line} uses {name}: ask a Clock"


def waiting(module: Module) -> Iterator[str]:
    """Yield `asyncio.wait_for`, which can swallow a cancellation and lose a result."""
    for line, name in uses(module):
        if name == "asyncio.wait_for":
            yield f"{module.path}:{line} uses {name}: use asyncio.timeout"


def sleeping(module: Module) -> Iterator[str]:
    """Yield sleeps in tests: a test waits for what it needs, not for luck."""
    if not module.is_test or module.path.parts[1] == "process":
        return
    for line, name in uses(module):
        if name in _SLEEPS:
            yield f"{module.path}:{line} uses {name}: wait for a condition"


def size(module: Module) -> Iterator[str]:
    """Yield modules and functions that are too long to read at once."""
    if module.unit == "supervision":
        lines, limit = len(module.text.splitlines()), ENGINE_LIMIT
    else:
        lines, limit = code_lines(module), MODULE_LIMIT
    if lines > limit:
        yield f"{module.path} has {lines} lines, {limit} are allowed"
    for function in functions(module.tree):
        if _length(function) > FUNCTION_LIMIT:
            yield f"{module.path}:{function.lineno} {function.name} has {_length(function)} lines"


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its decorators and its docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    first = function.body[0]
    return lines - ((first.end_lineno or first.lineno) - first.lineno + 1)


def names(module: Module) -> Iterator[str]:
    """Yield file and folder names that say nothing, or hide a module of the standard library."""
    if not module.is_product:
        return
    for part in module.path.with_suffix("").parts:
        if part in BANNED:
            yield f"{module.path}: {part!r} names no noun"
        if part in sys.stdlib_module_names - _SHADOWS and not part.startswith("__"):
            yield f"{module.path}: {part!r} is a module of the standard library"


def twice(module: Module) -> Iterator[str]:
    """Yield what a module of the product names a second time: whoever uses the first gets that."""
    seen: set[str] = set()
    for node in module.tree.body if module.is_product else ():
        found: list[str] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found = [node.name]
        elif isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            inner = [each for target in targets for each in ast.walk(target)]
            found = [each.id for each in inner if isinstance(each, ast.Name)]
        for name in found:
            if name in seen:
                yield f"{module.path}:{node.lineno} gives {name} a second meaning"
            seen.add(name)


def danger(module: Module) -> Iterator[str]:
    """Yield what would turn data into code."""
    for line, name in uses(module):
        if name.split(".", maxsplit=1)[0] in _RUNS_DATA:
            yield f"{module.path}:{line} uses {name}, which runs what it reads"
    if module.is_test:
        # A test may run an example out of the documentation; the linter asks it for a reason.
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and dotted(node.func) in {"eval", "exec"}:
            yield f"{module.path}:{node.lineno} calls {dotted(node.func)}"


def cards(module: Module) -> Iterator[str]:
    """Yield folders whose `__init__` is more, or less, than a docstring."""
    if module.path.name != "__init__.py" or str(module.path) == "cortex_actors/__init__.py":
        return
    if ast.get_docstring(module.tree) is None:
        yield f"{module.path} does not say who lives in this folder"
    if len(module.tree.body) > 1:
        yield f"{module.path} holds more than its docstring"


def uncarded(paths: frozenset[PurePosixPath]) -> Iterator[str]:
    """Yield folders of the package that hold modules and no `__init__`."""
    folders = {p.parent for p in paths if p.suffix == ".py" and p.parts[0] == "cortex_actors"}
    for folder in sorted(folders):
        if folder / "__init__.py" not in paths:
            yield f"{folder} has no __init__.py that says who lives there"


def outside(path: PurePosixPath, text: str) -> Iterator[str]:
    """Yield paths of the machine this was written on."""
    if str(path) == _MAY_LOOK_OUT:
        return
    for found in _OUTSIDE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield f"{path}:{line} names {found.group()!r}, which is not in the repository"
