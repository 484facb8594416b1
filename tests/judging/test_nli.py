from __future__ import annotations

import asyncio
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.domain.insight import Claim, Relation
from cortex_actors.errors import BadInput, JudgeDown, JudgeMissing
from cortex_actors.judging.layer import JudgeQuestion, LayerState, QuestionKind
from cortex_actors.judging.nli import EntailmentLayer
from cortex_actors.sections import JudgingSettings
from cortex_actors.testing import eventually
from tests.judging.real_child import LOGITS
from tests.judging.test_models import saved

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from cortex_actors.judging.layer import Answer, Told
    from tests.embedding.support import ManualClock


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give the folder of a model, whose process behaves."""
    found = saved(
        tmp_path / "nli", id2label={"0": "entailment", "1": "neutral", "2": "contradiction"}
    )
    (found / "behaviour").write_text("3")
    return found


@asynccontextmanager
async def layer_of(
    folder: Path,
    clock: ManualClock | SystemClock,
    child: str = "tests.judging.fake_child",
    on_line: Callable[[str], None] | None = None,
    **settings: Any,
) -> AsyncIterator[EntailmentLayer]:
    """Give a layer at work."""
    given = {"cross_encoder": str(folder), "request_timeout_s": 20, **settings}
    chosen = JudgingSettings.model_validate(given)
    layer = EntailmentLayer(chosen, clock, on_line=on_line, child=child)
    living = asyncio.create_task(layer.live())
    try:
        yield layer
    finally:
        living.cancel()
        await asyncio.wait({living})


async def told(layer: EntailmentLayer, one: str, other: str) -> Told:
    """Return what becomes of a pair."""
    (found,) = await layer.answer_all([JudgeQuestion.compare(Claim(one), Claim(other))])
    return found


async def judged(layer: EntailmentLayer, one: str, other: str) -> Relation | None:
    """Return what a pair is judged to be."""
    found = await told(layer, one, other)
    assert layer.accepts(QuestionKind.COMPARE, found)
    answer: Answer = found  # type: ignore[assignment]  # or it would not be accepted
    judgement = layer.read_judgement(answer)
    return None if judgement is None else judgement.relation


class TestAnswers:
    async def test_relations(self, folder: Path, clock: ManualClock) -> None:
        """Probabilities in both directions become a judgement, whatever the outputs' order is."""
        async with layer_of(folder, clock) as layer:
            assert LayerState.IDLE is layer.describe().state
            assert Relation.SAME is await judged(layer, "same a", "same b")
            assert Relation.CONTRADICTION is await judged(layer, "not a", "not b")
            assert await judged(layer, "a", "b") is None
            info = layer.describe()

        assert (LayerState.READY, "", 3, 1) == (
            info.state,
            info.reason,
            info.counters["pairs"],
            info.counters["starts"],
        )

    async def test_many(self, folder: Path, clock: ManualClock) -> None:
        """Every pair of a request gets its own rows."""
        pairs = [("same a", "same b"), ("a", "b"), ("not a", "not b")]
        asked = [JudgeQuestion.compare(Claim(one), Claim(other)) for one, other in pairs]
        async with layer_of(folder, clock) as layer:
            rows = [found["rows"][0] for found in await layer.answer_all(asked)]  # type: ignore[index]  # no errors

        assert [0.05, 0.3, 0.9] == [row[0] for row in rows]

    async def test_cut(self, folder: Path, clock: ManualClock) -> None:
        """A pair that the model would read a part of has no answer; those beside it have theirs."""
        pairs = [("long a", "same b"), ("same a", "same b")]
        asked = [JudgeQuestion.compare(Claim(one), Claim(other)) for one, other in pairs]
        async with layer_of(folder, clock) as layer:
            first, second = await layer.answer_all(asked)

        assert isinstance(first, BadInput)
        assert layer.accepts(QuestionKind.COMPARE, second)

    async def test_idle(self, folder: Path, clock: ManualClock) -> None:
        """Who is not asked for a while is let go of, and comes back when it is asked again."""
        async with layer_of(folder, clock, cross_encoder_idle_s=300) as layer:
            await told(layer, "a", "b")
            assert 300 == await clock.next_alarm()
            await clock.advance(300)
            await eventually(lambda: layer.describe().state is LayerState.IDLE)
            await told(layer, "a", "b")

            assert 2 == layer.describe().counters["starts"]


class TestTrouble:
    @pytest.mark.parametrize("text", ["die", "memory", "nan", "few"])
    async def test_again(self, folder: Path, clock: ManualClock, text: str) -> None:
        """A process that dies, or answers nonsense, fails those who asked; the next one works."""
        async with layer_of(folder, clock) as layer:
            with pytest.raises(JudgeDown, match="failed"):
                await told(layer, text, text)

            assert Relation.SAME is await judged(layer, "same a", "same b")

    async def test_hang(self, folder: Path, clock: ManualClock) -> None:
        """A process that hangs is ended."""
        async with layer_of(folder, clock, request_timeout_s=0.1) as layer:
            with pytest.raises(JudgeDown, match="did not answer"):
                await told(layer, "hang", "hang")

            assert LayerState.IDLE is layer.describe().state

    async def test_left_alone(self, folder: Path, clock: ManualClock) -> None:
        """One that fails again and again is left alone for a while, and says so."""
        (folder / "behaviour").write_text("broken")
        async with layer_of(folder, clock, breaker_failures=2, breaker_pause_s=30) as layer:
            for _ in range(3):
                with pytest.raises(JudgeDown, match="weights cannot be read"):
                    await told(layer, "a", "b")
            info = layer.describe()
            (folder / "behaviour").write_text("3")
            await clock.advance(30)

            assert (LayerState.DOWN, 2) == (info.state, info.counters["starts"])
            assert "left alone for 30 s more" in info.reason
            assert await judged(layer, "a", "b") is None
            assert LayerState.READY is layer.describe().state

    @pytest.mark.parametrize(
        ("behaviour", "words"), [("no library", "pip install"), ("2", "has 2 outputs")]
    )
    async def test_missing(
        self, folder: Path, clock: ManualClock, behaviour: str, words: str
    ) -> None:
        """What only a person can mend is said, and not tried again."""
        (folder / "behaviour").write_text(behaviour)
        async with layer_of(folder, clock) as layer:
            for _ in range(2):
                with pytest.raises(JudgeMissing, match=words):
                    await told(layer, "a", "b")
            info = layer.describe()

        assert (LayerState.MISSING, 1, "") == (info.state, info.counters["starts"], layer.model_id)

    async def test_nowhere(self, tmp_path: Path, clock: ManualClock) -> None:
        """A model that is not on this machine starts nothing."""
        async with layer_of(tmp_path / "nowhere", clock) as layer:
            with pytest.raises(JudgeMissing, match="there is no folder"):
                await told(layer, "a", "b")

            assert LayerState.MISSING is layer.describe().state

    async def test_cancelled(self, folder: Path, clock: ManualClock) -> None:
        """An asker that goes away leaves a layer that works."""
        async with layer_of(folder, clock) as layer:
            asked = asyncio.create_task(told(layer, "hang", "hang"))
            await eventually(lambda: layer.describe().state is LayerState.READY)
            asked.cancel()
            await asyncio.wait({asked})

            assert asked.cancelled()


@pytest.mark.slow
class TestReal:
    async def test_cross_encoder(self, folder: Path) -> None:
        """A real CrossEncoder is loaded, scores what it can read to its end, and is let go of."""
        lines: list[str] = []
        child = "tests.judging.real_child"
        async with layer_of(
            folder, SystemClock(), child, lines.append, request_timeout_s=60
        ) as layer:
            found = await told(layer, "Indent with tabs.", "Indent with four spaces.")
            relation = await judged(layer, "a", "b")
            long = await told(layer, "tabs " * 1_000, "b")
        total = sum(map(math.exp, LOGITS))
        expected = [round(math.exp(LOGITS[each]) / total, 4) for each in (2, 0, 1)]

        assert found["rows"][0] == pytest.approx(expected, abs=2e-4), lines  # type: ignore[index]  # no error
        assert Relation.CONTRADICTION is relation
        assert isinstance(long, BadInput), lines
