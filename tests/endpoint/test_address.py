from __future__ import annotations

from functools import partial

import pytest

from cortex_actors.embedding.openai import EMBEDDING
from cortex_actors.endpoint import replies
from cortex_actors.endpoint.replies import Use, find_host
from cortex_actors.errors import EndpointUnusable

#: A key that must be seen nowhere.
KEY = "sk-very-secret"

#: An endpoint for embeddings.
endpoint = partial(replies.read_endpoint, use=EMBEDDING)


class TestAddress:
    @pytest.mark.parametrize(
        ("given", "url", "host"),
        [
            ("", "https://api.openai.com/v1/embeddings", "api.openai.com"),
            (
                "http://localhost:11434/v1",
                "http://localhost:11434/v1/embeddings",
                "localhost:11434",
            ),
            ("http://h/v1/", "http://h/v1/embeddings", "h"),
            ("http://h", "http://h/embeddings", "h"),
            ("https://H.example:443/v1", "https://h.example/v1/embeddings", "h.example"),
            ("http://[::1]:8080/v1", "http://[::1]:8080/v1/embeddings", "[::1]:8080"),
        ],
    )
    def test_used(self, given: str, url: str, host: str) -> None:
        """An address is used as it is; host and unusual port name the vector space."""
        found = endpoint(given, "")

        assert (url, host, host) == (found.url, found.host, find_host(given))

    def test_named(self) -> None:
        """What it is asked for is where its address ends, and what errors call it."""
        chat = Use("judging", "judging", "chat/completions", "a chat API")
        found = replies.read_endpoint("http://h/v1", "", use=chat)

        assert "http://h/v1/chat/completions" == found.url
        assert "the judging endpoint h" == found.named
        with pytest.raises(EndpointUnusable, match=r"judging\.base_url"):
            replies.read_endpoint("h", "", use=chat)

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            ("ftp://h/v1", "write it like http://localhost"),
            ("file:///etc/passwd", "write it like http://localhost"),
            ("h/v1", "write it like http://localhost"),
            ("http://", "write it like http://localhost"),
            ("http://h:99999/v1", "write it like http://localhost"),
            ("http://h:0/v1", "write it like http://localhost"),
            ("http://[h/v1", "write it like http://localhost"),
            (f"https://user:{KEY}@h/v1", "name or password"),
            (f"https://{KEY}@h/v1", "name or password"),
            (f"https://h/v1?key={KEY}", "after [?]"),
            ("https://h/v1#x", "after [?]"),
        ],
    )
    def test_refused(self, given: str, reason: str) -> None:
        """Any other address is refused, with the mend, and without what it may hold of a key."""
        with pytest.raises(EndpointUnusable, match=reason) as caught:
            endpoint(given, "")

        assert "embedding.base_url" in str(caught.value)
        assert KEY not in str(caught.value)
        assert "?" == find_host(given)


class TestKey:
    @pytest.mark.parametrize(
        "given", ["https://h/v1", "http://localhost/v1", "http://127.0.0.2/v1", "http://[::1]/v1"]
    )
    def test_sent(self, given: str) -> None:
        """A key goes over TLS, or to this machine."""
        assert KEY == endpoint(given, KEY).key

    @pytest.mark.parametrize(
        "given", ["http://h/v1", "http://192.168.1.2/v1", "http://localhost.example/v1"]
    )
    def test_clear_text(self, given: str) -> None:
        """A key is never sent in clear text to another machine."""
        with pytest.raises(EndpointUnusable, match="use https") as caught:
            endpoint(given, KEY)
        assert KEY not in str(caught.value)

    @pytest.mark.parametrize("key", [f"{KEY}\n", f"{KEY} x", f"{KEY}é", f"{KEY}\r\nX-Evil: 1"])
    def test_characters(self, key: str) -> None:
        """A key that no header can carry is refused, and cannot smuggle in a header."""
        with pytest.raises(EndpointUnusable, match="cannot be sent") as caught:
            endpoint("https://h/v1", key)
        assert KEY not in str(caught.value)

    def test_not_shown(self) -> None:
        """The representation of an endpoint has no key in it."""
        assert KEY not in repr(endpoint("https://h/v1", KEY))
