"""The Nth system call of a whole daemon fails: what it acknowledged is there when it comes back."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.power.faulty_daemon import FaultyDaemon
from tests.power.injection import Fault
from tests.power.strace import need_strace, scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Calls, how they fail, and their numbers: of each thread, and one life has some dozens.
FAULTS = [
    *(Fault("fdatasync", how, number) for how in ("EIO", "KILL") for number in (1, 3, 5, 8)),
    *(
        Fault("pwrite64", how, number)
        for how in ("EIO", "ENOSPC", "KILL")
        for number in (1, 4, 15, 60)
    ),
]


@pytest.fixture(scope="module")
def daemon() -> Iterator[FaultyDaemon]:
    """Give a home that was used before, where strace works."""
    need_strace()
    for folder in scratch():
        found = FaultyDaemon(folder)
        try:
            found.prepare()
            yield found
        finally:
            found.commands.clean_up()


class TestDaemon:
    @pytest.mark.soak
    @pytest.mark.slow
    @pytest.mark.parametrize("fault", FAULTS, ids=str)
    def test_keeps(self, daemon: FaultyDaemon, fault: Fault) -> None:
        """Whatever fails, each event that was acknowledged is there once after the next start."""
        life = daemon.live(fault)
        acknowledged = len(daemon.told)
        problems = daemon.problems()
        injected = len(life.injected) + (life.code == -signal.SIGKILL)
        print(  # noqa: T201 - shown with `-rP`
            f"{fault}: {injected} faults injected, {acknowledged} acknowledged, ended with "
            f"{life.code}"
        )

        assert not problems, f"{life}: {problems}"
        assert injected or fault.number > 5
        if fault.how == "EIO" and life.injected:
            assert life.code == 70, life
