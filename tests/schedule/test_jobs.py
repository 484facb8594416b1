"""When a job is due, by what is known of its last run."""

from __future__ import annotations

from functools import partial

import pytest

from cortex_actors.clock import SECOND
from cortex_actors.schedule.jobs import (
    RETRY,
    SOON,
    Job,
    JobResult,
    compute_age,
    compute_delay,
    compute_first,
    compute_retry,
)
from cortex_actors.storage.ledger.backups import DONE, FAILED, JobRow
from cortex_actors.testing import EPOCH

#: An hour in seconds, and a row of a job that is done so often.
HOUR = 3_600.0
Row = partial(JobRow, "job", HOUR)


async def nothing() -> JobResult:
    """Do nothing."""
    return JobResult()


def job(every: float = HOUR) -> Job:
    """Return a job that is done so often."""
    return Job("job", every, nothing)


class TestFirst:
    @pytest.mark.parametrize(
        ("age", "expected"),
        [(None, SOON), (9_999.0, SOON), (3_590.0, SOON), (600.0, 3_000.0), (-9e9, 3_600.0)],
    )
    def test_by_age(self, age: float | None, expected: float) -> None:
        """What is due runs soon after the start, the rest when it is, and never later than that."""
        assert expected == compute_first(job(), age)

    def test_often(self) -> None:
        """Who wants it often has it as often, after a failure as well."""
        assert 2.0 == compute_first(job(2.0), None)
        assert (2.0, RETRY) == (compute_retry(job(2.0)), compute_retry(job(9_999.0)))

    def test_late(self) -> None:
        """Chance puts a job off by a tenth of its interval at most, so that often stays often."""
        assert (600.0, 6.0) == (compute_delay(86_400.0, 600.0), compute_delay(60.0, 600.0))


class TestAge:
    @pytest.mark.parametrize(
        ("row", "expected"),
        [
            (None, 0.0),
            (Row(due_at=EPOCH + 3_000 * SECOND), 600.0),
            (Row(finished_at=EPOCH - 5 * SECOND, state=DONE, due_at=EPOCH), 5.0),
            (Row(finished_at=EPOCH + 5 * SECOND, state=DONE, due_at=EPOCH), -5.0),
            (Row(finished_at=EPOCH, state=FAILED, due_at=EPOCH), None),
            (Row(), None),
        ],
    )
    def test_by_row(self, row: JobRow | None, expected: float | None) -> None:
        """A job rests since it was done, or noted; what failed, and what says nothing, is due."""
        assert expected == compute_age(row, EPOCH)


class TestDone:
    @pytest.mark.parametrize(
        ("done", "expected"),
        [
            (JobResult(), False),
            (JobResult("it copied a file"), False),
            (JobResult(wrote=True), True),
            (JobResult(work=lambda _: None), True),
        ],
    )
    def test_costs_no_write(self, done: JobResult, expected: bool) -> None:
        """Only a run that writes the ledger anyway has its row written with it."""
        assert expected is done.is_written
