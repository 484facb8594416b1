from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from supervision import ChildSpec
    from tests.supervision.conftest import Lab


def _significant(lab: Lab, *names: str, restart: str = "transient") -> list[ChildSpec]:
    return [lab.spec(name, restart=restart, significant=True) for name in names]


class TestAny:
    async def test_first(self, lab: Lab, end: Any) -> None:
        """With any_significant the first orderly end of a significant child ends all."""
        specs = [lab.spec("x"), *_significant(lab, "a", "b")]
        top = await lab.top(*specs, auto_shutdown="any_significant").start()
        lab.toys["a"].end("normal")

        assert "shutdown" == await end(top)
        assert ["stop b", "end b shutdown", "stop x", "end x shutdown"] == lab.log[4:]

    async def test_crash(self, lab: Lab) -> None:
        """A crash of a transient child restarts it instead."""
        specs = _significant(lab, "a")
        top = await lab.top(*specs, auto_shutdown="any_significant").start()
        await lab.crash("a")

        assert "running" == top.snapshot().state
        await top.stop(None)

    @pytest.mark.parametrize("reason", ["normal", "boom", "killed"])
    async def test_temporary(self, lab: Lab, end: Any, reason: str) -> None:
        """Any end of a temporary significant child counts."""
        specs = _significant(lab, "a", restart="temporary")
        top = await lab.top(*specs, auto_shutdown="any_significant").start()
        lab.toys["a"].end(reason)

        assert "shutdown" == await end(top)

    async def test_insignificant(self, lab: Lab, quiet: Any) -> None:
        """The end of another child does not count."""
        specs = [lab.spec("x", restart="temporary"), *_significant(lab, "a")]
        top = await lab.top(*specs, auto_shutdown="any_significant").start()
        lab.toys["x"].end("normal")
        await quiet(top)

        assert "running" == top.snapshot().state
        await top.stop(None)

    async def test_terminated(self, lab: Lab, quiet: Any) -> None:
        """A child that is terminated by a call has not ended by itself."""
        top = await lab.top(*_significant(lab, "a"), auto_shutdown="any_significant").start()
        await top.terminate_child("a")
        await quiet(top)

        assert "running" == top.snapshot().state
        await top.stop(None)

    async def test_bystander(self, lab: Lab) -> None:
        """A significant child that is stopped with its siblings has not ended by itself."""
        specs = [lab.spec("x"), *_significant(lab, "a", restart="temporary")]
        top = await lab.top(*specs, strategy="one_for_all", auto_shutdown="any_significant").start()
        await lab.crash("x")

        assert "running" == top.snapshot().state
        await top.stop(None)


class TestAll:
    async def test_last(self, lab: Lab, end: Any, quiet: Any) -> None:
        """With all_significant the last orderly end ends all."""
        specs = [lab.spec("x"), *_significant(lab, "a", "b")]
        top = await lab.top(*specs, auto_shutdown="all_significant").start()
        lab.toys["a"].end("normal")
        await quiet(top)

        assert "running" == top.snapshot().state
        lab.toys["b"].end("normal")
        assert "shutdown" == await end(top)


class TestNested:
    async def test_escalates(self, lab: Lab, end: Any) -> None:
        """A significant supervisor that shut itself down shuts the one above it down."""
        inner = lab.level(
            "inner",
            *_significant(lab, "a"),
            auto_shutdown="any_significant",
            restart="transient",
            significant=True,
        )
        top = await lab.top(lab.spec("x"), inner, auto_shutdown="any_significant").start()
        lab.toys["a"].end("normal")

        assert "shutdown" == await end(top)
        assert "end x shutdown" == lab.log[-1]
