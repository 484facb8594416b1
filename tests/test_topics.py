from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cortex_actors import topics
from cortex_actors.domain import event as shape
from cortex_actors.errors import BadInput, UnknownTopic


class TestCatalogue:
    def test_names(self) -> None:
        """Every topic is called noun:state, and no two alike."""
        names = [topic.name for topic in topics.TOPICS]

        assert len(set(names)) == len(names)
        assert [] == [n for n in names if not re.fullmatch(r"[a-z]+:[a-z]+(-[a-z]+)*", n)]

    def test_constants(self) -> None:
        """Every constant names a topic of the catalogue, and every topic has one."""
        constants = {v for v in vars(topics).values() if isinstance(v, str) and ":" in v[:30]}
        names = {topic.name for topic in topics.TOPICS}

        assert names == {each for each in constants if re.fullmatch(r"[a-z]+:[a-z-]+", each)}

    def test_heard_is_durable(self) -> None:
        """Whoever is named as a consumer can rely on a row in the ledger."""
        assert [] == [t.name for t in topics.TOPICS if t.heard_by and not t.durable]

    def test_life_is_the_owners(self) -> None:
        """Nobody but the program says that an actor died or a run is complete."""
        own = [t.name for t in topics.TOPICS if t.name.startswith(("actor:", "daemon:"))]
        complete = [t.name for t in topics.TOPICS if t.name.endswith(":complete")]

        assert all(topics.find(name).owner_only for name in own + complete)

    def test_keys_are_fields(self) -> None:
        """What makes two events one is a field of their payload."""
        for topic in topics.TOPICS:
            assert set(topic.key or ()) <= set(topic.payload.__dataclass_fields__)

    def test_consumers(self) -> None:
        """The consumers are those that topics name, and no others."""
        assert {
            "accumulator",
            "reconciler",
            "organiser",
            "resolver",
            "custodian",
            "watchlist",
        } == topics.list_consumers()


class TestCustom:
    @pytest.mark.parametrize("name", ["custom:a", "custom:" + "a" * 64, "custom:deploy-2"])
    def test_found(self, name: str) -> None:
        """Another process may use any short name, and its events are kept."""
        assert name == topics.find(name).name
        assert topics.find(name).durable

    @pytest.mark.parametrize(
        "name",
        ["custom:", "custom:" + "a" * 65, "custom:A", "custom:a b", "custom:a\n", "CUSTOM:a", "x"],
    )
    def test_unknown(self, name: str) -> None:
        """Any other name is refused with a way to find the right one."""
        with pytest.raises(UnknownTopic, match="cortex debug topics"):
            topics.find(name)


class TestParse:
    def test_typed(self) -> None:
        """JSON fields become the topic's payload."""
        parsed = topics.parse(topics.FILE_CHANGED, {"project_id": "prj_1", "path": "/a"})

        assert shape.FileChanged("prj_1", "/a") == parsed

    def test_wrong(self) -> None:
        """A wrong field is an error that names topic and field."""
        with pytest.raises(BadInput, match="cannot publish file:changed: the field 'path'"):
            topics.parse(topics.FILE_CHANGED, {"project_id": "prj_1", "path": 3})


class TestKey:
    def test_alone(self) -> None:
        """Events of a topic without a key are handled one by one."""
        assert topics.compute_key(topics.PROJECT_ADDED, shape.Ids(("prj_1",))) is None

    def test_one_key(self) -> None:
        """Of a topic with one key all waiting events are one."""
        payloads = [shape.AccumulationComplete(f"run_{n}", f"prj_{n}") for n in range(3)]

        assert 1 == len(
            {topics.compute_key(topics.ACCUMULATION_COMPLETE, each) for each in payloads}
        )

    @example("a|b", "c", "a", "b|c")
    @given(st.text(max_size=8), st.text(max_size=8), st.text(max_size=8), st.text(max_size=8))
    def test_never_mixed_up(self, path: str, agent: str, path_2: str, agent_2: str) -> None:
        """Two events have one key exactly when the fields agree, whatever is in them."""
        keys = {
            topics.compute_key(topics.RESOLUTION_REQUESTED, shape.ResolutionRequested(*each))
            for each in ((path, agent), (path_2, agent_2))
        }

        assert ((path, agent) == (path_2, agent_2)) == (len(keys) == 1)
