from __future__ import annotations

import pytest

from cortex_actors.errors import StoreUnusable
from cortex_actors.rules.addresses import Address, is_admitted, parse_address

#: What must be seen nowhere.
SECRET = "hunter2"


class TestAddress:
    @pytest.mark.parametrize(
        ("url", "found"),
        [
            ("http://127.0.0.1:7420", Address("http", "127.0.0.1", 7420)),
            ("http://127.0.0.1:7420/", Address("http", "127.0.0.1", 7420)),
            (" https://Nas.fritz.box/seren/ ", Address("https", "nas.fritz.box", 443, "/seren")),
            ("http://[::1]:8000/a/b", Address("http", "::1", 8000, "/a/b")),
            ("postgresql://db.example/m", Address("postgresql", "db.example", 5432, "/m")),
            ("http://2130706433", Address("http", "2130706433", 80)),
            ("stdio:", Address("stdio", "", 0)),
        ],
    )
    def test_taken_apart(self, url: str, found: Address) -> None:
        """An address is taken apart into what is connected to and where its paths begin."""
        assert found == parse_address(url)

    @pytest.mark.parametrize(
        ("url", "origin"),
        [
            ("http://127.0.0.1:7420/x", "http://127.0.0.1:7420"),
            ("https://h:443", "https://h"),
            ("http://[::1]:80", "http://[::1]"),
            ("stdio:", "stdio"),
        ],
    )
    def test_origin(self, url: str, origin: str) -> None:
        """Who is spoken to is shown without the scheme's own port."""
        assert origin == parse_address(url).origin

    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("", "write it like"),
            ("127.0.0.1:7420", "write it like"),
            ("ftp://h", "write it like"),
            ("file:///etc/passwd", "write it like"),
            ("gopher://h", "write it like"),
            ("http://", "write it like"),
            ("http://h:0", "write it like"),
            ("http://h:99999", "write it like"),
            (f"http://user:{SECRET}", "write it like"),
            ("http://[h", "write it like"),
            (f"http://user:{SECRET}@h", "name or password"),
            (f"http://{SECRET}@h", "name or password"),
            (f"http://h?key={SECRET}", "after [?]"),
            ("http://h/#x", "after [?]"),
            ("http://h/a b", "its path"),
            ("http://h/../admin", "its path"),
            ("http://h/a//b", "its path"),
            ("http://h/a\\b", "its path"),
            ("http://h\\@evil", "name or password"),
            ("http://ex ample", "its host"),
            ("http://exämple", "its host"),
            ("http://metadata.google.internal/computeMetadata", "credentials"),
        ],
    )
    def test_refused(self, url: str, reason: str) -> None:
        """Any other address is refused with the mend, and never repeated: it may hold a secret."""
        with pytest.raises(StoreUnusable, match=reason) as caught:
            parse_address(url)

        assert SECRET not in str(caught.value)


class TestAdmitted:
    def test_none(self) -> None:
        """Where no hosts are listed, every one is admitted that is not forbidden."""
        assert is_admitted(parse_address("http://anywhere"), ())

    @pytest.mark.parametrize("entry", ["NAS", "nas:7420"])
    def test_listed(self, entry: str) -> None:
        """A host is listed with its port or without."""
        assert is_admitted(parse_address("http://nas:7420"), ("other", entry))

    @pytest.mark.parametrize("entry", ["na", "nas:7421", "nas.evil"])
    def test_other(self, entry: str) -> None:
        """What is not listed to the letter is not admitted."""
        assert not is_admitted(parse_address("http://nas:7420"), (entry,))

    @pytest.mark.parametrize("entry", ["::1", "[::1]", "[::1]:7420"])
    def test_ipv6(self, entry: str) -> None:
        """An IPv6 address may be listed as it stands in an address."""
        assert is_admitted(parse_address("http://[::1]:7420"), (entry,))
