from __future__ import annotations

from typing import Literal

import pytest
from pydantic import Field

from cortex_actors.errors import StoreUnusable
from cortex_actors.federation.schema import Below, Flag, Listing, StoreOptions, Table, Words
from cortex_actors.federation.store import StoreSpec


class MindOptions(StoreOptions):
    """One option of each kind."""

    path: Below = "/search"
    flag: Flag = True
    words: Words = ""
    table: Table = Field({})
    listing: Listing = ()
    choice: Literal["one", "two"] = "one"


def options(**given: object) -> MindOptions:
    """Return the options of a store whose adapter knows some names."""
    return MindOptions.from_fields(StoreSpec("other", "mind", "http://127.0.0.1:1", options=given))


class TestNames:
    def test_unknown(self) -> None:
        """An option that nobody reads is refused, with those there are; its value is not shown."""
        with pytest.raises(StoreUnusable) as failure:
            options(bearer_tokn="hush", path="/x")

        assert (
            "a store of type mind has no option 'bearer_tokn'; "
            "it knows choice, flag, listing, path, table, words"
        ) == str(failure.value)

    def test_none(self) -> None:
        """What is not given is what it is without, and so is null."""
        found = options(path=None, flag=None, words=None)

        assert options() == found
        assert ("/search", True, "") == (found.path, found.flag, found.words)


class TestFlag:
    @pytest.mark.parametrize("value", ["no", 0, 1, "true", [], 0.0])
    def test_other(self, value: object) -> None:
        """A switch is true or false and nothing else."""
        with pytest.raises(StoreUnusable, match="flag of a store of type mind .* true or false"):
            options(flag=value)


class TestRefused:
    @pytest.mark.parametrize("name", ["words", "table", "listing", "choice", "flag", "path"])
    def test_value(self, name: str) -> None:
        """An option of another shape is named and its value is not: it may be a secret."""
        given = {("KEY",): "s3cr3t"} if name == "table" else {"KEY": "s3cr3t"}
        with pytest.raises(
            StoreUnusable, match=f"the option {name} of a store .* has to be"
        ) as failure:
            options(**{name: given})

        assert "s3cr3t" not in str(failure.value)

    def test_choice(self) -> None:
        """One of some words is asked for by all of them."""
        with pytest.raises(StoreUnusable, match="has to be one of one, two$"):
            options(choice="three")

    @pytest.mark.parametrize("value", ["", "  ", "a\nb", "a\n", 5])
    def test_line(self, value: object) -> None:
        """A text has one line and something on it."""
        with pytest.raises(StoreUnusable, match="has to be a text of one line$"):
            options(words=value)


class TestPath:
    @pytest.mark.parametrize("value", ["/search", "/v2/find", "/a-b/c_d/e.f~g", "/0"])
    def test_below(self, value: str) -> None:
        """A path is a path below the store's own address."""
        assert value == options(path=value).path

    @pytest.mark.parametrize(
        "value",
        [
            "search",
            "/",
            "/a/",
            "@evil.example/search",
            ".evil.example/x",
            ":81/x",
            "//evil.example",
            "\\evil",
            "/a/../b",
            "/./a",
            "/%2e%2e/x",
            "/a?b=c",
            "/a#b",
            "/a b",
            "/a\r\nX-Other: y",
            "/a\n",
            "/\u00e4",
            5,
            ["/a"],
        ],
    )
    def test_elsewhere(self, value: object) -> None:
        """What could lead to another host, or out of the address, is none."""
        with pytest.raises(StoreUnusable, match="has to be a path such as /search"):
            options(path=value)
