"""App: the routes of the gateway behind their admission, and the server around both.

Imported on a thread, and only when a door is opened: what it is made of takes half a second. A new
contract is a module with `routes`, and a line in `CONTRACTS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from cortex_actors import __version__
from cortex_actors.errors import CortexError, InternalError
from cortex_actors.gateways import admission, callosum, seren
from cortex_actors.gateways.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.clock import Clock
    from cortex_actors.process.logs import LogStream
    from cortex_actors.process.tokens import Tokens
    from cortex_actors.sections import HttpSettings

#: What is served, each a maker of its routes.
CONTRACTS: Final[tuple[Callable[[admission.Premises], APIRouter], ...]] = (
    callosum.about_routes,
    callosum.routes,
    callosum.recall_routes,
    seren.memory_routes,
    seren.loci_routes,
)

#: Paths that need no token: they say that somebody is there, and nothing that anybody remembers.
PUBLIC: Final = frozenset(
    f"{prefix}{path}"
    for prefix in ("", seren.MEMORY_PREFIX, seren.LOCI_PREFIX)
    for path in ("/", "/health")
)

#: Names by which this machine is called by itself.
NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


def serving(
    desk: FrontDesk,
    address: tuple[Any, ...],
    *,
    tokens: Tokens,
    logs: LogStream,
    clock: Clock,
    settings: HttpSettings,
) -> Serving:
    """Return a server for a socket that is bound to an address."""
    host, port = address[:2]
    name = f"[{host}]" if ":" in host else host
    app = admission.Admission(
        application(admission.Premises(desk, clock, __version__)),
        tokens=tokens,
        hosts={*NAMES, name},
        public=PUBLIC,
        most=settings.max_body_bytes,
        visits=admission.Visits(logs, clock),
    )
    return Serving(app, address=f"http://{name}:{port}", most=settings.max_connections)


def application(premises: admission.Premises) -> ASGIApp:
    """Return all routes, without their admission."""
    app = FastAPI(title="Cortex Actors", version=premises.version, docs_url=None, redoc_url=None)
    for contract in CONTRACTS:
        app.include_router(contract(premises))
    app.add_exception_handler(CortexError, _failed)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _broken)
    return app


async def _failed(_request: Request, error: Exception) -> JSONResponse:
    """Answer an expected failure; one of our own is for the log."""
    assert isinstance(error, CortexError)  # noqa: S101 - a fact for mypy
    if isinstance(error, InternalError):
        raise error
    return JSONResponse({"detail": str(error)}, admission.status_of(error))


async def _broken(_request: Request, _error: Exception) -> JSONResponse:
    """Answer a fault of ours; it goes on to the admission, which has it written down."""
    return JSONResponse({"detail": admission.FAULT}, 500)


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    """Answer a body that is none of the contract's, without repeating it: it may hold a token."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - a fact for mypy
    told = [{name: each[name] for name in ("type", "loc", "msg")} for each in error.errors()]
    return JSONResponse({"detail": told}, 422)
