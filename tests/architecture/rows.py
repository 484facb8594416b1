"""Which behaviours of Erlang's and Elixir's supervisors a test says it proves.

Below its sentence a test has one line for each row of tests/acceptance.tsv that it proves:
`Row: otp sup_start_normal`, `Row: elixir supervisor start_link/2`.
"""

from __future__ import annotations

import ast
import csv
import re
from typing import TYPE_CHECKING, NamedTuple

from tests.architecture.source import ROOT, dotted, functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.architecture.source import Module

#: The rows below a sentence: a paragraph of its own, at the end.
_ROWS = re.compile(r"\n\n(?:Row: \S[^\n]*(?:\n|\Z))+\Z")

#: A test that is expected to fail, or not run, proves nothing.
_VOID = frozenset({"pytest.mark.xfail", "pytest.mark.skip", "pytest.mark.skipif"})


class Row(NamedTuple):
    """One test of another project: does it apply here (Y, A), or not (N, R), and why not."""

    source: str
    group: str
    test: str
    applies: str
    reason: str

    @property
    def title(self) -> str:
        """What a test writes after `Row: `; the names of OTP's tests need no group."""
        return " ".join((self.source, *([self.group] * (self.source != "otp")), self.test))


def catalogue() -> list[Row]:
    """Return the rows of tests/acceptance.tsv."""
    text = (ROOT / "tests" / "acceptance.tsv").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    table = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    next(table)
    return [Row(*line) for line in table]


def promise(doc: str) -> str:
    """Return what a test's docstring says above its rows."""
    return _ROWS.sub("", doc)


class Claim(NamedTuple):
    """That a test says it proves a row; `void` when it is expected to fail, or not run."""

    place: str
    title: str
    void: bool


def claims(module: Module) -> Iterator[Claim]:
    """Yield every row that a test says it proves."""
    if not module.is_test:
        return
    for function in functions(module.tree):
        found = _ROWS.search(ast.get_docstring(function) or "")
        if found and function.name.startswith("test"):
            place, void = f"{module.path}:{function.lineno}", _is_void(function)
            titles = re.findall("^Row: (.*)$", found.group(), re.MULTILINE)
            yield from (Claim(place, title, void) for title in titles)


def _is_void(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a decorator takes the test's word back."""
    marks = (mark.func if isinstance(mark, ast.Call) else mark for mark in function.decorator_list)
    return any(dotted(mark) in _VOID for mark in marks)
