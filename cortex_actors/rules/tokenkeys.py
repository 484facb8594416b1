"""How a store's description names the token that the store wants: two spellings, one meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Where a token comes from, in the order in which they win.
TOKEN_KEYS: Final = ("token", "token_keyring", "token_env")

#: What the other spelling begins with.
BEARER: Final = "bearer_"


def plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description that says `token...` for every `bearer_token...`.

    Where both are given and `token...` says something, that one holds. Everything else is kept as
    it is, in its order.
    """
    found: dict[str, Any] = {}
    for key, value in entry.items():
        name = _plain(key)
        # A spelling that says nothing leaves the word to the other one.
        if name == key and not value and f"{BEARER}{key}" in entry:
            continue
        if name == key or not entry.get(name):
            found[name] = value
    return found


def _plain(key: str) -> str:
    """Return the name under which a key is understood."""
    name = key.removeprefix(BEARER)
    return name if name in TOKEN_KEYS else key
