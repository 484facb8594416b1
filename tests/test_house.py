"""The rules about the product as a whole, held as numbers that may only fall."""

from __future__ import annotations

from functools import cache

import pytest

from tests.architecture import house
from tests.architecture.house import BOUNDS, OPEN, RULES, Rule, complaint
from tests.architecture.source import Module, code_lines, modules
from tests.architecture.survey import Survey, circles

_BY_NAME = {rule.name: rule for rule in RULES}

#: A protocol with one method, and what fits it.
_PORT = "class Port(Protocol):\n    def go(self): ..."
_FITS = "class {}:\n    def go(self): ...\n    def more(self): ..."

#: A class that is one function.
_WRAPPED = "class A:\n    def __init__(self, a):\n        self.a = a\n    def {}(self): ..."

_LONG = "x = 1\n" * 80

#: Rule, files, and how many break it.
PLANTED: tuple[tuple[str, dict[str, str], int], ...] = (
    ("top", {"tree.py": "", "topics.py": "", "__init__.py": "x = 1\n" * 4}, 2),
    ("fragments", {"bus/a.py": "x = 1\n" * 79 + "\n# why\n"}, 1),
    (
        "annexes",
        {"bus/a.py": "x = 1", "bus/b.py": f"from cortex_actors.bus.a import x\n{_LONG}"},
        1,
    ),
    ("folders", {f"bus/a{number}.py": "" for number in range(17)}, 1),
    ("namesakes", {"bus/a.py": "class A: ...", "memory/a.py": "class A: ..."}, 1),
    (
        "rings",
        {
            "bus/a.py": "if TYPE_CHECKING:\n    from cortex_actors.bus.b import B",
            "bus/b.py": "def f():\n    from cortex_actors.bus.c import C",
            "bus/c.py": "import cortex_actors.bus.a",
            "bus/d.py": "import cortex_actors.bus.a",
        },
        3,
    ),
    (
        "folder rings",
        {
            "bus/a.py": "from cortex_actors.bus.inner import b",
            "bus/inner/b.py": "",
            "bus/inner/c.py": "from cortex_actors.bus import d",
            "bus/d.py": "",
        },
        2,
    ),
    ("sqlite", {"bus/a.py": "if TYPE_CHECKING:\n    import sqlite3"}, 1),
    ("sqlite", {"storage/a.py": "from sqlalchemy.dialects.sqlite import insert"}, 1),
    ("sqlite", {"bus/a.py": "from cortex_actors.storage.ledger.connection import driver_of"}, 1),
    ("sqlite", {"storage/a.py": "Q = 'SELECT value FROM json_each(?)'"}, 1),
    ("sqlite", {"storage/a.py": "def f(t):\n    return f'SELECT 1 FROM {t} WHERE {t} MATCH ?'"}, 1),
    ("sqlite", {"storage/a.py": "Q = func.json_each(b).table_valued('value')"}, 1),
    ("sqlite", {"storage/a.py": "Q = 'SELECT iif(a, b, group_concat(c)) FROM t INDEXED BY i'"}, 1),
    ("mixins", {"bus/a.py": "class GoingMixin: ...\nclass GoVerbs: ..."}, 2),
    (
        "mixins",
        {"bus/a.py": "".join(f"class {a}: ...\n" for a in "ABCD") + "class E(A, B, C, D): ..."},
        1,
    ),
    ("lone protocols", {"bus/a.py": _PORT, "bus/b.py": _FITS.format("A")}, 1),
    ("lone protocols", {"bus/a.py": f"{_PORT}\nclass A(Port): ..."}, 1),
    ("wrapped functions", {"bus/a.py": _WRAPPED.format("go")}, 1),
    ("wrapped functions", {"bus/a.py": _WRAPPED.format("__call__")}, 1),
    ("re-exports", {"bus/a.py": '"""A."""\nfrom b import c\n__all__ = ["c"]'}, 1),
    ("positional", {"bus/a.py": "class A:\n    def f(self, a, b, c): ..."}, 1),
    ("words", {"bus/a.py": "# whoever asks\nx = 'Nobody stands here'\n"}, 2),
    ("field", {"bus/a.py": f"row.{house.FIELD}"}, 1),
)

#: Rule, and files that only look as if they broke it.
ALLOWED: tuple[tuple[str, dict[str, str]], ...] = (
    ("top", {"bus/a.py": ""}),
    ("fragments", {"bus/a.py": _LONG, "bus/__init__.py": '"""Bus."""', "__main__.py": ""}),
    (
        "fragments",
        {f"{folder.removeprefix('cortex_actors/')}a.py": "" for folder in house.MAY_BE_SHORT},
    ),
    (
        "annexes",
        {
            "bus/a.py": "x = 1",
            "bus/b.py": f"from cortex_actors.bus.a import x\n{_LONG}",
            "bus/c.py": f"from cortex_actors.bus import a\n{_LONG}",
        },
    ),
    ("folders", {f"bus/{'inner/' * (number % 2)}a{number}.py": "" for number in range(32)}),
    ("rings", {"bus/a.py": "import cortex_actors.bus.b", "bus/b.py": "import cortex_actors.bus"}),
    ("folder rings", {"a.py": "import cortex_actors.b", "b.py": "import cortex_actors.a"}),
    ("sqlite", {"storage/a.py": '"""MATCH and json_each."""\nfound = pattern.match(text)'}),
    ("sqlite", {"storage/ledger/a.py": "import sqlite3", "storage/search/words.py": "Q = 'MATCH'"}),
    ("sqlite", {"storage/tables/dialect.py": "import sqlite3\nQ = 'json_each(?)'"}),
    ("mixins", {"bus/a.py": "class A(Generic[T], B, C, D, E): ..."}),
    ("lone protocols", {"bus/a.py": f"{_PORT}\n{_FITS.format('A')}\n{_FITS.format('B')}"}),
    ("lone protocols", {"bus/a.py": "class Port(Protocol):\n    def __call__(self): ..."}),
    ("wrapped functions", {"bus/a.py": f"{_WRAPPED.format('go')}\n    def stop(self): ..."}),
    ("wrapped functions", {"bus/a.py": _WRAPPED.format("go").replace("A:", "A(B):")}),
    ("re-exports", {"bus/a.py": "from b import c\nx = c", "bus/__init__.py": "from b import c"}),
    ("positional", {"bus/a.py": "class A:\n    def f(self, a, b, *, c): ..."}),
    ("words", {"bus/a.py": "# standing orders, and what is tolled"}),
    ("field", {"bus/a.py": f"row.{house.FIELD}s"}),
)


@cache
def _survey() -> Survey:
    """Return the repository's own survey, made once."""
    return Survey(modules())


def _planted(files: dict[str, str], **tests: str) -> Survey:
    """Return the survey of a package of those files, each folder with an empty `__init__`."""
    folders = {path.rpartition("/")[0] for path in files}
    empty = {f"{folder}/__init__.py".lstrip("/"): "" for folder in folders}
    found = [Module.of(f"cortex_actors/{path}", text) for path, text in (empty | files).items()]
    return Survey([*found, *(Module.of(f"tests/{name}.py", text) for name, text in tests.items())])


class TestTheHouse:
    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
    def test_only_gets_better(self, rule: Rule) -> None:
        """As many break a rule as OPEN says: none more, and the number follows when it falls."""
        problem = complaint(rule, list(rule.check(_survey())))

        assert not problem, problem

    @pytest.mark.parametrize("name", BOUNDS)
    def test_stays_within_its_bounds(self, name: str) -> None:
        """The product has no more code lines and modules than it may."""
        found = house.measures(_survey())[name]

        assert found <= BOUNDS[name], f"{name} rose from {BOUNDS[name]} to {found}"

    def test_every_number_belongs_to_a_rule(self) -> None:
        """What is open is a rule that exists, above the goal it has."""
        assert OPEN.keys() <= _BY_NAME.keys()
        assert [] == [name for name, most in OPEN.items() if most <= _BY_NAME[name].goal]

    def test_report(self) -> None:
        """The report has every count."""
        lines = list(house.report(_planted({"bus/a.py": ""})))

        assert [*_BY_NAME, *BOUNDS] == [
            line[:20].strip() for line in lines[-len(RULES) - len(BOUNDS) :]
        ]


class TestTheRules:
    @pytest.mark.parametrize(("name", "files", "count"), PLANTED)
    def test_catch(self, name: str, files: dict[str, str], count: int) -> None:
        """A planted violation is counted."""
        assert count == len(list(_BY_NAME[name].check(_planted(files))))

    @pytest.mark.parametrize(("name", "files"), ALLOWED)
    def test_let_pass(self, name: str, files: dict[str, str]) -> None:
        """What only looks like a violation is not counted."""
        assert [] == list(_BY_NAME[name].check(_planted(files)))

    def test_each_is_tried(self) -> None:
        """No rule goes without a planted violation."""
        assert _BY_NAME.keys() - {"hot"} == {name for name, _, _ in PLANTED}

    def test_let_a_protocol_with_a_stub_pass(self) -> None:
        """One implementation and a stub in a test are two."""
        files = {"bus/a.py": f"{_PORT}\n{_FITS.format('A')}"}

        assert [] == list(house.lone_protocols(_planted(files, test_a=_FITS.format("Stub"))))

    def test_let_a_hot_statement_pass(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A listed statement may be in SQLite's dialect, others of its file may not."""
        survey = _planted({"storage/a.py": "Q = 'json_each(?)'\nR = 'json_each(?)'"})
        monkeypatch.setattr(house, "HOT", frozenset({"cortex_actors/storage/a.py:Q"}))

        assert ["cortex_actors/storage/a.py:2 says json_each"] == list(house.sqlite(survey))
        assert [] == list(house.hot(survey))

    def test_catch_hot_statements(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A listed statement that is gone is reported, and so is each above the limit."""
        names = [f"Q{number:02}" for number in range(house.HOT_LIMIT + 1)]
        listed = frozenset(f"cortex_actors/storage/a.py:{name}" for name in names)
        monkeypatch.setattr(house, "HOT", listed)
        survey = _planted({"storage/a.py": "".join(f"{name} = ''\n" for name in names[1:])})

        assert 2 == len(list(house.hot(survey)))


class TestTheNumbers:
    @pytest.mark.parametrize(
        ("goal", "most", "found", "words"),
        [
            (0, 3, 4, "rose from 3 to 4: promise\n  a\n  a\n  a\n  a"),
            (0, 3, 2, "fell from 3 to 2: lower the number in OPEN"),
            (0, 3, 0, "fell to 0, which is the goal: remove it from OPEN"),
            (2, 3, 1, "fell to 1, which is the goal: remove it from OPEN"),
            (0, None, 1, "rose from 0 to 1: promise\n  a"),
        ],
    )
    def test_that_are_wrong(
        self, monkeypatch: pytest.MonkeyPatch, goal: int, most: int | None, found: int, words: str
    ) -> None:
        """A count that rose is reported with who is counted, one that fell with what to do."""
        monkeypatch.setattr(house, "OPEN", {} if most is None else {"rule": most})
        rule = Rule("rule", "promise", house.top, goal)

        assert f"rule {words}" == complaint(rule, ["a"] * found)

    @pytest.mark.parametrize(("goal", "most", "found"), [(0, 3, 3), (2, None, 2), (2, None, 1)])
    def test_that_are_right(
        self, monkeypatch: pytest.MonkeyPatch, goal: int, most: int | None, found: int
    ) -> None:
        """A count that is as it was passes, and so does one below a goal that is reached."""
        monkeypatch.setattr(house, "OPEN", {} if most is None else {"rule": most})

        assert "" == complaint(Rule("rule", "promise", house.top, goal), ["a"] * found)

    def test_of_code_lines(self) -> None:
        """Blanks, comments and docstrings are no code lines."""
        text = (
            '"""A.\n\nB.\n"""\n\n# why\nx = """\n\n1"""\n\n\ndef f():\n    """C."""\n    return x\n'
        )

        assert 4 == code_lines(Module.of("cortex_actors/bus/a.py", text))

    def test_of_modules(self) -> None:
        """An `__init__` counts once it holds more than a docstring and a version."""
        files = {"bus/a.py": "x = 1", "memory/__init__.py": "x = 1\n" * 4}

        assert {"code lines": 5, "modules": 2} == house.measures(_planted(files))

    def test_of_circles(self) -> None:
        """Two circles are two, and what only leads to one is in none."""
        ways = {"a": "b", "b": "a", "c": "ad", "d": "e", "e": "d", "f": "c"}

        assert [["a", "b"], ["d", "e"]] == circles({k: frozenset(v) for k, v in ways.items()})
