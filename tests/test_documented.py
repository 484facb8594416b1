"""What can be named is documented: actors, tests, exit codes, settings and topics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from cortex_actors import errors
from cortex_actors.settings import Settings
from cortex_actors.topics import TOPICS
from tests.architecture import actors
from tests.architecture.source import ROOT, Module, modules

if TYPE_CHECKING:
    from collections.abc import Iterator

_CARD = '''"""Accumulator: a changed file becomes insights.

hears   file:changed
says    accumulation:complete
asks    embedding
keeps   - (a file in hand is handed out again)
"""
from cortex_actors.topics import ACCUMULATION_COMPLETE, FILE_CHANGED


class Accumulator(Consumer):
    hears: ClassVar = {FILE_CHANGED: "on_changed"}

    def __init__(self, desk, threads):
        super().__init__(desk)
        self.threads = Threads(threads)

    def on_changed(self, event):
        return Said(ACCUMULATION_COMPLETE)
'''

#: What to change in a card that is right, so that it is wrong.
_SPOILT = (
    ("says    acc", "says acc"),
    ("keeps   - (a file in hand is handed out again)\n", ""),
    ("hears   file:changed", "hears   -"),
    ("hears   file:changed", "hears   file:changed, scan:requested"),
    ("says    accumulation:complete", "says    -"),
    ("Said(ACCUMULATION_COMPLETE)", "None"),
    ("{FILE_CHANGED:", '{"scan:requested":'),
    ("super().__init__(desk)", "desk.bus.subscribe('store:*', self.on_changed)"),
    ("keeps   -", "keeps   the files in hand"),
    ("keeps   -", "keeps   nothing"),
    ("return Said", "self.last = event; return Said"),
    ("return Said", "self.count += 1; return Said"),
    ("return Said", "self.last, other = event; return Said"),
    ("Threads(threads)", "{}"),
    ("Threads(threads)", "[thread for thread in threads]"),
    ("Threads(threads)", "collections.deque()"),
)


def _topics() -> dict[str, str]:
    """Return the constants of topics.py."""
    path = "cortex_actors/topics.py"
    return actors.topic_constants(Module.of(path, (ROOT / path).read_text("utf-8")))


def _page(name: str) -> str:
    """Return a page of the documentation, which must exist."""
    path = ROOT / "docs" / name
    assert path.is_file(), f"docs/{name} is missing"
    return path.read_text("utf-8")


def _error_classes(cls: type[errors.CortexError]) -> Iterator[type[errors.CortexError]]:
    """Yield an error class and all below it, as far as errors.py holds them."""
    yield cls
    for child in cls.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from _error_classes(child)


def _keys(model: type[BaseModel], start: str = "") -> Iterator[str]:
    """Yield every key of the settings with its section: `embedding.model`."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _keys(kind, f"{start}{name}.")
        else:
            yield f"{start}{name}"


class TestCards:
    def test_agree(self) -> None:
        """Every actor's docstring says what it hears, says, asks and keeps, and says it rightly."""
        topics = _topics()
        problems = [problem for module in modules() for problem in actors.card(module, topics)]

        assert not problems, "\n".join(problems)

    def test_of_a_right_actor(self) -> None:
        """A card that agrees with its class is let pass."""
        module = Module.of("cortex_actors/pipeline/accumulator.py", _CARD)

        assert 1 == len(actors.actors(module))
        assert [] == list(actors.card(module, _topics()))

    @pytest.mark.parametrize(("old", "new"), _SPOILT)
    def test_of_a_wrong_actor(self, old: str, new: str) -> None:
        """A card that leaves out a line or a topic, or names one too many, is reported."""
        assert old in _CARD
        module = Module.of("cortex_actors/pipeline/accumulator.py", _CARD.replace(old, new))

        assert list(actors.card(module, _topics()))

    def test_finds_actors_however_the_base_is_written(self) -> None:
        """A qualified base and a generic one are bases too."""
        text = "class A(actor.AsyncioActor): ...\nclass B(Consumer[int]): ...\nclass C(Other): ..."
        module = Module.of("cortex_actors/pipeline/accumulator.py", text)

        assert ["A", "B"] == [cls.name for cls in actors.actors(module)]

    def test_topics_are_found(self) -> None:
        """The constants the cards are compared with are the catalogue's names."""
        assert {topic.name for topic in TOPICS} == set(_topics().values())


class TestTests:
    def test_promise(self) -> None:
        """Every test has a docstring of one sentence."""
        problems = [problem for module in modules() for problem in actors.undescribed(module)]

        assert not problems, "\n".join(problems)

    def test_with_rows(self) -> None:
        """Below its sentence a test may say which rows of tests/acceptance.tsv it proves."""
        doc = '"""One.\n\n    Row: otp a\n    Row: otp b\n    """'
        module = Module.of("tests/test_a.py", f"def test_a():\n    {doc}\n    assert a\n")

        assert [] == list(actors.undescribed(module))

    @pytest.mark.parametrize("doc", ["", '"""No full stop"""', '"""One.\n\n    Two."""'])
    def test_without_a_promise(self, doc: str) -> None:
        """A test without a sentence, or with a second paragraph, is reported."""
        module = Module.of("tests/test_a.py", f"def test_a():\n    {doc}\n    assert a\n")

        assert list(actors.undescribed(module))


class TestPages:
    def test_sections_end_at_the_next_heading(self) -> None:
        """A key counts only below its own section's heading."""
        page = "# A\n## `[one]`\n`x`\n## [two]\n`y`\n"

        assert "\n`x`\n" == _section(page, "one")
        assert "\n`y`\n" == _section(page, "two")
        assert "" == _section(page, "three")

    def test_exit_codes(self) -> None:
        """docs/cli.md has a table row for every exit code an error can end a command with."""
        rows = set(re.findall(r"^\| *`?(\d+)`? *\|", _page("cli.md"), re.MULTILINE))
        codes = {str(cls.exit_code) for cls in _error_classes(errors.CortexError)}

        assert set() == codes - rows

    def test_settings(self) -> None:
        """docs/configuration.md lists every key below the heading of its section."""
        page = _page("configuration.md")
        keys = [key.rpartition(".") for key in _keys(Settings)]

        assert [] == [(in_, key) for in_, _, key in keys if f"`{key}`" not in _section(page, in_)]

    def test_topics(self) -> None:
        """docs/topics.md lists every topic of the catalogue."""
        page = _page("topics.md")

        assert [] == [topic.name for topic in TOPICS if f"`{topic.name}`" not in page]


def _section(page: str, name: str) -> str:
    """Return what a page says below the heading with `[name]`, up to the next heading."""
    heading = re.compile(rf"^##+ .*\[{re.escape(name)}\].*$", re.MULTILINE)
    parts = heading.split(page, maxsplit=1)
    return re.split(r"^##+ ", parts[1], maxsplit=1, flags=re.MULTILINE)[0] if parts[1:] else ""
