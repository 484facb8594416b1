"""The verb that tries the daemon: remember, recall and forget, as an agent would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from cortex_actors.doctor.probe import plain
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.doctor.probe import Desk

#: The job of the schedule that tries it; of its failures the last trial tells.
JOB = "probe"


class RoundTripVerbs(Verbs):
    """Part of the front desk."""

    async def round_trip(self) -> dict[str, Any]:
        """Remember, recall and forget a probe through the verbs that agents use.

        Returns how each step went, in milliseconds; a step that fails is an outcome, no error.
        What part of the work did not answer makes a trial degraded. Nobody else finds the probe.
        """
        return plain(await self._parts.trial(cast("Desk", self)))

    def _tried(self) -> tuple[dict[str, Any] | None, list[str]]:
        """Return the last trial, and why the daemon is not well by it."""
        return self._parts.trial.told(), self._parts.trial.reasons()


def without_trials(failing: Mapping[str, Any]) -> dict[str, Any]:
    """Return which jobs failed, without the one whose outcome is told as a trial."""
    return {job: why for job, why in failing.items() if job != JOB}
