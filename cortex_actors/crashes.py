"""Why actors crashed, kept until the branch they brought down is up again.

A supervisor that gives up ends with `shutdown`, as OTP has it, and so does the one above it; who
was to blame is in the reports alone. A person who reads that the daemon ended wants the name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervision import Report

#: Characters of an exception that a reason shows; the log has the traceback.
REASON_LIMIT = 300

#: Ends that nobody is to blame for.
ORDERLY = ("normal", "shutdown")


class Crashes:
    """Hears every report of a tree and can say over whom a supervisor gave up."""

    def __init__(self) -> None:
        """Know of no crash."""
        #: The last crash below each supervisor, and which of them gave up because of it.
        self._last: dict[str, str] = {}
        self._gave_up: set[str] = set()
        #: Crashed children of a template, whose reports do not tell them apart.
        self._fallen: dict[str, object] = {}

    def name(self, child: str, reason: object) -> None:
        """Say who it is that the next report with that reason is about."""
        self._fallen[child] = reason

    def reason(self, supervisor: str) -> str | None:
        """Return over whose crashes a supervisor gave up; None while it has not."""
        return self._last.get(supervisor) if supervisor in self._gave_up else None

    def take(self, report: Report) -> str:
        """Remember a report; return its reason in words."""
        child, reason = str(report.child), _words(report.reason)
        match report.kind:
            case "gave_up":
                self._gave_up.add(report.supervisor)
                return self._last.get(report.supervisor, reason)
            case "started" | "restarted":
                self._gave_up.discard(child)
            case "exited" if child in self._gave_up:
                self._last[report.supervisor] = self._last.get(child, reason)
            case "exited" | "start_error":
                self._blame(report, child, reason)
        return reason

    def _blame(self, report: Report, child: str, reason: str) -> None:
        """Remember who ended, if it was not in order."""
        who = next((name for name, why in self._fallen.items() if why is report.reason), child)
        self._fallen.pop(who, None)
        if report.reason not in ORDERLY:
            self._last[report.supervisor] = f"{report.supervisor}/{who} crashed too often: {reason}"


def _words(reason: object) -> str:
    """Return an exit reason as one short line."""
    return "" if reason is None else repr(reason)[:REASON_LIMIT]
