"""The two spellings of where a store's token comes from."""

from __future__ import annotations

from cortex_actors.text.hazards import TOKEN_KEYS, normalise_token_keys


class TestPlain:
    def test_both(self) -> None:
        """Each key may begin with `bearer_`, and means the same."""
        for key in TOKEN_KEYS:
            assert (
                {key: "x"}
                == normalise_token_keys({f"bearer_{key}": "x"})
                == normalise_token_keys({key: "x"})
            )

    def test_which_wins(self) -> None:
        """Where both say something the short one holds, whichever stands first."""
        assert {"token_env": "A"} == normalise_token_keys(
            {"token_env": "A", "bearer_token_env": "B"}
        )
        assert {"token_env": "A"} == normalise_token_keys(
            {"bearer_token_env": "B", "token_env": "A"}
        )

    def test_empty(self) -> None:
        """One that says nothing does not hide the other."""
        assert {"token": "B"} == normalise_token_keys({"token": "", "bearer_token": "B"})
        assert {"token": "B"} == normalise_token_keys({"bearer_token": "B", "token": ""})

    def test_others(self) -> None:
        """What names no token is kept as it is, in its order."""
        entry = {"name": "a", "bearer_of_news": 1, "bearer_": 2, "url": "b"}

        assert list(entry.items()) == list(normalise_token_keys(entry).items())
