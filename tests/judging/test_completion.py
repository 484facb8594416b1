from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_actors.endpoint.replies import HttpReply, read_endpoint
from cortex_actors.errors import BadInput, EndpointDown
from cortex_actors.judging import chat
from cortex_actors.judging.chat import CHAT, FORMATS, make_request, read_completion
from cortex_actors.judging.layer import QuestionKind
from tests.judging.support import SAME, says

#: Where the answers come from.
PLACE = read_endpoint("http://localhost/v1", "", use=CHAT)

#: Any JSON, of the words that mean something here more often than of others.
WORDS = st.sampled_from(
    ["choices", "message", "content", "finish_reason", "usage", "error", "relation", "result"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS
ANY = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(WORDS, below, max_size=2),
    max_leaves=5,
)


def told(body: bytes, kind: QuestionKind = QuestionKind.COMPARE) -> Any:
    """Return what is made of a body."""
    return read_completion(HttpReply(200, "application/json", body), kind=kind, endpoint=PLACE)


class TestCompleted:
    @settings(max_examples=50)
    @given(ANY, st.sampled_from(QuestionKind))
    def test_any_document(self, document: object, kind: QuestionKind) -> None:
        """Whatever JSON a server sends, it is an answer of the shape, or an error we know."""
        try:
            found = told(json.dumps(document).encode(), kind)
        except (EndpointDown, BadInput):
            return
        assert chat.accepts(kind, found.answer)

    @settings(max_examples=50)
    @given(ANY, st.sampled_from(QuestionKind))
    def test_any_content(self, content: object, kind: QuestionKind) -> None:
        """Whatever JSON a model writes, it is an answer of the shape, or an error we know."""
        try:
            found = told(says(content).body, kind)
        except (EndpointDown, BadInput):
            return
        assert chat.accepts(kind, found.answer)

    def test_tokens(self) -> None:
        """The tokens of question and answer are the server's own count."""
        found = told(says(SAME).body)

        assert (SAME, 100, 10) == (found.answer, found.read, found.written)


class TestRequest:
    @pytest.mark.parametrize("form", FORMATS)
    def test_forms(self, form: str) -> None:
        """Each form asks for the same in the words, and for JSON as strictly as its name says."""
        sent = make_request("m", QuestionKind.COMPARE, "{}", form=form, tokens=64)

        assert "confidence" in sent["messages"][0]["content"]
        assert (form != "text") == ("response_format" in sent)
        assert form == sent.get("response_format", {"type": "text"})["type"]
