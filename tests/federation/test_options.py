from __future__ import annotations

import pytest

from cortex_actors.errors import StoreUnusable
from cortex_actors.federation.schema import Options
from cortex_actors.federation.store import StoreSpec


def options(*, known: str = "path flag", **given: object) -> Options:
    """Return the options of a store whose adapter knows some names."""
    return Options(StoreSpec("other", "mind", "http://127.0.0.1:1", options=given), known.split())


class TestNames:
    def test_unknown(self) -> None:
        """An option that nobody reads is refused, with those there are; its value is not shown."""
        with pytest.raises(StoreUnusable) as failure:
            options(bearer_tokn="hush", path="/x")

        assert "a store of type mind has no option 'bearer_tokn'; it knows flag, path" == str(
            failure.value
        )

    def test_none(self) -> None:
        """What is not given is what it is without, and so is null."""
        found = options(path=None, flag=None)

        assert ("/search", True) == (
            found.path("path", "/search"),
            found.flag("flag", default=True),
        )
        assert ("", False) == (options().words("path"), options().flag("flag", default=False))


class TestFlag:
    @pytest.mark.parametrize("value", ["no", 0, 1, "true", [], 0.0])
    def test_other(self, value: object) -> None:
        """A switch is true or false and nothing else."""
        with pytest.raises(StoreUnusable, match="flag of a store of type mind .* true or false"):
            options(flag=value).flag("flag", default=True)


class TestRefused:
    @pytest.mark.parametrize("read", ["words", "table", "listing", "choice", "flag", "path"])
    def test_value(self, read: str) -> None:
        """An option of another shape is named and its value is not: it may be a secret."""
        given = options(
            env={("KEY",): "s3cr3t"} if read == "table" else {"KEY": "s3cr3t"}, known="env"
        )
        more: dict[str, dict[str, object]] = {"flag": {"default": True}, "path": {"default": "/x"}}
        with pytest.raises(
            StoreUnusable, match="the option env of a store .* has to be"
        ) as failure:
            getattr(given, read)("env", **more.get(read, {}))

        assert "s3cr3t" not in str(failure.value)


class TestPath:
    @pytest.mark.parametrize("value", ["/search", "/v2/find", "/a-b/c_d/e.f~g", "/0"])
    def test_below(self, value: str) -> None:
        """A path is a path below the store's own address."""
        assert value == options(path=value).path("path", "/search")

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
            options(path=value).path("path", "/search")
