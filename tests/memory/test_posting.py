"""Posting: what is admitted, what becomes of it, and which thread it joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.domain.memory import Layer, Memory, MemoryStatus, MemoryType, Realm
from cortex_actors.errors import BadInput, NotFound, Refused
from cortex_actors.memory.request import EXISTING, SAVED, Message, Posted, check_message, save_post
from cortex_actors.storage import memory_records
from cortex_actors.storage.memory import village
from cortex_actors.testing import EPOCH
from tests.storage.things import Tables, active_ids, in_memory, mem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.memory.request import RememberRequest

#: A key as an issuer shapes it, made up for this test.
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def tables() -> Iterator[Tables]:
    """Give the ledger's tables in memory."""
    with in_memory() as tables:
        yield tables


def wish(content: object = "x", agent: str = "A", **given: Any) -> RememberRequest:
    """Return what is kept of a post."""
    return check_message(Message(content, **given), agent=agent, caller=OWNER)


def post(tables: Tables, name: str, content: str = "x", **given: Any) -> Posted:
    """Keep a post under a name."""
    made = wish(content, **given)
    return tables.write(lambda c: save_post(c, made, memory_id=mem(name), at=EPOCH))


def one(tables: Tables, name: str) -> Memory:
    """Return a post."""
    return tables.read(lambda c: memory_records.read(c, [mem(name)], MemoryStatus))[mem(name)]


class TestAdmitted:
    def test_defaults(self, tables: Tables) -> None:
        """A post is dialogue in the village, to be found for some days, and says where it is."""
        shown = post(tables, "one").as_dict()
        found = one(tables, "one")

        assert (Realm.VILLAGE, MemoryType.DIALOGUE, Layer.WORKING) == (
            found.realm,
            found.type,
            found.layer,
        )
        assert f"Posted to village: {mem('one')}" == shown["message"]
        assert (SAVED, "cortex_village") == (shown["state"], shown["collection"])

    def test_normalised(self, tables: Tables) -> None:
        """Agents, tags, threads and words are kept in their one form, for filters [N-12]."""
        given: dict[str, Any] = {
            "tags": ["Deploy  Notes"],
            "thread": " a  b ",
            "related_agents": ["vajra"],
        }
        post(tables, "one", **given, realm="Village", type="FACT")
        found = one(tables, "one")

        assert (("deploy notes",), "a b", ("VAJRA",), MemoryType.FACT) == (
            found.tags,
            found.thread,
            found.related,
            found.type,
        )

    @pytest.mark.parametrize(
        "given",
        [
            {"content": ""},
            {"content": "  "},
            {"content": "x" * 65_537},
            {"content": None},
            {"realm": "nowhere"},
            {"realm": None},
            {"type": "BOGUS"},
            {"tags": "x"},
            {"tags": ["x" * 65]},
            {"related_agents": ["?"]},
            {"related_agents": [f"A{n}" for n in range(33)]},
            {"responding_to": [1]},
            {"responding_to": "x"},
            {"thread": "x" * 257},
            {"thread": 3},
            {"realm": "bridge"},
            {"realm": "bridge", "related_agents": ["A"]},
        ],
    )
    def test_refused(self, given: dict[str, Any]) -> None:
        """No text, a word that nobody knows, and a bridge to nobody are refused [N-12]."""
        with pytest.raises(BadInput):
            wish(**given)

    def test_secret(self) -> None:
        """A secret refuses the post, or is masked where that is wanted."""
        with pytest.raises(Refused, match="github-token"):
            wish(f"the key is {KEY}")

        assert "the key is [secret: github-token]" == wish(f"the key is {KEY}", redact=True).text

    def test_token(self, tables: Tables) -> None:
        """Who had it posted is kept beside whose it is."""
        made = check_message(Message("x"), agent="VAJRA", caller=Caller("VAJRA"))
        tables.write(lambda c: save_post(c, made, memory_id=mem("one"), at=EPOCH))
        post(tables, "two")

        assert ["VAJRA", "owner"] == [one(tables, name).saved_by for name in ("one", "two")]


class TestKept:
    def test_dialogue(self, tables: Tables) -> None:
        """The same may be said again in a conversation."""
        assert SAVED == post(tables, "one", "Agreed.").state
        assert SAVED == post(tables, "two", "Agreed.").state

    def test_fact(self, tables: Tables) -> None:
        """A fact that an agent has stated there is known; another agent's is its own."""
        post(tables, "one", type="fact", thread="t")
        again = post(tables, "two", type="fact", thread="t")

        assert (EXISTING, mem("one")) == (again.state, again.id)
        assert SAVED == post(tables, "two", type="fact", thread="t", agent="B").state
        assert SAVED == post(tables, "three", type="fact", thread="u").state
        assert SAVED == post(tables, "four", type="fact", thread="t", project_id="prj_x").state

    def test_never_merged(self, tables: Tables) -> None:
        """A voice of the village is never made one with another; elsewhere a fact may be."""
        for realm in Realm:
            post(tables, realm, realm=realm, type="fact", related_agents=["B"])

        assert {"village": False, "bridge": True, "private": True} == {
            str(realm): one(tables, realm).merge_due for realm in Realm
        }

    def test_compared(self, tables: Tables) -> None:
        """What others may read waits to be compared, what is private does not; all is believed."""
        for realm in Realm:
            post(tables, realm, realm=realm, related_agents=["B"])

        due = tables.rows("SELECT memory_id FROM posts_due ORDER BY memory_id")
        assert sorted([(mem("bridge"),), (mem("village"),)]) == due
        assert 2 == tables.read(village.count_waiting)
        assert [(3,)] == tables.rows("SELECT count(*) FROM beliefs WHERE ended_at IS NULL")


class TestReplies:
    def test_joins(self, tables: Tables) -> None:
        """An answer joins the thread of what it answers, unless it names its own."""
        post(tables, "one", thread="t")
        post(tables, "two", "y", responding_to=[f"#{mem('one')}"])
        post(tables, "three", "z", responding_to=[mem("one")], thread="u")

        assert [("t", (mem("one"),)), ("u", (mem("one"),))] == [
            (found.thread, found.replies_to) for found in (one(tables, "two"), one(tables, "three"))
        ]

    def test_other_bridge(self, tables: Tables) -> None:
        """An answer that others may read does not tell them the name of a bridge's thread."""
        post(tables, "one", thread="t", realm="bridge", related_agents=["B", "C"])
        answer = {"agent": "B", "realm": "bridge", "responding_to": [mem("one")]}
        post(tables, "two", "y", related_agents=["A"], **answer)
        post(tables, "three", "z", related_agents=["A", "D"], **answer)

        assert ["t", ""] == [one(tables, name).thread for name in ("two", "three")]

    def test_unreadable(self, tables: Tables) -> None:
        """What one may not read cannot be answered: it is not there, as an unknown id is not."""
        post(tables, "secret", realm="private")
        texts = []
        for name in ("secret", "unknown"):
            with pytest.raises(NotFound) as caught:
                post(tables, "two", agent="B", responding_to=[mem(name)])
            texts.append(str(caught.value).replace(mem(name), "ID"))

        assert texts[0] == texts[1]
        assert 1 == len(tables.read(active_ids))
