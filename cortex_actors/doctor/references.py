r"""References of instruction files that lead nowhere: paths, package scripts and make targets.

Only what is sure is reported, because a false alarm costs more than a miss. A path is the project's
own if it is a link or an import, or if it names a file by its ending (or a folder by a final slash)
below a folder that exists. It may begin at any folder of the project, as texts about one package
name it. Left out is what the text is about to create, generates, forbids or shows as an example,
what git ignores, what lies in a submodule, and what holds a placeholder. Targets and scripts are
looked up in all makefiles and `package.json` together; `just`, `task`, `deno` and the like are not
read. A Windows path is no reference: `src\app.ts` may be an escape.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from cortex_actors.files.ignores import Ignores
from cortex_actors.text.markdown import Kind, Trail, heading, kinds, lines
from cortex_actors.text.sections import imports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Files and folders of a project at most: of a larger one no reference is reported.
MOST = 200_000

#: Characters that are read of a makefile, a `package.json` or `.gitmodules`.
LARGEST = 1 << 20

#: Makefiles by name; others by their ending.
_MAKEFILES: Final = frozenset({"Makefile", "makefile", "GNUmakefile"})

#: Files from which makefiles are generated: then no target is known to be missing.
_GENERATORS: Final = frozenset(
    "CMakeLists.txt configure configure.ac configure.in Makefile.in Makefile.am meson.build "
    "Makefile.PL premake5.lua Kbuild".split()
)

#: Languages of fences that hold what people type.
_SHELLS: Final = frozenset("bash console fish shell shell-session sh terminal zsh".split()) | {""}

#: Words near a reference by which it need not exist here, and words of headings above it.
_HYPOTHETICAL = re.compile(
    r"\b(?:creat|generat|renam|delet|remov|deprecat|scaffold|gitignore|replac|mov|bootstrap"
    r"|download|clon|compil|propos|suppos|plann|produc|emit|optional|former|previous)\w*"
    r"|\b(?:legacy|obsolete|future|todo|examples?|instance|e\.g|such as|similar to|like this"
    r"|outputs?|writes?|written|saved?|stored?|missing|used to|will be|instead of|without|no longer"
    r"|upstream|external|separate|sibling|another|other (?:repo\w*|projects?)|add an?|naming|named"
    r"|new (?:file|folder|directory|module|page|component|test|package|skill)s?|pattern"
    r"|(?:if|when|where) (?:it|they|you|there|present|available|any|needed)"
    r"|(?:do(?:es)? not|don't|doesn't) (?:exist|have)|(?:is|are)(?:n't| not) there)\b",
    re.IGNORECASE,
)
_ABOVE = re.compile(
    r"\b(?:creat|add|generat|scaffold|migrat|deprecat|remov|propos|plann|future|roadmap|todo"
    r"|example|template|legacy|output|new|upstream|troubleshoot|histor|changelog)\w*",
    re.IGNORECASE,
)

#: Names that stand for others, and folders and files that tools and people make for themselves.
_PLACEHOLDER = re.compile(
    r"(?i:(?:^|[/._-])(?:x{2,}|n{2,}|y{4}|foo|bar|baz|qux|your|example|sample|dummy|my|some|any"
    r"|name|path|file|feature|component|module|package|topic|slug|id|timestamp|date"
    r"|generated|__generated__|gen|outputs?|out|tmp|temp|logs?|cache|coverage|artifacts|results"
    r"|downloads|uploads|local|secrets?|env|credentials)(?=[/._-]|$))"
    r"|(?:^|/)(?:My|Your|Foo|Bar|Example|Sample|Some|Xxx)(?=[A-Z./_-]|$)|[A-Z]{2}_[A-Z]|\.\.\."
)

_CODE = re.compile(r"(`+)([^`]+)\1")
_LINK = re.compile(r"(?<!!)\[[^\[\]]*\]\(<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_PATH = re.compile(r"(?:\.{1,2}/)*[\w.][\w.@+-]*(?:/[\w.@+-]+)+/?")

#: What follows a path: a line, a part of a page, a test.
_BEHIND = re.compile(r"(?::{1,2}[\w:.,()\[\] -]*|[#?].*)$")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|/|#|~", re.IGNORECASE)
_UP = re.compile(r"^(?:\.{1,2}/)+")
_ENDING = re.compile(r"\.[A-Za-z]\w{0,7}$")

#: Words about addresses, branches and names, which look like folders.
_ADDRESSES = re.compile(
    r"\b(?:GET|POST|PUT|PATCH|DELETE|[Ee]ndpoints?|[Rr]outes?|URLs?|[Bb]ranch\w*)\b"
)

_FENCE = re.compile(r"[\s>]*(?:[-*+]\s+)?(?:`{3,}|~{3,})\s*\{?\.?([\w-]*)")
_ELSEWHERE = re.compile(
    r"\bgit clone\b|\bcd (?:\.\.|~|/|\$)|\b(?:npm|pnpm|yarn|bun) (?:create|init)\b|\bnpx "
)
_STEPS = re.compile(r"&&|\|\||[;|]")
_FRONT = r"\s*(?:\$ |> |% )?(?:(?:sudo|time|CI=\S+|[A-Z_]+=\S+)\s+)*"
_SCRIPT = re.compile(
    rf"{_FRONT}(npm|pnpm|yarn|bun)(?:\s+--?[\w-]+(?:[= ][\w@./-]+)?)*\s+run\s+"
    r"([\w][\w:-]*)(?![\w:.*/<{$\[-])(?!.*--if-present)"
)
_MAKE = re.compile(rf"{_FRONT}make\s+(?:[A-Z_]+=\S+\s+)*([a-zA-Z_][\w-]*)(?![\w.*/<{{$%=\[-])")
_TARGET = re.compile(r"^([^\s#:=][^#:=]*?)\s*&?::?(?![:=])")
_INCLUDE = re.compile(r"^[-s]?include\s+(.+)$", re.MULTILINE)

#: Scripts by names that no dependency has as a program.
_USUAL: Final = frozenset(
    "build check clean deploy dev e2e fix format generate lint migrate preview release seed serve "
    "start test typecheck type-check watch".split()
)

#: Sources that are named by the ending of what they are compiled to.
_SOURCES: Final = {"js": ("ts", "tsx", "jsx"), "jsx": ("tsx",), "mjs": ("mts",), "cjs": ("cts",)}


@dataclass(frozen=True, slots=True)
class Lost:
    """A reference to what is not there: its line (from 1), its name, and why in a few words."""

    line: int
    name: str
    why: str


class Checkout:
    """What the folder of a project holds, without what git ignores; paths are relative to it."""

    def __init__(self, root: str) -> None:
        """Look at everything below a folder. Blocks."""
        self.root = root
        self.files: set[str] = set()
        self.folders: set[str] = set()
        self._ignores = Ignores(root)
        self._ignores.begin()
        for folder, names, inside in os.walk(root):
            if not self._ignores.enters(folder, inside) or not self.is_whole:
                names.clear()
                continue
            names[:] = [
                each for each in names if not self._ignores.leaves_out(posixpath.join(folder, each))
            ]
            place = posixpath.relpath(folder, root)
            prefix = "" if place == "." else f"{place}/"
            self.files.update(f"{prefix}{each}" for each in inside)
            self.folders.update(f"{prefix}{each}" for each in names)

    @property
    def is_whole(self) -> bool:
        """Whether all there is was looked at."""
        return len(self.files) + len(self.folders) <= MOST

    @cached_property
    def scripts(self) -> frozenset[str] | None:
        """Scripts and dependencies of all `package.json`; None where one of these is no JSON."""
        found: set[str] = set()
        for path in self._named("package.json"):
            try:
                package: Any = json.loads(self._text(path))
                for each in ("scripts", "dependencies", "devDependencies"):
                    found.update(package.get(each) or {})
            except (ValueError, AttributeError, TypeError):
                return None
        return frozenset(found)

    @cached_property
    def targets(self) -> re.Pattern[str] | None:
        """What matches the targets of every makefile; None where their text does not say all."""
        if self._modules or not _GENERATORS.isdisjoint(self._last):
            return None
        found = []
        for path in self.files:
            name = path.rpartition("/")[2]
            if name not in _MAKEFILES and not name.endswith((".mk", ".make")):
                continue
            text = self._text(path)
            wanted = [each for found in _INCLUDE.findall(text) for each in found.split()]
            if "$(eval" in text or not all(
                each.rpartition("/")[2] in self._last for each in wanted
            ):
                return None
            rules = filter(None, map(_TARGET.match, text.splitlines()))
            found += [each for rule in rules for each in rule[1].split()]
        # What a variable or a pattern stands for may be anything.
        parts = (re.split(r"\$[({][^)}]*[)}]|\$.|%", each) for each in dict.fromkeys(found))
        return re.compile("|".join(".*".join(map(re.escape, each)) for each in parts) or "(?!)")

    def holds(self, path: str, *, beside: str) -> bool:
        """Tell whether a path names something here; `beside` is the folder of who says it."""
        wanted = path.rstrip("/")
        for base in (beside, ""):
            if posixpath.lexists(posixpath.join(self.root, base, wanted)):
                return True
        plain = _UP.sub("", wanted)
        stem, _, ending = plain.rpartition(".")
        forms = {plain, *(f"{stem}.{each}" for each in _SOURCES.get(ending, ()))}
        return any(
            f"/{known}".endswith(f"/{form}") or f"/{known}".rsplit(".", 1)[0].endswith(f"/{form}")
            for form in forms
            for known in self._last.get(form.rpartition("/")[2].split(".", 1)[0], ())
        )

    def owns(self, path: str, *, beside: str) -> bool:
        """Tell whether a path begins at a folder of this project, and no command makes it."""
        first = _UP.sub("", path).split("/", 1)[0]
        return first in self.folders or posixpath.join(beside, first) in self.folders

    def leaves_out(self, path: str, *, beside: str) -> bool:
        """Tell whether git ignores a path, or would; or whether it lies elsewhere."""
        for base in (beside, ""):
            whole = posixpath.normpath(posixpath.join(base, path))
            if whole.startswith("..") or f"{whole}/".startswith(self._modules):
                return True
            place = self.root
            for part in whole.split("/"):
                place = posixpath.join(place, part)
                if self._ignores.leaves_out(place):
                    return True
        return False

    def nearest(self, path: str) -> str:
        """Return the only other path with the last part of one; "" for none, or several."""
        name = path.rstrip("/").rpartition("/")[2]
        known = self._last.get(name.split(".", 1)[0], ())
        found = [each for each in known if each.rpartition("/")[2] == name]
        return found[0] if len(found) == 1 else ""

    @cached_property
    def _last(self) -> dict[str, list[str]]:
        """Name of a file or a folder, whole and up to its first dot -> the paths."""
        found: dict[str, list[str]] = {}
        for path in (*self.files, *self.folders):
            name = path.rpartition("/")[2]
            for each in {name, name.split(".", 1)[0]}:
                found.setdefault(each, []).append(path)
        return found

    @cached_property
    def _modules(self) -> tuple[str, ...]:
        """The folders of submodules, which may be empty here."""
        text = self._text(".gitmodules") if ".gitmodules" in self.files else ""
        return tuple(f"{each}/" for each in re.findall(r"(?m)^\s*path\s*=\s*(\S+)", text))

    def _named(self, name: str) -> Iterable[str]:
        """Return the files of that name."""
        return (each for each in self._last.get(name, ()) if each in self.files)

    def _text(self, path: str) -> str:
        """Return the beginning of a file; nothing of one that cannot be read."""
        try:
            with Path(self.root, path).open(encoding="utf-8", errors="replace") as opened:
                return opened.read(LARGEST)
        except OSError:
            return ""


def lost(data: bytes, path: str, *, checkout: Checkout) -> list[Lost]:
    """Return what a file names and its project does not have, in the order of its lines.

    `path` is relative to the checkout's root. Raises `NotText`, `FileTooLarge`.
    """
    text = lines(data, path=path)
    reader = _Reader(checkout, posixpath.dirname(path))
    found: dict[tuple[int, str], Lost] = {}
    for number, (line, kind) in enumerate(zip(text, kinds(text), strict=True), start=1):
        for name, why in reader.read(line.text, kind):
            found.setdefault((number, name), Lost(number, name, why))
    return list(found.values()) if checkout.is_whole else []


class _Reader:
    """Where a reader stands: below which heading and lead-in, in which fence."""

    def __init__(self, checkout: Checkout, beside: str) -> None:
        self._checkout, self._beside = checkout, beside
        self._trail = Trail()
        self._lead = ""
        #: The language of the fence that a line stands in, if people type it; None outside.
        self._language: str | None = None

    def read(self, text: str, kind: Kind) -> Iterator[tuple[str, str]]:
        """Yield what a line names and is not there, with what is wrong."""
        if kind is Kind.OPAQUE:
            if self._language in _SHELLS:
                yield from self._typed(text)
            return
        fence = _FENCE.match(text)
        self._language = fence[1].lower() if fence and kind is Kind.TEXT else None
        if fence or kind is not Kind.TEXT:
            return
        self._come_to(text)
        for name in imports([text]) if "@" in text else ():
            if name.endswith(".md") or self._checkout.owns(name, beside=self._beside):
                yield from self._path(name)
        if not self._is_hypothetical(text):
            yield from self._named(text)

    def _come_to(self, text: str) -> None:
        """Take a line as what those below it are under, if it is a heading or a lead-in."""
        if found := heading(text):
            self._trail.enter(found)
            self._lead = ""
        elif text.rstrip(" *_").endswith(":"):
            self._lead = text
        elif text[:1].isalpha():
            self._lead = ""

    def _is_hypothetical(self, text: str) -> bool:
        """Tell whether what a line names need not be there, by its words or those above it."""
        said = (_CODE.sub("`", each) for each in (self._lead, text))
        return any(map(_HYPOTHETICAL.search, said)) or any(map(_ABOVE.search, self._trail.texts))

    def _typed(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield what a line of a fence runs that is not there."""
        if _ELSEWHERE.search(text):
            # What follows is typed in another folder.
            self._language = "elsewhere"
        elif not self._is_hypothetical(""):
            yield from self._commands(text.split("#", 1)[0])

    def _named(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the paths and commands that a line of text names."""
        for _, code in _CODE.findall(text):
            yield from self._commands(code)
            name = _BEHIND.sub("", code)
            if not _PATH.fullmatch(name) or not self._checkout.owns(name, beside=self._beside):
                continue
            if _ENDING.search(name) or (name.endswith("/") and not _ADDRESSES.search(text)):
                yield from self._path(name)
        for link in _LINK.findall(_CODE.sub("`", text)):
            name = unquote(_BEHIND.sub("", link.removeprefix("mdc:")))
            if name and not _SCHEME.match(link.removeprefix("mdc:")) and _ENDING.search(name):
                yield from self._path(name)

    def _commands(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the scripts and targets that a command line runs and nothing defines."""
        here = self._checkout
        for step in _STEPS.split(text):
            run, make = _SCRIPT.match(step), _MAKE.match(step)
            # The others run programs of dependencies as well, whose names nothing here tells.
            is_script = run and (run[1] == "npm" or ":" in run[2] or run[2] in _USUAL)
            if run and is_script and here.scripts is not None and run[2] not in here.scripts:
                yield run[2], f"no package.json has a script {run[2]}"
            is_target = make and here.targets is not None and not here.targets.fullmatch(make[1])
            if make and is_target and not here.holds(make[1], beside=self._beside):
                yield make[1], f"no makefile has a target {make[1]}"

    def _path(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield a path that is not there."""
        checkout, beside = self._checkout, self._beside
        if _SCHEME.match(name) or _PLACEHOLDER.search(name):
            return
        if not checkout.holds(name, beside=beside) and not checkout.leaves_out(name, beside=beside):
            near = checkout.nearest(name)
            yield name, f"there is no {name}" + (f"; there is {near}" if near else "")
