"""What a project chooses for itself: two projects that choose otherwise do not disagree.

One is built with npm and the other with pnpm, one runs on Python 3.11 and the other on 3.12; each
is right at home. How code is written, tested and reviewed is another matter: who keeps two projects
wants to know of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

#: Slots of tools, libraries and services (`tables/families.toml`).
CHOSEN: Final = frozenset(
    "js-package-manager js-runtime python-package-manager jvm-build-tool ruby-version-manager "
    "node-version-manager lockfile python-test-runner js-test-runner browser-test-runner "
    "react-components module-system python-formatter python-types js-formatter js-linter "
    "commit-hooks css state data-fetching http-client python-http-client js-orm database bundler "
    "validation dates task-runner hosting ci containers pr-base".split()
)

#: How slots begin that stand for the version of something, or for a number that is given for it.
GIVEN: Final = ("version of ", "port ", "default ")


def is_chosen(slot: str) -> bool:
    """Tell whether a slot is about what a project chooses for itself."""
    return slot in CHOSEN or slot.startswith(GIVEN)


def are_chosen(slots: Collection[str]) -> bool:
    """Tell whether there are slots, and all are about what a project chooses for itself."""
    return bool(slots) and all(map(is_chosen, slots))
