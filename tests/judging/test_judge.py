from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.insight import Claim, Conflict
from cortex_actors.errors import JudgeDown
from cortex_actors.judging.judge import Judge, QuietJudge
from cortex_actors.runtime.names import NamedActor
from cortex_actors.sections import JudgingSettings
from cortex_actors.testing import eventually
from tests.judging.bench import Entailing, judging, relations
from tests.judging.support import says, settings_for
from tests.storage.support import opened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from cortex_actors.judging.layer import JudgeQuestion, Told
    from tests.embedding.support import ManualClock
    from tests.judging.support import FakeChat


ONE, OTHER = Claim("Indent with tabs."), Claim("Use tabs to indent.")

#: Two of the pairs that tests ask about.
PAIR, SECOND = (ONE, OTHER, 0.8), (ONE, Claim("Use spaces."), None)


class TestLayers:
    async def test_none(self, tmp_path: Path, clock: ManualClock) -> None:
        """Without a model nobody has an opinion, and nobody is asked."""
        async with judging(tmp_path, clock, JudgingSettings()) as bench:
            assert [None, None] == await bench.judge.compare([PAIR, SECOND])
            assert await bench.judge.merge(["a", "b"]) is None
            assert ((), 0) == ((info := await bench.describe()).layers, info.asked)

    async def test_order(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """The language model is asked only what entailment is not sure of; the rest is in order."""
        entailing = Entailing("spaces")
        async with judging(tmp_path, clock, settings_for(chat), entailing) as bench:
            found = await bench.judge.compare([PAIR, SECOND, PAIR])

        assert ["llm same", "nli contradiction", "llm same"] == relations(found)
        assert [2] == entailing.asked
        assert 1 == len(chat.requests)

    async def test_scope(self, tmp_path: Path, clock: ManualClock) -> None:
        """Two that contradict each other at different places do so in their context."""
        pair = (Claim("Use spaces."), Claim("Use tabs.", scope="docs/"), None)
        settings = JudgingSettings(cross_encoder="x")
        async with judging(tmp_path, clock, settings, Entailing("spaces")) as bench:
            (found,) = await bench.judge.compare([pair])

        assert found is not None
        assert Conflict.CONTEXTUAL is found.conflict

    async def test_missing(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """A layer that is missing is passed over."""
        entailing = Entailing("spaces")
        entailing.model_id = ""
        async with judging(tmp_path, clock, settings_for(chat), entailing) as bench:
            assert ["llm same"] == relations(await bench.judge.compare([SECOND]))

        assert [] == entailing.asked


class TestTexts:
    async def test_texts(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """It summarises, merges and finds the principle; what is no use is None."""
        chat.script.extend(says({"text": text}) for text in ("Tabs.", "Both.", "One.", "No. 7"))
        async with judging(tmp_path, clock, settings_for(chat)) as bench:
            assert "Tabs." == await bench.judge.summarise("Use tabs.", most=10)
            assert "Both." == await bench.judge.merge(["a", "b"])
            assert "One." == await bench.judge.synthesise(["a", "b"])
            assert await bench.judge.synthesise(["c", "d"]) is None

    async def test_too_long(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """What is longer than a question may be is not asked, and not asked by halves."""
        async with judging(tmp_path, clock, settings_for(chat, longest=300)) as bench:
            assert await bench.judge.summarise("x" * 300, most=10) is None
            assert 1 == (await bench.describe()).too_long

        assert [] == chat.requests


class TestKept:
    async def test_once(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """A question is paid for once, in whatever order its claims come, and by whatever life."""
        async with judging(tmp_path, clock, settings_for(chat)) as bench:
            await bench.judge.compare([PAIR])
            await bench.handle.stop(10)
            await bench.start()
            found = await bench.judge.compare([(OTHER, ONE, None)], run="next")

            assert ["llm same"] == relations(found)
            assert (1, 1) == (len(chat.requests), (await bench.describe()).known)

    async def test_other_model(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """What one model said is not another's answer."""
        async with judging(tmp_path, clock, settings_for(chat)) as bench:
            await bench.judge.compare([PAIR])
            await bench.handle.stop(10)
            bench.settings = settings_for(chat, model="n")
            await bench.start()
            await bench.judge.compare([PAIR])

            assert (2, 2) == (len(chat.requests), await bench.kept())

    async def test_damaged(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """A kept answer that is none is asked for again."""
        async with judging(tmp_path, clock, settings_for(chat)) as bench:
            await bench.judge.compare([PAIR])
            spoil = "UPDATE verdicts SET answer = '[7]'"
            await bench.store.write(lambda c: c.exec_driver_sql(spoil).rowcount)

            assert ["llm same"] == relations(await bench.judge.compare([PAIR]))
        assert 2 == len(chat.requests)

    async def test_failure(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """A failure is nobody's answer: it is not kept."""
        chat.script.append(says("no"))
        async with judging(tmp_path, clock, settings_for(chat)) as bench:
            assert [None] == await bench.judge.compare([PAIR])
            assert 0 == await bench.kept()
            assert ["llm same"] == relations(await bench.judge.compare([PAIR]))
            info = await bench.describe()

        assert (2, 1, 1) == (info.asked, info.answered, info.failed)


class TestLimits:
    async def test_budget(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """A run asks the language model no more often than it may; what is known costs nothing."""
        pairs: list[Any] = [(ONE, Claim(f"Use tabs{'!' * n}"), None) for n in range(4)]
        async with judging(tmp_path, clock, settings_for(chat, budget=3)) as bench:
            first = await bench.judge.compare(pairs[:2], run="r")
            second = await bench.judge.compare(pairs, run="r")
            third = await bench.judge.compare(pairs, run="s")
            info = await bench.describe()

        assert ["llm same"] * 2 == relations(first)
        assert ["llm same"] * 3 + [None] == relations(second)
        assert ["llm same"] * 4 == relations(third)
        assert (4, 1) == (len(chat.requests), info.over_budget)

    async def test_patience(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """Nobody waits for longer than `patience_s`; what comes later is known the next time."""
        chat.gate.clear()
        async with judging(tmp_path, clock, settings_for(chat, patience_s=5)) as bench:
            asked = asyncio.create_task(bench.judge.compare([PAIR]))
            await chat.asked.wait()
            await clock.advance(5)

            assert [None] == await asked
            chat.gate.set()
            await eventually(bench.has_kept)
            assert ["llm same"] == relations(await bench.judge.compare([PAIR]))
            assert 1 == (await bench.describe()).late
        assert 1 == len(chat.requests)

    async def test_not_begun(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """What has not begun when its asker goes is not asked."""
        chat.gate.clear()
        chosen = settings_for(chat, patience_s=5, at_once=1)
        async with judging(tmp_path, clock, chosen) as bench:
            asked = asyncio.create_task(bench.judge.compare([PAIR, SECOND]))
            await chat.asked.wait()
            await clock.advance(5)
            await asked
            chat.gate.set()
            await eventually(bench.has_kept)
            info = await bench.describe()

        assert (1, 1) == (len(chat.requests), info.asked)

    async def test_joined(
        self, tmp_path: Path, clock: ManualClock, chat: FakeChat, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two who ask the same at once are told by one answer."""
        chat.gate.clear()
        looked: list[object] = []
        known = Judge._known

        async def noted(judge: Judge, *args: Any) -> Any:
            looked.append(found := await known(judge, *args))
            return found

        monkeypatch.setattr(Judge, "_known", noted)
        async with judging(tmp_path, clock, settings_for(chat)) as bench:
            both = [asyncio.create_task(bench.judge.compare([PAIR])) for _ in "ab"]
            await chat.asked.wait()
            await eventually(lambda: len(looked) == len(both))
            chat.gate.set()

            assert [["llm same"]] * 2 == [relations(await each) for each in both]
        assert 1 == len(chat.requests)


class Faulty(Entailing):
    """A layer with a fault."""

    async def answer_all(self, questions: Sequence[JudgeQuestion]) -> list[Told]:
        raise KeyError("outputs")


class TestAway:
    async def test_nobody(self, tmp_path: Path) -> None:
        """Who asks while the judge is away is told nothing in time, and nothing is raised."""
        settings = JudgingSettings(model="m", patience_s=0.01)
        async with opened(tmp_path) as store:
            judge = QuietJudge(NamedActor("judge", store.names), settings, grace=0.01)

            assert [None] == await judge.compare([PAIR])
            assert await judge.summarise("a", most=9) is None
            assert await judge.synthesise(["a"]) is None

    async def test_crash(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """A judge that crashes with a question in hand is no trouble of who asked."""
        chat.gate.clear()
        async with judging(tmp_path, clock, settings_for(chat)) as bench:
            asked = asyncio.create_task(bench.judge.compare([PAIR]))
            await chat.asked.wait()
            NamedActor[Any]("judge", bench.store.names).tell(Judge.crash)

            assert [None] == await asked
            await bench.handle.exited()
            chat.gate.set()
            await bench.start()
            assert ["llm same"] == relations(await bench.judge.compare([PAIR]))

    async def test_fault(self, tmp_path: Path, clock: ManualClock) -> None:
        """A layer that fails inside costs an answer, and not the judge's life."""
        settings = JudgingSettings(cross_encoder="x")
        async with judging(tmp_path, clock, settings, Faulty("spaces")) as bench:
            assert [None] * 6 == [(await bench.judge.compare([PAIR]))[0] for _ in range(6)]
            assert 6 == (await bench.describe()).failed

    async def test_ledger(self, tmp_path: Path, clock: ManualClock, chat: FakeChat) -> None:
        """While the ledger is away answers are given and not kept."""
        async with judging(tmp_path, clock, settings_for(chat)) as bench:
            vars(bench.store.records)["_ledger"] = SimpleNamespace(ask=_down)

            assert ["llm same"] == relations(await bench.judge.compare([PAIR]))


async def _down(*_: object, **__: object) -> object:
    raise JudgeDown("away")
