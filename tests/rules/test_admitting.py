"""What an agent says, before anything keeps it."""

from __future__ import annotations

import pytest

from cortex_actors.errors import BadInput, Refused
from cortex_actors.rules.admission import LONGEST, check_name, check_note, check_text

#: A key in the shape of an issuer's, and nobody's.
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class TestAdmitted:
    def test_plain(self) -> None:
        """A text is kept as it is, without the blanks around it."""
        assert "Redis is here.\n- so" == check_text("  Redis is here.\r\n- so\n")

    @pytest.mark.parametrize("content", ["", " \n", None, 7, "a\ud800b", "x" * (LONGEST + 1)])
    def test_bad(self, content: object) -> None:
        """What is no text, empty, half a character or too long is refused."""
        with pytest.raises(BadInput):
            check_text(content)

    def test_secret(self) -> None:
        """A secret is refused by its kind and place and never shown, or masked where wanted."""
        with pytest.raises(Refused, match="github-token") as caught:
            check_text(f"the token is {KEY}")

        assert KEY not in str(caught.value)
        assert "the token is [secret: github-token]" == check_text(
            f"the token is {KEY}", redact=True
        )

    def test_hidden(self) -> None:
        """What nobody sees is refused with its place, or written out where wanted."""
        with pytest.raises(Refused, match="line 2 at character 3"):
            check_text("one\ntw\u200bo")

        assert "tw\\u{200b}o" == check_text("tw\u200bo", redact=True)

    def test_split(self) -> None:
        """A secret with something inside that nobody sees is masked all the same."""
        split = f"use {KEY[:9]}\u200b{KEY[9:]}"

        assert "use [secret: github-token]" == check_text(split, redact=True)

    @pytest.mark.parametrize("said", [f"token: {KEY}", "tw\u200bo"])
    def test_no_mask(self, said: str) -> None:
        """Where nothing is masked, the error does not offer it; a blank note is none."""
        with pytest.raises(Refused, match="take it out$"):
            check_note(said)

        assert check_note(" ") is None


class TestNamed:
    def test_line(self) -> None:
        """A name is one line; none is none."""
        assert "a b" == check_name(" a \n b ", what="the thread", most=10)
        assert "" == check_name("  ", what="the thread", most=10)

    def test_long(self) -> None:
        """One that is too long is refused."""
        with pytest.raises(BadInput, match="the thread has 11"):
            check_name("x" * 11, what="the thread", most=10)
