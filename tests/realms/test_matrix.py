"""Five agents, three realms, every verb: what is not one's own is neither read nor changed."""

from __future__ import annotations

import inspect
from ast import literal_eval
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.api.desk import FrontDesk
from cortex_actors.errors import BadInput, CortexError, NotFound, NotYours
from tests.realms import operations
from tests.realms.world import AGENTS, REALMS, Kept, World, lasting, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.client.connection import Client

pytestmark = pytest.mark.slow

#: An id that was never given.
NEVER = "mem_01M800000000000000000NEVER"


def verbs() -> set[str]:
    """Return the verbs that agents may call."""
    return {
        name
        for name, verb in inspect.getmembers(FrontDesk, inspect.iscoroutinefunction)
        if not name.startswith("_") and "caller" in inspect.signature(verb).parameters
    }


def strangers(world: World, reader: str, realm: str) -> list[Kept]:
    """Return what others keep in a realm; of a bridge, where it does not lead to the reader."""
    found = [each for each in world.kept if each.realm == realm and each.agent != reader]
    return found if realm == "village" else [each for each in found if reader not in each.readers]


def questions(world: World, reader: str, verb: str) -> list[dict[str, Any]]:
    """Return what is asked about something in each realm that one may not read, each once."""
    some = [strangers(world, reader, realm)[-1] for realm in ("private", "bridge", "crumb")]
    asked = [about(kept) for about in operations.LOOKS[verb] for kept in some]
    return list({repr(each): each for each in asked}.values())


def refused(client: Client, verb: str, params: dict[str, Any]) -> Exception:
    """Return the error of a call that must not be answered."""
    said = say(client, verb, params)
    assert said.error is not None, f"{verb} {params} was answered: {said.answer}"
    return said.error


@cache
def unknown(client: Client, verb: str, params: str) -> Exception:
    """Return the error of an id that was never given; asked once of each client."""
    return refused(client, verb, literal_eval(params))


def require_unknown(client: Client, verb: str, about: operations.About, *, kept: Kept) -> None:
    """Fail unless a memory is for an agent what an id is that was never given."""
    never = unknown(client, verb, repr(about(Kept("", "", NEVER, "", "", frozenset()))))
    error = refused(client, verb, about(kept))
    assert isinstance(never, NotFound), (verb, never)
    assert type(never) is type(error), (verb, error)
    assert str(never) == str(error).replace(kept.id, NEVER), (verb, error)


@pytest.fixture(autouse=True)
def _untouched(world: World, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which an agent changed anything that others keep."""
    reader = request.node.callspec.params.get("reader") if hasattr(request.node, "callspec") else ""
    before = world.foreign(reader) if reader else None
    yield
    assert before is None or before == world.foreign(reader)


class TestTable:
    def test_complete(self) -> None:
        """Every verb that agents may call is in the table: who adds one says what it is."""
        assert verbs() == operations.KNOWN


@pytest.mark.parametrize("reader", AGENTS)
class TestReads:
    def test_lists(self, world: World, reader: str) -> None:
        """Whatever is asked, in no answer is a trace of what the agent may not read."""
        client = world.client(reader)
        traces = {trace for kept in world.hidden(reader) for trace in kept.traces}
        for verb in operations.LOOKS:
            for asked in questions(world, reader, verb):
                told = say(client, verb, asked).told(asked)
                assert [] == [trace for trace in traces if trace in told], (verb, asked, told)

    @pytest.mark.parametrize("realm", ["private", "bridge"])
    def test_one(self, world: World, reader: str, realm: str) -> None:
        """What one may not read does not exist: its error is that of an id never given."""
        for verb, about in operations.READS.items():
            for kept in strangers(world, reader, realm):
                require_unknown(world.client(reader), verb, about, kept=kept)


@pytest.mark.parametrize("reader", AGENTS)
@pytest.mark.parametrize("realm", REALMS)
class TestChanges:
    def test_one(self, world: World, reader: str, realm: str) -> None:
        """Nobody changes another's memory: what it may not read is unknown, all else not its."""
        client = world.client(reader)
        for verb, some in operations.CHANGES.items():
            for about in some:
                for kept in strangers(world, reader, realm)[:2]:
                    if reader in kept.readers:
                        error = refused(client, verb, about(kept))
                        assert isinstance(error, NotYours), (verb, error)
                    else:
                        require_unknown(client, verb, about, kept=kept)

    def test_pairs(self, world: World, reader: str, realm: str) -> None:
        """Both ids are looked at: with one's own in either place another's is not touched."""
        client, foreign = world.client(reader), strangers(world, reader, realm)[0]
        own = world.of(reader, "private").id
        for verb, pair in operations.PAIRS.items():
            for about in operations.either(pair, own):
                if reader not in foreign.readers:
                    require_unknown(client, verb, about, kept=foreign)
                elif (verb, about(foreign).get("old")) != ("supersede", own):
                    # What another says in the village may hold in place of one's own.
                    assert isinstance(refused(client, verb, about(foreign)), CortexError)

    def test_lent(self, world: World, reader: str, realm: str) -> None:
        """The owner who speaks as an agent changes nothing that the agent itself may not."""
        foreign, own = strangers(world, reader, realm)[0], world.of(reader, "private").id
        asked = {verb: some[0](foreign) for verb, some in operations.CHANGES.items()}
        asked |= {verb: pair(foreign.id, own) for verb, pair in operations.PAIRS.items()}
        for verb, about in asked.items():
            mine = refused(world.client(reader), verb, about)
            lent = refused(world.owner, verb, {**about, "as_agent": reader})
            assert isinstance(lent, NotYours if reader in foreign.readers else NotFound), verb
            assert str(mine) == str(lent), verb

    def test_says(self, world: World, reader: str, realm: str) -> None:
        """Nobody answers, or puts anything in the place of, what it may not read."""
        client, kept = world.client(reader), strangers(world, reader, realm)[0]
        for verb, some in operations.SAYS.items():
            for about in some:
                if reader not in kept.readers:
                    require_unknown(client, verb, about, kept=kept)
                elif "supersedes" in about(kept):
                    error = refused(client, verb, about(kept))
                    assert isinstance(error, NotYours), (verb, error)


@pytest.mark.parametrize("reader", AGENTS)
class TestActs:
    def test_another(self, world: World, reader: str) -> None:
        """Nobody acts in another's name, nor in that of nobody."""
        client = world.client(reader)
        for verb, act in operations.ACTS.items():
            for other in (world.after(reader), "SOMEBODY"):
                assert isinstance(refused(client, verb, act(other)), NotYours), verb
            for other in ("", "../x", "A" * 65, "\u0410ZOTH", "owner"):
                assert isinstance(refused(client, verb, act(other)), BadInput), verb

    def test_eyes(self, world: World, reader: str) -> None:
        """Nobody sees with another's eyes; with the agent's the owner sees what it sees."""
        client = world.client(reader)
        for verb, some in operations.LOOKS.items():
            asked = some[0](world.of(world.after(reader), "private"))
            error = refused(client, verb, {**asked, "as_agent": world.after(reader)})
            if "as_agent" not in inspect.signature(getattr(FrontDesk, verb)).parameters:
                assert isinstance(error, BadInput), verb
                continue
            assert isinstance(error, NotYours), verb
            lent = say(world.owner, verb, {**asked, "as_agent": reader})
            own = say(client, verb, asked)
            assert lasting(own.answer) == lasting(lent.answer), verb
            assert str(own.error) == str(lent.error), verb

    def test_tends(self, world: World, reader: str) -> None:
        """Whoever has all memories tended has its own tended."""
        others = [each.id for each in world.kept if each.agent != reader]
        for verb in operations.TENDS:
            answer = say(world.client(reader), verb, {}).answer
            assert answer is not None, verb
            assert [] == [each for each in others if each in str(answer)], verb


class TestNumbers:
    @pytest.mark.parametrize("stranger", AGENTS)
    def test_changes(self, world: World, stranger: str) -> None:
        """A change of another's memory has no number: it is undone by nobody else."""
        other = world.after(stranger, 2)
        done = world.client(other).call("pin", id=world.of(other, "private").id)
        assert done
        found = world.client(other).call("memory_changes", memory=world.of(other, "private").id)
        number = found["changes"][0]["id"]
        never = refused(world.client(stranger), "undo", {"change": 999_999})
        error = refused(world.client(stranger), "undo", {"change": number})
        lent = refused(world.owner, "undo", {"change": number, "as_agent": stranger})

        assert isinstance(error, NotFound)
        assert (NotFound, str(error)) == (type(lent), str(lent))
        assert str(never) == str(error).replace(str(number), "999999")


class TestNotVacuous:
    @pytest.mark.parametrize("reader", AGENTS)
    def test_own(self, world: World, reader: str) -> None:
        """What an agent keeps it finds, reads and changes: the questions above do ask something."""
        client = world.client(reader)
        for realm in REALMS:
            kept = world.of(reader, realm)
            for verb in ("recall", "search"):
                asked = operations.LOOKS[verb][0](kept)
                hits = client.call(verb, **asked)["hits"]
                assert kept.id in [each["id"] for each in hits]
            assert kept.word in client.call("memory", id=kept.id)["content"]
            assert kept.id in str(client.call("memories", limit=operations.ALL))
        crumb = world.of(reader, "crumb")
        assert crumb.id in str(client.call("crumbs", limit=operations.ALL))

    @pytest.mark.parametrize("verb", operations.CHANGES)
    def test_changes(self, world: World, verb: str) -> None:
        """What an agent itself has said, it may do everything with that makes sense."""
        client = world.client("AZOTH")
        for number, about in enumerate(operations.CHANGES[verb]):
            thread = f"{verb} {number}"
            own = client.call("remember", content=f"to {verb}", thread=thread)["id"]
            said = say(client, verb, about(Kept("", "", own, "", "", frozenset())))
            assert not isinstance(said.error, NotFound | NotYours), said.error

    @pytest.mark.parametrize("reader", AGENTS)
    def test_bridge(self, world: World, reader: str) -> None:
        """What stands on a bridge that leads to an agent it reads."""
        kept = next(
            each
            for each in world.kept
            if each.realm == "bridge" and each.agent != reader and reader in each.readers
        )
        assert kept.word in world.client(reader).call("memory", id=kept.id)["content"]

    def test_owner(self, world: World) -> None:
        """The owner reads everything there is."""
        found = str(world.owner.call("search", query="harbour", limit=operations.ALL, track=False))
        crumbs = str(world.owner.call("crumbs", limit=operations.ALL))

        assert [] == [each.word for each in world.kept if each.word not in found + crumbs]
