"""What every test shares: a short home, an environment of its own, and an empty stage afterwards.

A test that ends with a thread, a task or a child process of its own still running fails, because
the next test would pay for it. Actors are the exception: one that is forgotten is stopped, since
pykka's registry is one for the whole process.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import re
import shutil
import signal
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pykka
import pytest
import pytest_asyncio

from cortex_actors.runtime import child
from tests.ready import Nursery, ReadyProcess
from tests.starts import FOLDERS, Starts, Watch, is_quick, quick_last

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator

#: Seconds that a thread or a task which was told to end may take: a slow machine, not a leak.
_GRACE = 5.0

#: Seconds that asyncio's thread for a child process may outlive the child.
_REAPING = 0.2

#: Objects more before the collector looks, and looks at the young before it takes the older: a
#: test process holds a million that stay, and the usual numbers are for small programs.
_GARBAGE = (10_000, 20, 50)

#: The folder of all tests.
_HERE = Path(__file__).parent

#: Every process that this one starts.
_STARTS = Starts()

#: What a test costs.
_WATCH = pytest.StashKey[Watch]()

# Until all tests are collected: what is made of them stays, and a sixth of the time was spent on
# looking for garbage there.
gc.disable()

# No deadline, because a slow machine is not a wrong answer; fresh examples in every run, and the
# blob of a failing one in the output, because that is what repeats it.
hypothesis.settings.register_profile("ci", deadline=None, derandomize=False, print_blob=True)
hypothesis.settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a person choose the quick tests."""
    parser.addoption("--quick", action="store_true", help="run the tests of `make test-fast` only")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even read what is not quick, when only that is wanted: it would take half the time."""
    is_other = collection_path.parent == _HERE and collection_path.name not in FOLDERS
    return True if is_other and config.getoption("quick") else None


def pytest_report_header(config: pytest.Config) -> str:
    """Say what decides the order of this run."""
    return f"seed: {_seed(config)}; hypothesis profile: ci"


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep the garbage collector from what stays: a fifth of the CPU of many short tests."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(*_GARBAGE)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to repeat this run where a reader of a failure looks."""
    seed = _seed(terminalreporter.config)
    terminalreporter.write_line(f"repeat this order with: make test SEED={seed} JOBS=0")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Ask every asynchronous test, and only those, for a quiet loop; have the quick files last."""
    if config.getoption("quick"):
        config.hook.pytest_deselected(items=[each for each in items if not is_quick(each)])
        items[:] = filter(is_quick, items)
    quick_last(items)
    for item in items:
        if isinstance(item, pytest.Function) and pytest_asyncio.is_async_test(item):
            # Before the test's own fixtures, so that theirs have been torn down when it looks.
            item.fixturenames.insert(item.fixturenames.index("_empty_stage") + 1, "_quiet_loop")


@pytest.fixture
def tmp_home() -> Iterator[Path]:
    """Give a home folder whose path leaves room for a Unix socket's 100 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="cx-"))
    yield folder
    # A killed child may still be closing a file: that is its test's affair, not the folder's.
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def _own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's settings out of the tests, and the tests out of the user's home."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if re.match("CORTEX_(?!TEST_)", n)]:
            patch.delenv(name)
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("xdg")))
        # A token that a test gives a store never comes into the user's keyring.
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        yield


@pytest.fixture(scope="session", autouse=True)
def _ready_children(_own_environment: None) -> Iterator[None]:
    """Have index children that start at once: three quarters of what one costs is an import."""
    nursery = Nursery()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "start_python", nursery.start)
        yield
    nursery.close()


@pytest.fixture(scope="session", autouse=True)
def _signals_reach_children() -> Iterator[None]:
    """Let programs that tests start hear SIGINT and SIGHUP, also under nohup or in the background.

    A program begins with the signals ignored that its parent ignores. Those that the parent handles
    it begins with as usual; and the handler does nothing, so that the tests outlive a hang-up.
    """
    ignored = [n for n in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda _number, _frame: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Begin to measure what a test costs, with fixtures that it is the first to need."""
    item.stash[_WATCH] = Watch(_STARTS)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Fail a test of the quick ones that is not; the last one ends what all of them shared."""
    yield
    if nextitem is None or not item.config.getoption("quick"):
        return
    if complaint := item.stash[_WATCH].complaint():
        pytest.fail(f"mark this test `slow`, because {complaint}", pytrace=False)


@pytest.fixture(autouse=True)
def _empty_stage() -> Iterator[set[threading.Thread]]:
    """Stop forgotten actors, then fail the test if it left a thread behind; give the first ones."""
    before, loggers = set(threading.enumerate()), _loggers()
    yield before
    _stop_actors()
    for thread in set(threading.enumerate()) - before:
        # A foreign thread that once called into Python is listed for ever and cannot be joined.
        if not thread.name.startswith("Dummy-"):
            thread.join(_GRACE)
            assert not thread.is_alive(), f"the test left the thread {thread.name!r} running"
    now = _loggers()
    changed = {
        name: (loggers[name], now.get(name)) for name in loggers if loggers[name] != now[name]
    }
    assert not changed, f"the test left loggers that hear other things than before: {changed}"


@pytest.fixture
async def _quiet_loop(_empty_stage: set[threading.Thread]) -> AsyncIterator[None]:
    """Stop forgotten actors while their loop still runs, then fail if a task or a child is left."""
    yield
    _stop_actors()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        _, left = await asyncio.wait(left, timeout=_GRACE)
    assert not left, f"the test left tasks running: {sorted(task.get_name() for task in left)}"
    assert not ReadyProcess.forget(), "the test left an index child running"
    # On Python 3.11 a thread waits for each child; later, the loop's own warnings tell.
    for thread in set(threading.enumerate()) - _empty_stage:
        if thread.name.startswith("asyncio-waitpid-"):
            await asyncio.to_thread(thread.join, _REAPING)
            assert not thread.is_alive(), "the test left a child process running"


def _loggers() -> dict[str, tuple[int, bool, bool]]:
    """Return what our loggers let through: a later test would miss what it reads there."""
    manager = logging.root.manager
    ours = [name for name in manager.loggerDict if name.startswith(("cortex", "pykka"))]
    found = {name: logging.getLogger(name) for name in ours}
    said = {name: (each.level, each.propagate, each.disabled) for name, each in found.items()}
    return {"root": (logging.root.level, True, bool(manager.disable)), **said}


def _stop_actors() -> None:
    """Ask every actor in pykka's registry to stop, and forget the ones that cannot hear it."""
    for ref in reversed(pykka.ActorRegistry.get_all()):
        # Its loop may be closed already, in which case nobody can tell it anything.
        with contextlib.suppress(pykka.ActorDeadError, RuntimeError):
            ref.stop(block=False)
        pykka.ActorRegistry.unregister(ref)


def _seed(config: pytest.Config) -> object:
    """Return pytest-randomly's seed."""
    return config.getoption("randomly_seed", default="none (pytest-randomly is off)")
