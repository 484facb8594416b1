from __future__ import annotations

import hashlib

import pytest

from cortex_actors.embedding.provider import MAX_LETTERS, hash_text, require_texts
from cortex_actors.errors import BadInput, Unembeddable


class TestRequireTexts:
    def test_any_unicode(self) -> None:
        """Everything that has a UTF-8 form may be embedded, even nothing."""
        require_texts(["", " ", "naïve", "\U0001f98a", "\0"])

    @pytest.mark.parametrize("text", [b"bytes", None, 7])
    def test_no_text(self, text: object) -> None:
        """What is not a string is refused by its number."""
        with pytest.raises(BadInput, match="text 2 "):
            require_texts(["fine", text])

    def test_half_a_pair(self) -> None:
        """Half a surrogate pair is refused before a model sees it."""
        with pytest.raises(BadInput, match="not valid Unicode at character 3"):
            require_texts(["ab\ud800"])

    def test_too_long(self) -> None:
        """A text that would fill a frame by itself is refused."""
        with pytest.raises(BadInput, match="split it"):
            require_texts(["x" * (MAX_LETTERS + 1)])

    def test_numbers(self) -> None:
        """The error has the numbers of all texts that must be left out, counted from 0."""
        with pytest.raises(Unembeddable, match="text 2 ") as caught:
            require_texts(["fine", "\ud800", "fine, too", None])
        assert (1, 3) == caught.value.numbers


class TestDigest:
    def test_utf8(self) -> None:
        """A text's key is the SHA-256 of its UTF-8 bytes."""
        assert hashlib.sha256(b"na\xc3\xafve").digest() == hash_text("naïve")
