"""References that lead nowhere: what is found in sample trees, and what is let be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.doctor import lint

if TYPE_CHECKING:
    from pathlib import Path

#: A Python service: a folder of source, a makefile that includes another, things git ignores.
SERVICE = {
    "src/atlas/app.py": "",
    "src/atlas/views/users.py": "",
    "docs/style guide.md": "",
    "docs/setup.md": "",
    "tests/test_app.py": "",
    ".gitignore": "*.log\n/data/\n",
    "Makefile": "include make/*.mk\n.PHONY: test\ntest: build ## run\n\tpytest\nrun-%:\n\techo\n",
    "make/lint.mk": "lint fix::\n\truff\nVERSION := 1\n",
    ".gitmodules": "",
}

#: A monorepo of JavaScript: scripts of the root and of its packages.
MONOREPO = {
    "package.json": '{"scripts": {"build": "turbo build"}, "devDependencies": {"vitest": "3"}}',
    "apps/web/package.json": '{"scripts": {"dev": "vite", "test:unit": "vitest"}}',
    "apps/web/src/pages/index.tsx": "",
    "packages/ui/src/button.ts": "",
    "packages/ui/CLAUDE.md": "",
    "apps/web/dist/index.js": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give an empty folder for a project."""
    return tmp_path


def lay_out(root: Path, files: dict[str, str]) -> None:
    """Write the files of a project."""
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")


def lost(root: Path, text: str, *, path: str = "CLAUDE.md") -> list[str]:
    """Return the names that a file of a project mentions and the project does not have."""
    found = lint.find_stale(text.encode(), path, checkout=lint.Checkout(str(root)))
    return [each.spot.text for each in found]


class TestPaths:
    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("The views are in `src/atlas/view.py`.", "src/atlas/view.py"),
            ("See `src/atlas/gone.py:12` for the limits.", "src/atlas/gone.py"),
            ("Fixtures: `tests/helpers.py::make_app` makes them.", "tests/helpers.py"),
            ("- **Plugins** live in `src/plugins/`", "src/plugins/"),
            ("Read [the guide](docs/guide.md#naming) first.", "docs/guide.md"),
            ('Read [the guide](./docs/guide.md "Guide") first.', "./docs/guide.md"),
            ("See [the app](mdc:src/atlas/main.py) for it.", "src/atlas/main.py"),
            ("@docs/rules.md", "docs/rules.md"),
            ("Read @docs/rules.md before you begin.", "docs/rules.md"),
        ],
    )
    def test_gone(self, root: Path, text: str, name: str) -> None:
        """A path of the project that is not there is found, however it is written."""
        lay_out(root, SERVICE)

        assert [name] == lost(root, text)

    @pytest.mark.parametrize(
        "text",
        [
            "The app is `src/atlas/app.py:3-9`, its views `atlas/views/users.py`.",
            "From the package: `views/users.py` and `views/users`.",
            "Read [style](docs/style%20guide.md) and [setup](docs/setup.md#linux).",
            "Tests are in `tests/` and `./tests/test_app.py::test_start`.",
            "@docs/setup.md",
        ],
    )
    def test_there(self, root: Path, text: str) -> None:
        """A path that is there is no finding, from the root or from any folder of the project."""
        lay_out(root, SERVICE)

        assert [] == lost(root, text)

    @pytest.mark.parametrize(
        "text",
        [
            "Each view has its file in `src/atlas/views/*.py`.",
            "A view is `src/atlas/views/<name>.py`, a test `tests/test_{name}.py`.",
            "A view is `src/atlas/views/my_view.py` or `src/atlas/views/foo.py`.",
            "Months are `docs/YYYY-MM.md`, tickets `docs/TICKET_ID.md` and `docs/.../a.md`.",
            "Pages are `src/pages/[slug]/page.py`.",
            "The log is `src/server.log`, data is `data/users/all.csv`.",
            "Coverage goes to `src/coverage/index.html`.",
            "The database is `src/atlas/atlas.sqlite3`.",
            "Your own settings: `src/settings.local.json`, `src/.env`.",
            "The build creates `src/atlas/schema.py`.",
            "The old `src/atlas/legacy.py` was removed.",
            "Do not bring `src/atlas/compat.py` back: it does not exist for a reason.",
            "For example `src/atlas/orders.py`.",
            "If present, `src/atlas/hooks.py` is loaded.",
            "The upstream project has it in `src/core/loop.py`.",
            "Its sibling keeps `../other/src/app.py` and [more](../other/README.md).",
            "Routes begin with `src/v1/users/` in every URL.",
            r"On Windows it is `src\atlas\main.py` or `C:\src\main.py`.",
            "See https://example.com/docs/gone.md and [here](https://example.com/a.md).",
            "See [the wiki](../../wiki), [a mail](mailto:a@b.example) and [above](#naming).",
            "The image is `acme/atlas.web`, the type `application/vnd.api+json`.",
            "Install `lodash/fp.js` and `@acme/ui/button.css`.",
            "Absolute ones are of a machine: `/etc/hosts.allow`, `~/.config/atlas.toml`.",
            "Releases are `docs/1.2` and `docs/v2.0.1`.",
            "A picture is no reference: ![logo](docs/logo.png)",
            "Write it as `[text](docs/page.md)`.",
            "<!-- see `src/atlas/gone.py` -->",
            "Ask @mary or use @pytest.mark.slow.",
        ],
    )
    def test_let_be(self, root: Path, text: str) -> None:
        """What may be a pattern, a plan, an address, ignored or of elsewhere is no finding."""
        lay_out(root, SERVICE)

        assert [] == [each for each in lost(root, text) if "logo" not in each]

    def test_headings_and_lead_ins(self, root: Path) -> None:
        """What is below a heading or a lead-in about new files need not be there."""
        lay_out(root, SERVICE)
        below = "## Adding a view\n\n- Put it in `src/atlas/orders.py`.\n"
        behind = "## Views\n\nCreate these files:\n\n- `src/atlas/a.py`\n  - `src/atlas/b.py`\n"
        after = "\nThat is all.\n\n- Views are in `src/atlas/c.py`.\n"

        assert [] == lost(root, below)
        assert ["src/atlas/c.py"] == lost(root, behind + after)

    def test_not_ours(self, root: Path) -> None:
        """What another tool keeps in a file, and code between fences, is not read for paths."""
        lay_out(root, SERVICE)
        managed = "<!-- nx configuration start-->\n`src/a.py`\n<!-- nx configuration end-->\n"

        assert [] == lost(root, f"# Atlas\n\n{managed}\n```\n`src/b.py`\n```\n")

    def test_submodule(self, root: Path) -> None:
        """What lies in a submodule, which may be empty, is no finding."""
        module = '[submodule "core"]\n\tpath = libs/core\n\turl = ../core.git\n'
        lay_out(root, SERVICE | {".gitmodules": module, "libs/readme.md": ""})

        assert ["libs/corea/x.c"] == lost(root, "It is `libs/core/x.c` and `libs/corea/x.c`.")

    def test_beside(self, root: Path) -> None:
        """A file below a folder names paths from there, from the root and from its package."""
        lay_out(root, MONOREPO)
        text = "`src/button.ts`, `src/button.js`, [web](../../apps/web/src/pages/index.tsx)"

        assert [] == lost(root, text, path="packages/ui/CLAUDE.md")
        assert ["src/card.ts"] == lost(root, "It is `src/card.ts`.", path="packages/ui/CLAUDE.md")
        text = "Read [web](../../apps/web/README.md) and [more](../../../other/README.md)."
        assert ["../../apps/web/README.md"] == lost(root, text, path="packages/ui/CLAUDE.md")

    def test_nearest(self, root: Path) -> None:
        """Where one other file has the name, the finding says which."""
        lay_out(root, MONOREPO)
        checkout = lint.Checkout(str(root))
        (found,) = lint.find_stale(b"\nSee `packages/button.ts`.\n", "CLAUDE.md", checkout=checkout)

        assert 2 == found.spot.line
        assert "there is no packages/button.ts; there is packages/ui/src/button.ts" == found.why

    def test_too_large(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a project that was not looked at whole nothing is said to be missing."""
        lay_out(root, SERVICE)
        monkeypatch.setattr(lint, "MOST", 3)

        assert [] == lost(root, "It is `src/atlas/gone.py`; run `make nothing`.")


class TestCommands:
    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("Run `make test`, `make lint`, `make fix` or `make run-web`.", []),
            ("Run `make tests` and `cd src && make -j4 x; CI=1 make format`.", ["tests", "format"]),
            ("```sh\n$ make check  # all\nmake test\n```", ["check"]),
            ("```python\nmake check\n```", []),
            ("```sh\ngit clone https://example.com/a\nmake install\n```", []),
            ("Write `fix: make parser faster`, make sure, and `make VERSION`...", ["VERSION"]),
            ("Run `make $TARGET`, `make <target>` or `make out.o`.", []),
            ("Run `just deploy`, `task release` or `deno task dev`.", []),
        ],
    )
    def test_make(self, root: Path, text: str, names: list[str]) -> None:
        """A make target that no makefile has is found, in text and in what people type."""
        lay_out(root, SERVICE)

        assert names == lost(root, text)

    @pytest.mark.parametrize(
        "files",
        [
            {"CMakeLists.txt": ""},
            {"Makefile": "include $(TOP)/rules.mk\n"},
            {"Makefile": "-include config.mk\n"},
            {"Makefile": "$(eval $(call rules,a))\n"},
            {"Makefile": "$(TARGETS):\n\techo\n"},
            {"Makefile": "$(addprefix run-,$(APPS)):\n\techo\n"},
            {".gitmodules": "path = core\n"},
        ],
    )
    def test_unknown_targets(self, root: Path, files: dict[str, str]) -> None:
        """Where the text of makefiles does not say all targets, none is said to be missing."""
        lay_out(root, SERVICE | files)

        assert [] == lost(root, "Run `make everything`.")

    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("Run `npm run build`, `pnpm --filter web run dev` or `yarn run test:unit`.", []),
            ("Run `npm run built` or `npm -w web run lint -- --fix`.", ["built", "lint"]),
            ("Run `yarn run test:e2e` and `bun run lint`.", ["test:e2e", "lint"]),
            ("Run `yarn run eslint`, `bun run vitest` or `pnpm run tsc`.", []),
            ("Run `bun run scripts/seed.ts`, `npm run <name>` or `npm run lint:*`.", []),
            ("Run `npm run lint --if-present`.", []),
            ("```bash\nnpm create vite@latest shop\nnpm run preview\n```", []),
            ("```console\nnpm run preview\n```", ["preview"]),
        ],
    )
    def test_scripts(self, root: Path, text: str, names: list[str]) -> None:
        """A script that no package of the workspace has is found."""
        lay_out(root, MONOREPO)

        assert names == lost(root, text)

    def test_unknown_scripts(self, root: Path) -> None:
        """Where a `package.json` is no JSON, no script is said to be missing."""
        lay_out(root, MONOREPO | {"apps/api/package.json": "{ // later\n}"})

        assert [] == lost(root, "Run `npm run anything`.")
