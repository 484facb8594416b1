from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import pytest

from supervision import BRUTAL_KILL, ChildError, ChildSpec, SpecError, Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.supervision.conftest import Lab

RESTARTS = ("permanent", "transient", "temporary")

SHUTDOWNS = (0, 1.5, math.inf, BRUTAL_KILL)

KINDS = ("worker", "supervisor")

MODES = ("never", "any_significant", "all_significant")

#: Stands for an option that is not given.
LEFT_OUT: Any = object()

#: What is wrong with a spec, in OTP's word for it, and a spec that has it.
FAULTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("missing_id", {"id": None}),
    ("invalid_start", {"start": "mfa"}),
    ("invalid_restart_type", {"restart": "prmanent"}),
    ("invalid_shutdown", {"shutdown": -10}),
    ("invalid_shutdown", {"shutdown": math.nan}),
    ("invalid_shutdown", {"shutdown": "soon"}),
    ("invalid_child_type", {"type": "wrker"}),
    ("bad_combination", {"restart": "permanent", "significant": True}),
)


async def _never() -> Any:
    raise AssertionError


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that are not left out."""
    return {key: value for key, value in options.items() if value is not LEFT_OUT}


def _combinations() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield every combination of valid words: what is wrong with it, the supervisor's, its own."""
    table = ((LEFT_OUT, *words) for words in (MODES, RESTARTS, SHUTDOWNS, KINDS, (True, False)))
    ids: tuple[Any, ...] = ("child", 7, ("child", 7))
    for mode, restart, shutdown, kind, significant in itertools.product(*table):
        for name, strategy in itertools.product(
            ids, ("one_for_one", "one_for_all", "rest_for_one")
        ):
            options = _given(restart=restart, shutdown=shutdown, type=kind, significant=significant)
            wrong = significant is True and (
                restart in {LEFT_OUT, "permanent"} or mode in {LEFT_OUT, "never"}
            )
            above = _given(auto_shutdown=mode, strategy=strategy)
            yield "bad_combination" if wrong else "", above, {"id": name, **options}


def _verdict(above: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return OTP's word for what is wrong, or nothing."""
    try:
        Supervisor([ChildSpec(start=_never, **options)], name="top", **above)
    except SpecError as error:
        reason: Any = error.reason
        return reason[0]
    return ""


class TestSpecs:
    @pytest.mark.parametrize(("word", "options"), FAULTS)
    async def test_faults(self, lab: Lab, word: str, options: dict[str, Any]) -> None:
        """Each fault of a spec is refused in its own word, before a supervisor ever sees it.

        Row: otp child_specs
        Row: elixir supervisor start_child/2: with invalid child spec
        """
        top = await lab.top().start()
        with pytest.raises(SpecError) as refusal:
            await top.start_child(ChildSpec(**{"id": "child", "start": _never, **options}))

        reason: Any = refusal.value.reason
        assert word == reason[0]
        garbage: Any
        for garbage in ("hej", {}, (1, 2, 3, 4, 5, 6), None):
            with pytest.raises(SpecError, match="invalid_child_spec|give a ChildSpec") as refusal:
                await top.start_child(garbage)
            assert ("invalid_child_spec", garbage) == refusal.value.reason
        assert [] == await top.which_children()
        await top.stop(None)

    @pytest.mark.parametrize("restart", RESTARTS)
    @pytest.mark.parametrize("shutdown", SHUTDOWNS)
    @pytest.mark.parametrize("kind", KINDS)
    async def test_valid(self, lab: Lab, restart: Any, shutdown: Any, kind: Any) -> None:
        """Every combination of a restart, a shutdown and a type makes a child that starts.

        Row: otp child_specs
        """
        spec = lab.spec("child", restart=restart, shutdown=shutdown, type=kind)
        top = await lab.top().start()

        assert (await top.start_child(spec)).handle is lab.toys["child"]
        await top.stop(None)

    async def test_sets(self, lab: Lab) -> None:
        """Two children of one id are refused, and so is any number but one for a template.

        Row: otp child_specs
        """
        spec, other = ChildSpec("child", _never), ChildSpec("other", _never)
        with pytest.raises(SpecError) as refusal:
            lab.top(spec, spec)
        assert ("duplicate_child_name", "child") == refusal.value.reason
        for specs in ((), (spec, other)):
            with pytest.raises(SpecError) as refusal:
                lab.top(*specs, strategy="simple_one_for_one")
            assert ("bad_start_spec", len(specs)) == refusal.value.reason

    async def test_matrix(self) -> None:
        """Of all combinations only a significant child that cannot be one is refused.

        Row: otp child_specs_map
        """
        verdicts = [(word, _verdict(*given), given) for word, *given in _combinations()]

        assert 4 * 4 * 5 * 3 * 3 * 9 == len(verdicts)
        assert [] == [line for line in verdicts if line[0] != line[1]]

    @pytest.mark.parametrize(("word", "options"), FAULTS)
    def test_faults_of_a_map(self, word: str, options: dict[str, Any]) -> None:
        """A spec from a table of options is refused in the same words as one that is written out.

        Row: otp child_specs_map
        """
        table = {"id": "child", "start": _never, **options}
        for strategy in ("one_for_one", "simple_one_for_one"):
            with pytest.raises(SpecError, match=word):
                Supervisor([ChildSpec(**table)], name="top", strategy=strategy)

    def test_significant_is_a_word(self) -> None:
        """Whether a child is significant is yes or no."""
        maybe: Any = "maybe"
        with pytest.raises(SpecError, match="invalid_significant"):
            ChildSpec("child", _never, restart="transient", significant=maybe)


class TestFaulty:
    async def test_named(self, lab: Lab) -> None:
        """What a spec lacks or has too much is named, by us or by Python (OTP ignores the latter).

        Row: otp sup_start_map_faulty_specs
        """
        made: Any = ChildSpec
        with pytest.raises(TypeError, match="'id'"):
            made(start=_never)
        with pytest.raises(TypeError, match="'start'"):
            made(id="child2")
        with pytest.raises(TypeError, match="'silly_flag'"):
            made("child3", _never, silly_flag=True)
        with pytest.raises(SpecError) as refusal:
            lab.top(ChildSpec("a", _never), made(None, _never))
        assert ("missing_id", None) == refusal.value.reason
        top = await lab.top().start()
        garbage: Any = "child4"
        with pytest.raises(SpecError) as refusal:
            await top.start_child(garbage)
        assert ("invalid_child_spec", "child4") == refusal.value.reason
        await top.stop(None)


class TestFlags:
    @pytest.mark.parametrize(
        ("word", "options"),
        [
            ("invalid_strategy", {"strategy": "none_for_one"}),
            ("invalid_intensity", {"intensity": -1}),
            ("invalid_intensity", {"intensity": math.nan}),
            ("invalid_period", {"period": 0}),
            ("invalid_period", {"period": math.inf}),
            ("invalid_auto_shutdown", {"auto_shutdown": "sometimes"}),
        ],
    )
    def test_named(self, word: str, options: dict[str, Any]) -> None:
        """Each option of a supervisor that makes no sense is refused by name.

        Row: otp sup_flags
        """
        with pytest.raises(SpecError) as refusal:
            Supervisor(name="top", **options)

        assert (word, *options.values()) == pytest.approx(refusal.value.reason, nan_ok=True)

    @pytest.mark.parametrize("option", ["intensity", "period"])
    def test_types(self, option: str) -> None:
        """A limit that is no number is refused by name.

        Row: otp sup_flags
        """
        options: Any = {option: "infinity"}
        with pytest.raises(SpecError, match=f"invalid_{option}"):
            Supervisor(name="top", **options)

    def test_unknown(self) -> None:
        """An option that nobody knows is refused by Python (OTP ignores it).

        Row: otp sup_flags
        """
        options: Any = {"silly_flag": True}
        with pytest.raises(TypeError, match="silly_flag"):
            Supervisor(name="top", **options)


class TestReadBack:
    async def test_by_id(self, lab: Lab) -> None:
        """The whole spec of a child can be read by its id, with what was left out filled in.

        Row: otp sup_start_map
        """
        plain, brutal = lab.spec("a"), lab.spec("b", shutdown=BRUTAL_KILL)
        above = lab.spec("c", type="supervisor")
        top = await lab.top(plain, brutal, above).start()

        for spec, shutdown, patience in (
            (plain, None, 5.0),
            (brutal, BRUTAL_KILL, None),
            (above, None, None),
        ):
            found = await top.get_childspec(spec.id)
            assert spec == found
            assert ("permanent", False) == (found.restart, found.significant)
            assert (shutdown, patience) == (found.shutdown, found.patience)
        assert ["worker", "worker", "supervisor"] == [s.type for s in (plain, brutal, above)]
        with pytest.raises(ChildError) as refusal:
            await top.get_childspec("d")
        assert "not_found" == refusal.value.reason
        await top.stop(None)

    @pytest.mark.parametrize("restart", ["permanent", "transient"])
    async def test_by_handle(self, lab: Lab, restart: str) -> None:
        """The template can be read by the handle of any child of it, and by no stranger's.

        Row: otp sup_start_map_simple
        """
        template = lab.spec("t", restart=restart)
        pool = await lab.top(template, strategy="simple_one_for_one").start()
        for name in "xyz":
            handle = (await pool.start_child((name,))).handle
            found = await pool.get_childspec(handle)
            assert template == found
            assert ("worker", 5.0, False) == (found.type, found.patience, found.significant)
        stranger: Any = await lab.make("stranger", {})
        with pytest.raises(ChildError) as refusal:
            await pool.get_childspec(stranger)
        assert "not_found" == refusal.value.reason
        await pool.stop(None)

    async def test_of_a_temporary_child(self, lab: Lab) -> None:
        """The template of temporary children is whole, as the next child is made from it."""
        template = lab.spec("t", restart="temporary")
        pool = await lab.top(template, strategy="simple_one_for_one").start()
        found = await pool.get_childspec((await pool.start_child(("x",))).handle)
        await pool.stop(None)

        assert template == found
