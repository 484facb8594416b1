from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from cortex_actors.embedding.models import locate
from cortex_actors.embedding.tokens import WordPieces

if TYPE_CHECKING:
    from pathlib import Path

#: Examples of a property: each reads its text twice.
FEW = settings(max_examples=30)

#: Letters of several bytes, emphasis, and words that the tokeniser cuts.
TEXTS = st.text(alphabet="abé東🎉 .\n", max_size=200) | st.lists(
    st.sampled_from(["unaffable", "tests", "行う", "`make check`", "e-mail", "\n"]), max_size=80
).map(" ".join)


@pytest.fixture(scope="module")
def path() -> Path:
    """Give the default model's own tokeniser, whose file says: cut at 128 and fill up to it."""
    return locate("all-MiniLM-L6-v2").folder / "tokenizer.json"


@pytest.fixture(scope="module")
def tokens(path: Path) -> WordPieces:
    """Give it with a window of 16 tokens."""
    return WordPieces.load(path, 16)


def byte_level() -> Tokenizer:
    """Return a tokeniser of bytes that puts a space in front of every text."""
    alphabet = {letter: number for number, letter in enumerate(pre_tokenizers.ByteLevel.alphabet())}
    made = Tokenizer(models.BPE(vocab=alphabet, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.post_processor = processors.ByteLevel(trim_offsets=True)
    return made


class TestReading:
    def test_whole(self, tokens: WordPieces) -> None:
        """A text of one window is one piece: its tokens between the special ones, none filled."""
        [piece] = tokens.cut_texts(["hello world"])

        assert [101, 7592, 2088, 102] == list(piece.ids)
        assert (0, 2, "hello world") == (piece.owner, piece.weight, piece.text)

    def test_empty(self, tokens: WordPieces) -> None:
        """An empty text is a piece that counts for one token."""
        assert [(0, 1), (1, 1)] == [(p.owner, p.weight) for p in tokens.cut_texts(["", " "])]

    def test_count(self, tokens: WordPieces) -> None:
        """Tokens are counted to the end of the text, whatever the file says of cutting."""
        assert 402 == tokens.count("word " * 400)

    def test_no_file(self, tmp_path: Path) -> None:
        """A file that is no tokeniser is refused by its name."""
        (tmp_path / "tokenizer.json").write_text("[]")
        with pytest.raises(ValueError, match="tokenizer.json is not a tokeniser"):
            WordPieces.load(tmp_path / "tokenizer.json", 16)


class TestPieces:
    @FEW
    @given(text=TEXTS)
    def test_nothing_lost(self, tokens: WordPieces, text: str) -> None:
        """The pieces of a text join to it, and none is longer than the model reads."""
        pieces = tokens.cut_texts([text])

        assert text == "".join(piece.text for piece in pieces)
        assert all(len(piece.ids) <= 16 for piece in pieces)

    @FEW
    @given(words=st.lists(st.sampled_from(["tests", "unaffable", "x."]), max_size=80))
    def test_every_token_once(self, tokens: WordPieces, words: list[str]) -> None:
        """The pieces of a text of words have its tokens, each once and in order."""
        text = " ".join(words)
        [whole] = WordPieces(tokens._tokenizer, 10_000).cut_texts([text])
        pieces = tokens.cut_texts([text])

        assert list(whole.ids[1:-1]) == [token for piece in pieces for token in piece.ids[1:-1]]

    @FEW
    @given(text=TEXTS)
    def test_space_in_front(self, text: str) -> None:
        """A tokeniser that marks the start of a text is never given more than the model reads."""
        pieces = WordPieces(byte_level(), 8).cut_texts([text])

        assert text == "".join(piece.text for piece in pieces)
        assert all(len(piece.ids) <= 8 for piece in pieces)

    def test_owners(self, tokens: WordPieces) -> None:
        """Each piece names its text, in the order of the texts."""
        owners = [piece.owner for piece in tokens.cut_texts(["a", "word " * 30, "b"])]

        assert [0, 1, 1, 1, 2] == owners
