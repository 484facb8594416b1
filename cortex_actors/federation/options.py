"""What only one kind of store understands of its description: checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Collection

    from cortex_actors.federation.spec import StoreSpec

#: Characters of an option's name that an error shows; a person knows it again by its beginning.
SHOWN = 60

#: A path below a store's own address. Whatever could lead to another host or out of the address
#: (`@evil.example`, `//evil.example`, `/../admin`, `?a=b`) is none.
_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+\Z")


class Options:
    """The options of one store's description, which may name only those its adapter knows.

    Raises `StoreUnusable` for one that nobody reads, because a misspelt option would be obeyed by
    nobody and noticed by nobody, and for a value that means nothing.
    """

    def __init__(self, spec: StoreSpec, known: Collection[str]) -> None:
        """Check the names."""
        self._named = f"a store of type {spec.type}"
        self._given = dict(spec.options)
        unknown = sorted(repr(str(name)[:SHOWN]) for name in self._given if name not in known)
        if unknown:
            raise StoreUnusable(
                f"{self._named} has no option {_listed(unknown)}; it knows {_listed(sorted(known))}"
            )

    def flag(self, name: str, *, default: bool) -> bool:
        """Return what is switched on or off."""
        value = self._given.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._bad(name, "true or false")
        return value

    def words(self, name: str, default: str = "") -> str:
        """Return a text of one line."""
        value = self._given.get(name)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise self._bad(name, "a text of one line")
        return value.strip()

    def required(self, name: str) -> str:
        """Return a text of one line that has to be there."""
        found = self.words(name)
        if not found:
            raise StoreUnusable(f"{self._named} needs the option {name}; set options.{name}")
        return found

    def choice(self, name: str, *allowed: str) -> str:
        """Return one of some words; the first of them where none is given."""
        value = self._given.get(name)
        if value is None:
            return allowed[0]
        if value not in allowed:
            raise self._bad(name, f"one of {_listed(allowed)}")
        return str(value)

    def table(self, name: str) -> dict[str, Any]:
        """Return names and values; none where there are none."""
        value = self._given.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise self._bad(name, "a table of names and values")
        return dict(value)

    def listing(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self._given.get(name, ())
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self._bad(name, "a list of texts")
        if not all(isinstance(each, str) for each in value):
            raise self._bad(name, "a list of texts")
        return tuple(value)

    def path(self, name: str, default: str) -> str:
        """Return where below the store's address something is asked."""
        value = self._given.get(name)
        if value is None:
            return default
        if not isinstance(value, str) or not _PATH.match(value):
            raise self._bad(name, f"a path such as {default}")
        return value

    def _bad(self, name: str, wanted: str) -> StoreUnusable:
        """Return what is wrong with an option, without its value: it may be a secret."""
        return StoreUnusable(f"the option {name} of {self._named} has to be {wanted}")


def _listed(names: Collection[str]) -> str:
    """Return names as a sentence holds them."""
    return ", ".join(names) or "none"
