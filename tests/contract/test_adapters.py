"""What every adapter promises, each over a real store of its type."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import StoreDown, StoreUnusable
from cortex_actors.federation.binding import ADAPTERS
from cortex_actors.federation.remote import TopicAdapter
from cortex_actors.federation.store import ByTopic
from tests.contract.adapters import LONG, SHORT, TOKEN, trouble
from tests.contract.cases import CASES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.adapters import Case

pytestmark = pytest.mark.slow

#: Texts that mean something to one store's language or another's, and are only texts.
HOSTILE = (
    "'; DROP TABLE facts; --",
    '"unclosed AND (NEAR(* OR',
    "line\nbreaks\r\n\r\nHost: evil.example",
    '{"n_results": 1000000}, ${HOME} $(id) %s {0} \\ \' "',
    "日本語 🙂 e\u0301 \x00 \u202e",
    "x" * 4_096,
)

#: Answers of servers that are something else.
GARBAGE = {
    "no protocol": b"220 mail.example ESMTP ready\r\n" * 8,
    "a page": b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>",
    "a number": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n42",
    "another document": b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"hits":"no"}'[:-1],
    "other rows": b'HTTP/1.1 200 OK\r\nContent-Length: 28\r\n\r\n{"hits":[[1],{"id":1},null]}',
    "an error": b"HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\nOops",
    "hung up": b"\r\n",
}


@pytest.fixture(scope="module", params=sorted(ADAPTERS))
def case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Case]:
    """Give each type in turn, its server started once."""
    with CASES[request.param](tmp_path_factory.mktemp(request.param)) as case:
        yield case


class TestRegister:
    def test_all(self) -> None:
        """Every adapter there is has a real store here."""
        assert sorted(ADAPTERS) == sorted(CASES)

    @pytest.mark.parametrize("kind", sorted(ADAPTERS))
    def test_said(self, kind: str) -> None:
        """An adapter says how much its stores give at most."""
        assert 1 <= ADAPTERS[kind].most


class TestMaking:
    async def test_unknown_option(self, case: Case) -> None:
        """A misspelt option is refused at once; the error names those there are."""
        with pytest.raises(StoreUnusable) as failure:
            async with case.opened(options={**case.options, "no_such_option": 1}):
                pass

        assert "'no_such_option'" in str(failure.value)
        assert "it knows" in str(failure.value)

    async def test_silent(self, case: Case) -> None:
        """Making an adapter and letting go of it sends nothing."""
        async with trouble() as other, case.opened(url=case.at(other.port)) as adapter:
            await adapter.close()
            await asyncio.to_thread(lambda: None)

            assert 0 == other.connections


class TestSearch:
    async def test_hits(self, case: Case) -> None:
        """Hits come in the store's own order, as another program's, with what the store says."""
        async with case.opened() as adapter:
            answer = await adapter.search(case.asked())

        assert case.ids == tuple(hit.id for hit in answer.hits)[: len(case.ids)]
        assert () == answer.skipped
        assert len(answer.hits) == len({hit.id for hit in answer.hits})
        for hit in answer.hits:
            assert ("other", "remote", True) == (hit.store, hit.trust, bool(hit.text))
            assert 0 <= hit.base_relevance == hit.score <= 1
            assert isinstance(hit.extra["metadata"], dict)
            assert json.loads(json.dumps(hit.extra)) == hit.extra

    async def test_limit(self, case: Case) -> None:
        """No more hits come than were asked for."""
        async with case.opened() as adapter:
            answer = await adapter.search(case.asked(limit=1))

        assert case.ids[:1] == tuple(hit.id for hit in answer.hits)

    async def test_more_than_there_may_be(self, case: Case) -> None:
        """Who asks for more than such a store gives is answered all the same."""
        async with case.opened() as adapter:
            answer = await adapter.search(case.asked(limit=10 * adapter.most))

        assert case.ids == tuple(hit.id for hit in answer.hits)[: len(case.ids)]

    @pytest.mark.parametrize("text", HOSTILE)
    async def test_only_a_text(self, case: Case, text: str) -> None:
        """A question is a text, whatever it says: the store answers it, and the next one too."""
        async with case.opened() as adapter:
            strange = await adapter.search(case.asked(text))
            answer = await adapter.search(case.asked())

        assert len(strange.hits) <= 5
        assert case.ids == tuple(hit.id for hit in answer.hits)[: len(case.ids)]

    async def test_at_once(self, case: Case) -> None:
        """Several questions at once are each answered as they would be alone."""
        async with case.opened() as adapter:
            answers = await asyncio.gather(*(adapter.search(case.asked()) for _ in range(8)))

        assert [case.ids] * 8 == [tuple(h.id for h in a.hits)[: len(case.ids)] for a in answers]


class TestTopics:
    async def test_by_topic(self, case: Case) -> None:
        """What is filed under a topic is found by it, in any case, but for what is known."""
        async with case.opened() as adapter:
            if not isinstance(adapter, TopicAdapter):
                return
            topics = [case.topic.upper(), "nothing has this topic"]
            found = await adapter.find_by_topic(
                ByTopic(topics, limit=9, exclude_ids=(), seconds=LONG)
            )
            one, *others = case.tagged
            rest = await adapter.find_by_topic(
                ByTopic(topics, limit=9, exclude_ids=[one], seconds=LONG)
            )
            first = await adapter.find_by_topic(
                ByTopic(topics, limit=1, exclude_ids=(), seconds=LONG)
            )
            nothing = await adapter.find_by_topic(
                ByTopic([], limit=9, exclude_ids=(), seconds=LONG)
            )

        assert case.tagged == {hit.id for hit in found.hits}
        assert set(others) == {hit.id for hit in rest.hits}
        assert (1, ()) == (len(first.hits), nothing.hits)
        assert {("other", "remote", 0.0)} == {
            (hit.store, hit.trust, hit.base_relevance) for hit in found.hits
        }


class TestPing:
    async def test_said(self, case: Case) -> None:
        """A store says something of itself, which is plain JSON."""
        async with case.opened() as adapter:
            said = await adapter.ping(LONG)

        assert said
        assert said == json.loads(json.dumps(said))


class TestTrouble:
    async def test_refused(self, case: Case) -> None:
        """Where nobody listens there is no answer, and the error says so in a line."""
        async with trouble() as other:
            pass
        async with case.opened(url=case.at(other.port)) as adapter:
            for ask in (adapter.search(case.asked(seconds=SHORT * 10)), adapter.ping(SHORT * 10)):
                with pytest.raises(StoreDown) as failure:
                    await ask
                _one_line(failure.value)

    async def test_silence(self, case: Case) -> None:
        """Who never answers is waited for no longer than was allowed."""
        async with trouble() as other, case.opened(url=case.at(other.port)) as adapter:
            async with asyncio.timeout(LONG):
                with pytest.raises(StoreDown) as failure:
                    await adapter.search(case.asked(seconds=SHORT))
                _one_line(failure.value)
                with pytest.raises(StoreDown):
                    await adapter.ping(SHORT)

    @pytest.mark.parametrize("said", GARBAGE.values(), ids=GARBAGE)
    async def test_something_else(self, case: Case, said: bytes) -> None:
        """What is no such store gives no answer, never hits; the error is a line."""
        async with trouble(said) as other, case.opened(url=case.at(other.port)) as adapter:
            with pytest.raises(StoreDown) as failure:
                await adapter.search(case.asked(seconds=SHORT * 10))
            _one_line(failure.value)

    async def test_given_up(self, case: Case) -> None:
        """Who asked may go; nothing of the question stays behind."""
        async with trouble() as other, case.opened(url=case.at(other.port)) as adapter:
            task = asyncio.create_task(adapter.search(case.asked()))
            await other.heard.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    async def test_closed(self, case: Case) -> None:
        """What was let go of answers nobody any more, and may be let go of again."""
        async with case.opened() as adapter:
            await adapter.search(case.asked())
            await adapter.close()
            with pytest.raises(StoreDown):
                await adapter.search(case.asked())


def _one_line(error: StoreDown) -> None:
    """Fail unless an error can stand in an answer: a line, not long, without a token."""
    text = str(error)
    assert text
    assert text.isprintable(), text
    assert len(text) <= 200, text
    assert TOKEN not in text
