"""The product as a whole: which module imports which, which classes there are, what goes round."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tests.architecture.source import code_lines, dotted, functions, imports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tests.architecture.source import Module

#: Code lines up to which an `__init__` is a docstring and a version: no module of its own.
_EMPTY = 3

#: Names in a class that say nothing about what it can do.
_SILENT = frozenset({"__init__", "__slots__", "__match_args__"})

Graph = dict[str, frozenset[str]]


@dataclass(frozen=True)
class Klass:
    """One class: where it is, the last names of its bases, and what it declares itself."""

    place: str
    node: ast.ClassDef
    bases: tuple[str, ...]
    own: frozenset[str]

    @property
    def is_protocol(self) -> bool:
        """Whether it only says what others must have."""
        return "Protocol" in self.bases

    @property
    def methods(self) -> list[str]:
        """The names of its methods."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [each.name for each in self.node.body if isinstance(each, kinds)]


class Survey:
    """What the files of a repository say together."""

    def __init__(self, modules: Sequence[Module]) -> None:
        """Look at those files; those of tests are looked at for stubs only."""
        self.product = [module for module in modules if module.is_product]
        self._tests = [module for module in modules if module.is_test]

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Code lines by path."""
        return {str(module.path): code_lines(module) for module in self.product}

    @cached_property
    def modules(self) -> list[Module]:
        """The product's modules without the `__init__` of folders that hold no code."""
        return [
            module
            for module in self.product
            if not is_package(module) or self.sizes[str(module.path)] > _EMPTY
        ]

    @cached_property
    def graph(self) -> Graph:
        """What each module imports, by dotted names; importing a folder means nothing in it."""
        known = {_name(module) for module in self.product if not is_package(module)}
        return {_name(module): frozenset(_imported(module, known)) for module in self.product}

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        """Who imports each module."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for name, targets in self.graph.items():
            for target in targets:
                found[target].add(name)
        return found

    @cached_property
    def folders(self) -> Graph:
        """What each folder imports from others; files of the top folder stand for themselves."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        packages = {_name(module) for module in self.product if is_package(module)}
        for name, targets in self.graph.items():
            here = _folder(name, packages)
            found[here] |= {_folder(target, packages) for target in targets} - {here}
        return {name: frozenset(targets) for name, targets in found.items()}

    @cached_property
    def classes(self) -> list[Klass]:
        """Every class of the product."""
        return [each for module in self.product for each in _classes(module)]

    @cached_property
    def stubs(self) -> list[Klass]:
        """Every class of the tests."""
        return [each for module in self._tests for each in _classes(module)]

    @cached_property
    def named(self) -> Mapping[str, Sequence[Klass]]:
        """The product's classes by name."""
        found: defaultdict[str, list[Klass]] = defaultdict(list)
        for each in self.classes:
            found[each.node.name].append(each)
        return found

    def lineage(self, klass: Klass) -> list[Klass]:
        """Return a class and those of the product that it comes from, as their names say."""
        found = [klass]
        for each in found:
            bases = (base for name in each.bases for base in self.named.get(name, ()))
            found += [base for base in bases if base not in found]
        return found

    def members(self, klass: Klass) -> frozenset[str]:
        """Return what a class has, inherited from the product or its own."""
        return frozenset().union(*(each.own for each in self.lineage(klass)))

    def fitting(self, protocol: Klass, classes: Iterable[Klass]) -> list[Klass]:
        """Return the classes that name a protocol as a base or have all it asks for."""
        asked = self.members(protocol)
        return [
            each
            for each in classes
            if not each.is_protocol
            and (protocol in self.lineage(each) or asked <= self.members(each))
        ]


def is_package(module: Module) -> bool:
    """Return whether a file is the `__init__` of a folder."""
    return module.path.name == "__init__.py"


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of nodes that all lead to one another."""
    reach = {name: _reach(name, graph) for name in graph}
    groups = {
        frozenset(other for other in reach[name] if name in reach[other])
        for name in graph
        if name in reach[name]
    }
    return sorted(sorted(group) for group in groups)


def _reach(start: str, graph: Graph) -> frozenset[str]:
    """Return every node that a way from `start` leads to."""
    found: set[str] = set()
    ahead = set(graph[start])
    while ahead:
        found |= ahead
        ahead = {target for name in ahead for target in graph[name]} - found
    return frozenset(found)


def _name(module: Module) -> str:
    """Return a module's dotted name."""
    parts = module.path.with_suffix("").parts
    return ".".join(parts[:-1] if is_package(module) else parts)


def _folder(name: str, packages: set[str]) -> str:
    """Return the folder of a module; a file of the top folder is returned itself."""
    folder = name if name in packages else name.rpartition(".")[0]
    return folder if "." in folder else name


def _imported(module: Module, known: set[str]) -> Iterator[str]:
    """Yield the modules that a module imports, be it for types alone."""
    for _, name in imports(module.tree):
        found = name if name in known else name.rpartition(".")[0]
        if found in known and found != _name(module):
            yield found


def _classes(module: Module) -> Iterator[Klass]:
    """Yield every class of a module."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
            names = tuple(dotted(base).rpartition(".")[2] for base in bases)
            yield Klass(f"{module.path}:{node.lineno}", node, names, frozenset(_own(node)))


def _own(node: ast.ClassDef) -> Iterator[str]:
    """Yield the names that a class declares: methods, fields, and what methods set on `self`."""
    stored = (
        dotted(each).split(".")
        for function in functions(node)
        for each in ast.walk(function)
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
    )
    yield from (name[1] for name in stored if name[0] == "self" and name[1:])
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from {each.name} - _SILENT
        elif isinstance(each, ast.AnnAssign | ast.Assign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            yield from {target.id for target in targets if isinstance(target, ast.Name)} - _SILENT
