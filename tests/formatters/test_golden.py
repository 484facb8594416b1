"""Golden files: what each agent is told, byte for byte.

`python -m tests.formatters.test_golden` writes them anew; read the difference before it stays.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex_actors.render import fence
from cortex_actors.render.section import Options, find, list_names
from cortex_actors.text.sections import find_dialect
from tests.formatters.bullets import KNOWN

GOLDEN = Path(__file__).parent / "golden"

#: How a file of an agent ends that has none of its own.
_TEXT = "prompt.txt"


def golden(name: str, *, include_metadata: bool = False) -> tuple[Path, bytes]:
    """Return where an agent's golden file lies, and what it should hold: a file just made."""
    formatter = find(name)
    options = Options(include_metadata=include_metadata)
    body = formatter.render(KNOWN, options, count=len).text.encode()
    suffix = ".metadata" if include_metadata else ""
    made = Path(formatter.made or _TEXT)
    path = GOLDEN / f"{name}{suffix}{made.suffix}"
    if not formatter.places:
        return path, body
    return path, fence.splice(formatter.top.encode(), body)


def everything() -> list[tuple[Path, bytes]]:
    """Return every golden file with what it should hold."""
    return [*map(golden, list_names()), golden("claude", include_metadata=True)]


class TestGolden:
    @pytest.mark.parametrize(
        ("path", "data"), everything(), ids=lambda each: getattr(each, "name", "")
    )
    def test_same(self, path: Path, data: bytes) -> None:
        """A file that was just made is the golden one."""
        assert path.read_text(encoding="utf-8") == data.decode()

    def test_no_others(self) -> None:
        """There is no golden file that nothing makes."""
        assert {path for path, _ in everything()} == set(GOLDEN.iterdir())

    @pytest.mark.parametrize("name", [each for each in list_names() if find(each).places])
    def test_read(self, name: str) -> None:
        """What we make is an instruction file that we know, and read nothing back from."""
        dialect = find_dialect(find(name).made)
        assert dialect is not None
        assert name == dialect.agent
        assert () == dialect.parse(golden(name)[1], path=find(name).made, project="p")


if __name__ == "__main__":
    for path, data in everything():
        path.write_bytes(data)
