"""The rules of docs/contributing.md, held against every file, and proof that each can fail."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest

from tests.architecture import layers, mailboxes, manners
from tests.architecture.source import ROOT, Module, files, modules

if TYPE_CHECKING:
    from tests.architecture.source import Check

#: Bytes of which none is a null: text, for the purpose of looking for paths in it.
_PROBE = 8192

#: Every check of a module.
CHECKS: tuple[Check, ...] = (
    layers.directions,
    layers.doors,
    layers.purity,
    layers.engine,
    manners.time,
    manners.waiting,
    manners.sleeping,
    manners.size,
    manners.names,
    manners.twice,
    manners.danger,
    manners.cards,
    mailboxes.mailboxes,
)

#: An actor that says what it must about its mailbox.
_ACTOR = (
    "class A(AsyncioActor):\n"
    "    #: One look.\n    mailbox_limit = 9\n    overflow = Overflow.REFUSE"
)

_LONG_FUNCTION = "def f():\n" + "    x = 1\n" * 40

#: Check, a file, and a text in it that breaks the rule.
PLANTED: tuple[tuple[Check, str, str], ...] = (
    (layers.directions, "cortex_actors/bus/a.py", "from cortex_actors.storage import ledger"),
    (layers.directions, "cortex_actors/bus/a.py", "import cortex_actors.tree"),
    (layers.directions, "cortex_actors/pipeline/a.py", "import cortex_actors.watching.watcher"),
    (layers.directions, "cortex_actors/rules/a.py", "from cortex_actors import render"),
    (layers.directions, "cortex_actors/bus/a.py", "from cortex_actors import files"),
    (layers.directions, "cortex_actors/bus/a.py", "from .topic import Topic"),
    (layers.directions, "cortex_actors/domain/a.py", "def f():\n    import cortex_actors.runtime"),
    (layers.directions, "cortex_actors/oddity.py", ""),
    (layers.doors, "cortex_actors/pipeline/a.py", "import pykka"),
    (layers.doors, "cortex_actors/pipeline/a.py", "from blinker import Signal"),
    (layers.doors, "cortex_actors/embedding/pool.py", "import sentence_transformers"),
    (layers.doors, "cortex_actors/daemon.py", "import rich.console"),
    (layers.doors, "supervision.py", "import pykka"),
    (layers.purity, "cortex_actors/rules/a.py", "import os.path"),
    (layers.purity, "cortex_actors/domain/a.py", "from pathlib import Path"),
    (layers.purity, "cortex_actors/text/a.py", "import yaml"),
    (layers.purity, "cortex_actors/render/a.py", "def f():\n    return open('a')"),
    (layers.engine, "supervision.py", "from cortex_actors import errors"),
    (layers.engine, "cortex_actors/pipeline/a.py", "from supervision import ChildSpec"),
    (manners.time, "cortex_actors/bus/a.py", "import time\nt = time.monotonic()"),
    (manners.time, "cortex_actors/bus/a.py", "from time import perf_counter"),
    (manners.time, "cortex_actors/bus/a.py", "import datetime\nt = datetime.datetime.now()"),
    (manners.time, "cortex_actors/cli/a.py", "from datetime import date\nt = date.today()"),
    (manners.waiting, "supervision.py", "import asyncio\nx = asyncio.wait_for(f, 1)"),
    (manners.waiting, "tests/test_a.py", "from asyncio import wait_for"),
    (manners.sleeping, "tests/flow/test_a.py", "import asyncio\nx = asyncio.sleep(1)"),
    (manners.sleeping, "tests/test_a.py", "from time import sleep"),
    (manners.size, "cortex_actors/bus/a.py", "x = 1\n" * 451),
    (manners.size, "supervision.py", "\n" * 901),
    (manners.size, "cortex_actors/bus/a.py", _LONG_FUNCTION),
    (manners.names, "cortex_actors/bus/utils.py", ""),
    (manners.names, "cortex_actors/common/a.py", ""),
    (manners.names, "cortex_actors/queue.py", ""),
    (manners.twice, "cortex_actors/bus/a.py", "LONGEST = 1\n\nLONGEST: int = 2"),
    (manners.twice, "cortex_actors/bus/a.py", "def f(): ...\n\ndef f(): ..."),
    (manners.danger, "tests/test_a.py", "import pickle"),
    (manners.danger, "cortex_actors/bus/a.py", "from marshal import loads"),
    (manners.danger, "cortex_actors/bus/a.py", "eval('1')"),
    (manners.danger, "benchmarks/a.py", "exec('1')"),
    (manners.cards, "cortex_actors/bus/__init__.py", ""),
    (manners.cards, "cortex_actors/bus/__init__.py", '"""The bus."""\nfrom a import b'),
    (mailboxes.mailboxes, "cortex_actors/memory/a.py", "class A(AsyncioActor):\n    x = 1"),
    (mailboxes.mailboxes, "cortex_actors/memory/a.py", _ACTOR.replace("#:", "#")),
    (mailboxes.mailboxes, "cortex_actors/memory/a.py", _ACTOR.replace("overflow", "over")),
    (mailboxes.mailboxes, "cortex_actors/memory/a.py", _ACTOR.replace("9", "0")),
)

#: Check, a file, and a text in it that looks like a violation and is none.
ALLOWED: tuple[tuple[Check, str, str], ...] = (
    (layers.directions, "cortex_actors/daemon.py", "from cortex_actors import control, tree"),
    (layers.directions, "cortex_actors/bus/a.py", "from cortex_actors.bus import journal"),
    (layers.directions, "cortex_actors/cli/a.py", "from cortex_actors import __version__"),
    (layers.doors, "cortex_actors/runtime/a.py", "import pykka"),
    (layers.doors, "tests/test_a.py", "import pykka"),
    (layers.purity, "cortex_actors/rules/a.py", "import numpy\nfrom pathlib import PurePosixPath"),
    (layers.engine, "cortex_actors/tree.py", "import supervision"),
    (manners.time, "cortex_actors/clock.py", "import time\nt = time.time()"),
    (manners.time, "cortex_actors/bus/a.py", "t = self.clock.now()"),
    (manners.waiting, "cortex_actors/bus/a.py", "x = condition.wait_for(f)"),
    (manners.sleeping, "tests/process/test_a.py", "import time\ntime.sleep(1)"),
    (manners.size, "supervision.py", "\n" * 900),
    (manners.twice, "cortex_actors/bus/a.py", "x: int\nx = 1\ndef f():\n    x = 2"),
    (manners.danger, "cortex_actors/bus/a.py", "connection.exec('1')"),
    (manners.danger, "tests/test_a.py", "exec(example)"),
    (manners.cards, "cortex_actors/__init__.py", "x = 1"),
    (mailboxes.mailboxes, "cortex_actors/memory/a.py", _ACTOR),
    (mailboxes.mailboxes, "cortex_actors/memory/a.py", "class A(Consumer):\n    x = 1"),
    (mailboxes.mailboxes, "cortex_actors/bus/consumer.py", "class Consumer(AsyncioActor): ..."),
)


class TestTheRepository:
    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_keeps(self, check: Check) -> None:
        """Every Python file keeps every rule."""
        problems = [problem for module in modules() for problem in check(module)]

        assert not problems, "\n".join(problems)

    def test_is_seen(self) -> None:
        """The checks look at the product, the engine, the tests and their own code."""
        seen = {str(module.path) for module in modules()}

        assert {"supervision.py", "cortex_actors/errors.py", "tests/conftest.py"} <= seen
        assert "tests/architecture/layers.py" in seen

    def test_every_folder_says_who_lives_there(self) -> None:
        """Every folder of the package has an `__init__` to put its docstring in."""
        problems = list(manners.uncarded(frozenset(files())))

        assert not problems, "\n".join(problems)

    def test_names_nothing_outside(self) -> None:
        """No file names a path of the machine it was written on."""
        problems = [
            problem
            for path in files()
            if b"\0" not in (data := (ROOT / path).read_bytes())[:_PROBE]
            for problem in manners.outside(path, data.decode("utf-8", "replace"))
        ]

        assert not problems, "\n".join(problems)


class TestTheChecks:
    @pytest.mark.parametrize(("check", "path", "text"), PLANTED)
    def test_catch(self, check: Check, path: str, text: str) -> None:
        """A planted violation is reported with its file."""
        problems = list(check(Module.of(path, text)))

        assert problems
        assert all(path in problem for problem in problems)

    @pytest.mark.parametrize(("check", "path", "text"), ALLOWED)
    def test_let_pass(self, check: Check, path: str, text: str) -> None:
        """What only looks like a violation is let pass."""
        problems = list(check(Module.of(path, text)))

        assert [] == problems

    def test_each_is_tried(self) -> None:
        """No check goes without a planted violation."""
        assert set(CHECKS) == {check for check, _, _ in PLANTED}

    def test_catch_a_folder_without_a_card(self) -> None:
        """A folder of modules without an `__init__` is reported."""
        planted = frozenset({PurePosixPath("cortex_actors/bus/topic.py")})

        assert ["cortex_actors/bus"] == [p.split(" ")[0] for p in manners.uncarded(planted)]

    @pytest.mark.parametrize("text", ["see /wo" + "rk/main", "cd /ro" + "ot", "../sha" + "red/x"])
    def test_catch_an_outside_path(self, text: str) -> None:
        """A path of one machine is reported with its line."""
        problems = list(manners.outside(PurePosixPath("docs/a.md"), f"\n{text}\n"))

        assert 1 == len(problems)
        assert problems[0].startswith("docs/a.md:2")

    @pytest.mark.parametrize("text", ["docs/wo" + "rk/a", "the /wo" + "rkers route", "~/ro" + "ot"])
    def test_let_other_paths_pass(self, text: str) -> None:
        """A path that only contains such a word is let pass."""
        assert [] == list(manners.outside(PurePosixPath("docs/a.md"), text))
