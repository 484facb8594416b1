from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.text.lexicon import MOST, read_wording, stem


def _texts(text: str) -> list[str]:
    return [word.text for word in read_wording(text).words if word.is_word]


class TestMarkup:
    @pytest.mark.parametrize(
        ("text", "plain"),
        [
            ("**Never** use _tabs_", "never use tabs"),
            ("See [the guide](docs/a.md)", "see the guide"),
            ("Don\u2019t", "do not"),
            ("can't", "can not"),
            ("coverage \u2265 80%", "coverage at least 80%"),
            ("end-to-end tests", "e2e tests"),
        ],
    )
    def test_is_left_out(self, text: str, plain: str) -> None:
        """Markup and other ways to write the same are gone; snake_case keeps its underscore."""
        assert plain == read_wording(text).plain
        assert "snake_case" == read_wording("snake_case").plain

    def test_code(self) -> None:
        """What stands in backticks is code, each span by itself."""
        words = read_wording("Use `uv run pytest`, not `pip`").words
        assert {"uv": 1, "run": 1, "pytest": 1, "pip": 2} == {
            w.text: w.code for w in words if w.code
        }

    def test_names(self) -> None:
        """A capital within a sentence is a name; at its beginning, or throughout, it is not."""
        words = {
            word.text: word.proper for word in read_wording("Use Redux. NEVER use GitHub").words
        }
        assert {"redux": True, "github": True, "never": False} == {
            each: words[each] for each in ("redux", "github", "never")
        }
        assert words["use"] is False


class TestStem:
    @pytest.mark.parametrize(
        "forms",
        [
            "test tests tested testing",
            "commit commits committed",
            "create creates creating",
            "use uses",
        ],
    )
    def test_forms_meet(self, forms: str) -> None:
        """The forms of a word have one stem."""
        assert 1 == len({stem(each) for each in forms.split()})

    @pytest.mark.parametrize(
        ("one", "other"), [("class", "clang"), ("test", "text"), ("go", "good")]
    )
    def test_words_stay_apart(self, one: str, other: str) -> None:
        """Different words keep different stems."""
        assert stem(one) != stem(other)


class TestAnyText:
    @given(st.text(max_size=300))
    def test_places(self, text: str) -> None:
        """Whatever the text, each word stands where it says in the plain text."""
        said = read_wording(text)
        assert all(said.plain[word.start : word.end] == word.text for word in said.words)

    def test_length(self) -> None:
        """Only the beginning of a page is read."""
        assert read_wording("word " * MOST).plain == read_wording("word " * 2 * MOST).plain
        assert 1 == len(_texts("x" * 3 * MOST))
