from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import supervision
from supervision import BRUTAL_KILL, ChildSpec, SpecError, Supervisor

if TYPE_CHECKING:
    from tests.supervision.conftest import Lab


async def _never() -> Any:
    raise AssertionError


class TestChildSpec:
    def test_defaults(self) -> None:
        """A spec of two words is a permanent worker with five seconds to stop."""
        spec = ChildSpec("a", _never)

        assert ("permanent", "worker", False) == (spec.restart, spec.type, spec.significant)
        assert 5.0 == spec.patience

    def test_supervisor_default(self) -> None:
        """A supervisor may take for ever to stop."""
        assert ChildSpec("a", _never, type="supervisor").patience is None

    @pytest.mark.parametrize("given", [(math.inf, None), (0, 0.0), (2, 2.0), (BRUTAL_KILL, None)])
    def test_patience(self, given: tuple[Any, float | None]) -> None:
        """Seconds, infinity and brutal_kill are all a shutdown."""
        assert given[1] == ChildSpec("a", _never, shutdown=given[0]).patience

    @pytest.mark.parametrize(
        ("word", "options"),
        [
            ("missing_id", {"id": None}),
            ("invalid_start", {"start": "print"}),
            ("invalid_restart_type", {"restart": "sometimes"}),
            ("invalid_child_type", {"type": "boss"}),
            ("invalid_shutdown", {"shutdown": -1}),
            ("invalid_shutdown", {"shutdown": math.nan}),
            ("invalid_shutdown", {"shutdown": "gently"}),
            ("bad_combination", {"significant": True}),
        ],
    )
    def test_refused(self, word: str, options: dict[str, Any]) -> None:
        """Each nonsense in a spec is refused in OTP's word for it."""
        with pytest.raises(SpecError, match=word) as refusal:
            ChildSpec(**{"id": "a", "start": _never, **options})

        reason: Any = refusal.value.reason
        assert word == reason[0]


class TestOptions:
    @pytest.mark.parametrize(
        ("word", "options"),
        [
            ("invalid_strategy", {"strategy": "all_for_one"}),
            ("invalid_intensity", {"intensity": -1}),
            ("invalid_period", {"period": 0}),
            ("invalid_period", {"period": math.inf}),
            ("invalid_auto_shutdown", {"auto_shutdown": "perhaps"}),
            ("bad_start_spec", {"strategy": "simple_one_for_one"}),
        ],
    )
    def test_refused(self, word: str, options: dict[str, Any]) -> None:
        """Each nonsense in the options of a supervisor is refused by name."""
        with pytest.raises(SpecError, match=word):
            Supervisor(name="top", **options)

    def test_same_id_twice(self, lab: Lab) -> None:
        """Two children cannot have one id."""
        with pytest.raises(SpecError, match="duplicate_child_name"):
            lab.top(lab.spec("a"), lab.spec("a"))

    def test_significant_for_nothing(self, lab: Lab) -> None:
        """A significant child needs a supervisor that shuts down by itself."""
        with pytest.raises(SpecError, match="bad_combination"):
            lab.top(lab.spec("a", restart="transient", significant=True))

    def test_template_and_auto_shutdown(self, lab: Lab) -> None:
        """Children made from a template end no supervisor."""
        with pytest.raises(SpecError, match="bad_combination"):
            lab.top(
                lab.spec("a", restart="transient"),
                strategy="simple_one_for_one",
                auto_shutdown="any_significant",
            )


class TestModule:
    def test_marker(self) -> None:
        """The module can be told from the package of the same name on PyPI."""
        assert "cortex-actors" == supervision.MARKER

    async def test_example(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The first example of docs/supervision.md runs as it stands."""
        page = (Path(supervision.__file__).parent / "docs" / "supervision.md").read_text("utf-8")
        script = page.split("```python\n", 1)[1].split("```")[0]
        # On a thread of its own, because it starts a loop.
        await asyncio.to_thread(exec, script, {})

        assert ["ticker running 1"] == capsys.readouterr().out.splitlines()
