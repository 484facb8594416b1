"""What others keep to themselves changes nothing of what an agent is told, or of what it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import NotFound, Refused
from tests.realms import operations
from tests.realms.world import AGENTS, SHARED, World, lasting, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.client.connection import Client

pytestmark = pytest.mark.slow

#: A fact, the same in other words, and its opposite.
FACT = "Always use tabs for indentation in the harbour files"
AGAIN = "In the harbour files always use tabs for indentation"
AGAINST = "Never use tabs for indentation in the harbour files"


def differences(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """Yield where two answers differ."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for name in before:
            yield from differences(before[name], after[name], f"{at}/{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{at}[{number}]")
    elif before != after:
        yield f"{at}: {str(before)[:200]} -> {str(after)[:200]}"


def everything(world: World, reader: str) -> dict[str, Any]:
    """Return all that an agent is told when it asks every question about its own."""
    client, found = world.client(reader), {}
    for verb, some in operations.LOOKS.items():
        for number, about in enumerate(some):
            for realm in ("private", "village"):
                said = say(client, verb, about(world.of(reader, realm)))
                found[f"{verb} {number} {realm}"] = lasting(said.answer) or str(said.error)
    for realm in ("private", "bridge", "village"):
        found[f"memory {realm}"] = lasting(client.call("memory", id=world.of(reader, realm).id))
    return found


def keep(client: Client, text: str, **more: Any) -> dict[str, Any]:
    """Have an agent remember a fact; return what came of it."""
    return client.call("remember", content=text, type="fact", **more)


class TestNothingIsTold:
    def test_whatever_others_do(self, world: World) -> None:
        """Every answer stays as it was, to the last number, while others do private things."""
        reader, busy, other = "VAJRA", world.client("AZOTH"), world.client("CLAUDE")
        mine = f"{SHARED} and the keys of the quay"
        keep(world.client(reader), mine, thread="quay", tags=["harbour"])
        world.settle()
        before = everything(world, reader)
        same = keep(busy, mine, thread="quay", tags=["harbour"])
        keep(busy, mine.upper(), realm="bridge", related_agents=["ELYSIAN"])
        keep(other, f"not {mine}", realm="private", related_agents=["NOBODY-YOU-KNOW"])
        gone = keep(other, "the harbour has burnt down")
        kept = keep(other, "the harbour stands")
        for verb, params in (
            ("pin", {"id": same["id"]}),
            ("promote", {"id": kept["id"]}),
            ("supersede", {"old": gone["id"], "new": kept["id"]}),
            ("forget", {"ids": [gone["id"]]}),
            ("leave_crumb", {"session_summary": SHARED}),
        ):
            client = busy if verb == "pin" else other
            client.call(verb, **params)
        world.owner.call("remember", content=mine, agent="KETHER", type="fact")
        world.settle()
        after = everything(world, reader)

        assert [] == list(differences(before, after))

    @pytest.mark.parametrize("reader", AGENTS)
    def test_counts(self, world: World, reader: str) -> None:
        """What is counted for an agent is what it may read."""
        client = world.client(reader)
        listed = client.call("memories", limit=operations.ALL, status="all")
        ids = {each["id"] for each in listed["memories"]}

        assert len(ids) == listed["total"]
        assert not ids & {each.id for each in world.hidden(reader)}
        everybodys = world.owner.call("memories", limit=1, status="all")["total"]
        assert listed["total"] < everybodys


class TestProbing:
    def test_words(self, world: World) -> None:
        """What an agent is told of 40 words is the same, whatever others' secrets hold."""
        # It keeps each word and a control in two texts that are otherwise alike, and asks for both.
        prober, other = world.client("VAJRA"), world.client("AZOTH")
        pairs = [(f"zq{number}word", f"zq{number}control") for number in range(40)]
        for number, pair in enumerate(pairs):
            for word in pair:
                prober.call(
                    "remember", content=f"zeta {word} omega", thread=f"probe-{number}-{word}"
                )
        world.settle()

        def told() -> list[Any]:
            return [
                lasting(prober.call(verb, query=" ".join(words), explain=True, track=False))
                for verb in ("search", "recall")
                for words in (*pairs, [word for pair in pairs for word in pair])
            ]

        before = told()
        for number, (word, _) in enumerate(pairs[::2]):
            for realm in ("private", "bridge"):
                text = f"{word} lies where the quay ends, and nobody else is to know of {word}"
                more: dict[str, Any] = {"related_agents": ["KETHER"]} if realm == "bridge" else {}
                other.call("remember", content=text, realm=realm, thread=f"{number}", **more)
            other.call("leave_crumb", session_summary=f"{word} was counted again and again")
        world.settle()

        assert [] == list(differences(before, told()))
        for answer, pair in zip(before, pairs, strict=False):
            ranks = [hit["extra"]["explain"]["words_alone"]["rank"] for hit in answer["hits"][:2]]
            assert [1, 2] == sorted(ranks), pair

    def test_changes(self, world: World) -> None:
        """The numbers of an agent's changes say nothing of what others do, and undo its own."""
        mine, other = world.client("KETHER"), world.client("CLAUDE")
        ids = [keep(mine, f"the {each} gate is shut")["id"] for each in ("north", "south")]
        theirs = keep(other, "the lighthouse is painted")["id"]

        def numbers(changes: int) -> list[int]:
            for _ in range(changes):
                other.call("pin", id=theirs)
                other.call("unpin", id=theirs)
            mine.call("pin", id=ids[0])
            mine.call("unpin", id=ids[0])
            return [each["id"] for each in mine.call("memory_changes", memory=ids[0])["changes"]]

        first, then = numbers(0), numbers(5)
        owners = world.owner.call("memory_changes", memory=ids[0])["changes"]
        rows = [each["id"] for each in owners]
        assert first == then[len(then) - len(first) :]
        assert not set(then) & set(rows)
        assert {13} == {len(str(each)) for each in then}
        pinned = mine.call("pin", id=ids[1])
        assert pinned["changed"]
        number = mine.call("memory", id=ids[1])["changes"][0]["id"]
        row = world.owner.call("memory", id=ids[1])["changes"][0]["id"]
        with pytest.raises(NotFound, match=f"there is no change {row}"):
            mine.call("undo", change=row)
        assert number == mine.call("undo", change=number)["change"]
        with pytest.raises(Refused, match=f"change {number} was undone already"):
            world.owner.call("undo", change=number)
        with pytest.raises(Refused, match=f"change {row} was undone already"):
            world.owner.call("undo", change=row)


class TestMerging:
    @pytest.mark.parametrize("realm", ["private", "bridge"])
    @pytest.mark.parametrize("said", [FACT, AGAIN, AGAINST])
    def test_never_across(self, world: World, realm: str, said: str) -> None:
        """Another's text is never merged, never a conflict, never what was said already."""
        first, second = world.client("KETHER"), world.client("ELYSIAN")
        more: dict[str, Any] = {"realm": realm, "thread": f"{realm} {said}"}
        more |= {"related_agents": ["VAJRA"]} if realm == "bridge" else {}
        theirs = keep(first, FACT, **more)
        before = first.call("memory", id=theirs["id"])
        mine = keep(second, said, **more)

        assert ("saved", [], []) == (mine["state"], mine["merged"], mine["conflicts"])
        assert theirs["id"] != mine["id"]
        after = first.call("memory", id=theirs["id"])
        assert lasting(before) == lasting(after)
        assert second.call("memory", id=mine["id"])["content"] == said

    def test_own(self, world: World) -> None:
        """What an agent itself says in other words is made one: the test above asks something."""
        client = world.client("ELYSIAN")
        first = keep(client, FACT, thread="own")
        assert "existing" == keep(client, FACT, thread="own")["state"]
        assert first["id"] == keep(client, FACT, thread="own")["id"]
        against = keep(client, AGAINST, thread="own")
        assert [first["id"]] == [each["id"] for each in against["conflicts"]]

    def test_key(self, world: World) -> None:
        """A key by which an agent says something once is its own: for another it is a new one."""
        key, ids = "release-7", []
        for agent in ("VAJRA", "KETHER"):
            text = f"{agent} has published the release"
            one = keep(world.client(agent), text, idempotency_key=key)
            again = keep(world.client(agent), text, idempotency_key=key)
            assert one["id"] == again["id"]
            ids.append(one["id"])
        assert ids[0] != ids[1]


class TestLog:
    def test_no_text(self, world: World) -> None:
        """The log tells who did what for whom, and holds neither a text nor a token."""
        world.owner.call("remember", content="zqaudited harbour", agent="vajra")
        world.owner.call("search", query="zqaudited", as_agent="vajra", track=False)
        found = world.owner.stream("logs", last=1_000, actor="audit")
        noted = [each["text"] for each in found]
        written = (world.home / "logs" / "cortex.ndjson").read_text()

        assert "the owner did remember for VAJRA" in noted
        assert "the owner did search as VAJRA" in noted
        secret = [*world.tokens.values(), *(each.word for each in world.kept), "zqaudited"]
        assert [] == [each for each in secret if each in written]


class TestTraces:
    def test_links(self, world: World) -> None:
        """An id that an agent may not read is left out of what it reads, whoever put it there."""
        client = world.client("VAJRA")
        secret = world.of("AZOTH", "private").id
        public = world.owner.call(
            "post", content="an answer to something", agent="AZOTH", responding_to=[secret]
        )["id"]
        mine = keep(client, "the old crane is green")["id"]
        with pytest.raises(Refused):
            world.owner.call("supersede", old=mine, new=secret)

        for told in (
            client.call("memory", id=public),
            client.call("memory", id=mine),
            client.call("memory_changes", memory=mine),
            client.call("search", query="an answer to something", track=False),
            client.call("memories", limit=200, status="all"),
            say(client, "pin", {"id": mine}).told({}),
            say(client, "archive", {"ids": [mine]}).told({}),
        ):
            assert secret not in str(told)

    def test_names(self, world: World) -> None:
        """Of an agent that only another's private memory names nobody else learns."""
        hidden = world.of("AZOTH", "private").about
        assert world.client("AZOTH").call("agent", agent=hidden)
        error = say(world.client("VAJRA"), "agent", {"agent": hidden}).error
        never = say(world.client("VAJRA"), "agent", {"agent": "NEVER-MET"}).error

        assert isinstance(error, NotFound)
        assert str(never) == str(error).replace(hidden, "NEVER-MET")
