"""Planning: which files a wish is about, each with the formatter that writes it."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

from cortex_actors.errors import BadInput
from cortex_actors.render import section
from cortex_actors.render.targets import PLACES, Left, Target, Targets, targets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cortex_actors.domain.principle import Wish
    from cortex_actors.domain.project import Project
    from cortex_actors.render.section import Formatter
    from cortex_actors.render.targets import Present


def plan(project: Project, wish: Wish, present: Iterable[Present]) -> Targets:
    """Return which files of a project are written for a wish, and which are left alone.

    Raises `NotFound` for an agent, and `BadInput` for a file, that nobody writes for.
    """
    relative = os.path.relpath(wish.path, project.root)
    if relative == ".":
        return targets(present, agent=wish.agent, create=wish.create)
    named = named_by(project, wish)
    found = targets(present, agent=named.formatter.name, create=wish.create)
    mine = tuple(each for each in found.write if each.path == relative)
    left = tuple(each for each in found.left if each.path == relative)
    if mine or left:
        return Targets(mine, () if mine else left)
    # Another file of the agent's comes first; the one that was named is written all the same.
    return Targets((named,))


def named_by(project: Project, wish: Wish) -> Target:
    """Return the file that a wish names, as one that is there; raises `NotFound`, `BadInput`."""
    relative = os.path.relpath(wish.path, project.root)
    return Target(relative, _formatter(wish.path, relative, wish.agent))


def refusal(project: Project, left: Left) -> str:
    """Return why a file was left alone, as a sentence."""
    return f"{posixpath.join(project.root, left.path)} {left.reason}"


def _formatter(path: str, relative: str, agent: str | None) -> Formatter:
    """Return who writes a file; raises `NotFound` and `BadInput`."""
    wanted = None if agent is None else section.find(agent)
    found = section.of_place(relative)
    if found is None:
        message = f"cannot resolve into {path}: {_nobodys(path, relative)}"
        raise BadInput(message)
    if wanted is not None and wanted is not found:
        message = (
            f"cannot resolve into {path} for {wanted.name}: it is read by {found.name}; leave "
            "--agent out, or give the project's root"
        )
        raise BadInput(message)
    return found


def _nobodys(path: str, relative: str) -> str:
    """Return why a file is written for nobody, and what to do about it."""
    if section.of_place(posixpath.basename(relative)) is None:
        return f"no agent reads it; there are {', '.join(PLACES)}"
    folder = posixpath.dirname(path)
    return f"it is not at its project's root; follow its folder by itself: cortex init {folder}"
