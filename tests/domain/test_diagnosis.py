"""How bad a diagnosis is, and what the command ends with."""

from __future__ import annotations

import pytest

from cortex_actors.domain.hit import Diagnosis, Severity, choose_exit_code, find_worst


def found(*severities: str, damaged: bool = False) -> list[Diagnosis]:
    """Return diagnoses of these severities."""
    return [Diagnosis("x", "y", Severity(each), damaged=damaged) for each in severities]


class TestExitCode:
    @pytest.mark.parametrize(
        ("severities", "code"),
        [((), 0), (("ok",), 0), (("ok", "note"), 0), (("note", "warning"), 1), (("error",), 1)],
    )
    def test_by_severity(self, severities: tuple[str, ...], code: int) -> None:
        """Notes are no reason to fail; warnings and errors are."""
        assert code == choose_exit_code(found(*severities))

    def test_damaged(self) -> None:
        """A damaged ledger is 70, whatever else there is."""
        assert 70 == choose_exit_code(
            [*found("warning"), *found("error", damaged=True), *found("ok")]
        )


class TestWorst:
    def test_order(self) -> None:
        """An error is worse than a warning, that than a note, and nothing is well."""
        assert Severity.ERROR == find_worst(found("note", "error", "warning"))
        assert Severity.WARNING == find_worst(found("warning", "note"))
        assert Severity.OK == find_worst([])
