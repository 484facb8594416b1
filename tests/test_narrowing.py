"""What a question is narrowed to: one form for each condition, and a reason for each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from cortex_actors.api import parameters
from cortex_actors.domain.memory import Layer, MemoryType, Realm
from cortex_actors.errors import BadInput
from cortex_actors.storage.search.query import EVERYTHING, Past, Where
from cortex_actors.testing import EPOCH


class TestWhere:
    def test_nothing(self) -> None:
        """Without conditions everything is looked for, so that no filter is in the way."""
        assert EVERYTHING == parameters.make_where(now=EPOCH)

    def test_one_form(self) -> None:
        """Words are taken in any case, tags and agents in their one form, times as moments."""
        found = parameters.make_where(
            now=EPOCH,
            reader="VAJRA",
            layers=["Working", "cortex", "working"],
            realm="VILLAGE",
            agent="azoth",
            type="Fact",
            tags=["Deploy "],
            thread="talk",
            since="1h",
            until=EPOCH,
            min_attention=1,
        )

        assert found == Where(
            reader="VAJRA",
            layers=(Layer.WORKING, Layer.CORTEX),
            realm=Realm.VILLAGE,
            agent_id="AZOTH",
            types=(MemoryType.FACT,),
            tags=("deploy",),
            thread="talk",
            since=EPOCH - 3_600_000_000,
            until=EPOCH,
            attention=1.0,
        )

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"realm": "secret"}, "there is no realm 'secret'; there are private, village, bridge"),
            ({"layers": ["deep"]}, "no layer 'deep'; there are sensory, working, long_term, cor"),
            ({"layers": "working"}, "layers must be a list of words, not 'working'"),
            ({"layers": [5]}, "no layer 5"),
            ({"type": "poem"}, "no type 'poem'; there are fact, dialogue, observation"),
            ({"agent": "no one"}, "'no one' is no agent's id"),
            ({"tags": "x"}, "tags must be a list of words"),
            ({"thread": ""}, "'' names no thread"),
            ({"since": "soon"}, "since 'soon' is no moment"),
            ({"until": "soon"}, "until 'soon' is no moment"),
            ({"since": "1h", "until": "2h"}, "nothing lies between since"),
            ({"since": EPOCH, "until": EPOCH}, "nothing lies between since"),
            ({"min_attention": -0.1}, "a number from 0 to 1.5, not -0.1"),
            ({"min_attention": 1.6}, "from 0 to 1.5"),
            ({"min_attention": float("nan")}, "a number from 0 to 1.5, not nan"),
            ({"min_attention": "0.5"}, "a number from 0 to 1.5, not '0.5'"),
            ({"min_attention": True}, "a number from 0 to 1.5, not True"),
        ],
    )
    def test_refused(self, given: dict[str, Any], said: str) -> None:
        """What is none is refused, and the text says what there is instead."""
        with pytest.raises(BadInput) as refused:
            parameters.make_where(now=EPOCH, **given)

        assert said in str(refused.value)


class TestPast:
    def test_now(self) -> None:
        """Without a moment and without originals nothing of the past is looked for."""
        assert parameters.make_past(None, now=EPOCH) is None

    def test_both(self) -> None:
        """A moment, originals, or both."""
        assert Past(as_of=EPOCH) == parameters.make_past(EPOCH, now=EPOCH)
        assert Past(original=True) == parameters.make_past(None, now=EPOCH, original=True)
        assert Past(EPOCH - 60_000_000, original=True) == parameters.make_past(
            "1m", now=EPOCH, original=True
        )

    def test_ahead(self) -> None:
        """Nobody can be asked what will be believed."""
        with pytest.raises(BadInput, match="as_of is in the future"):
            parameters.make_past(EPOCH + 1, now=EPOCH)
