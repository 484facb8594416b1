"""Why a store could not be asked, in one line each, without the store's name. Pure."""

from __future__ import annotations

import ssl

from cortex_actors.endpoint.storereply import SHOWN
from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable

#: Letters that are shown of what a library says.
_TOLD = 100


def refused(error: Exception) -> StoreDown:
    """Return why nothing could be connected to, in words of the system."""
    cause = _innermost(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return StoreUnusable(
            f"its certificate is not believed ({cause.verify_message}); see to it, or to "
            "tls.trust_system_store"[:SHOWN]
        )
    if isinstance(cause, ConnectionRefusedError):
        return StoreDown("refused the connection: nothing listens at its address")
    return StoreDown(f"cannot be reached ({_short(cause)})")


def broken(error: Exception) -> StoreDown:
    """Return how a connection ended that had been made."""
    return StoreDown(f"broke off the connection ({_short(_innermost(error))})")


def unread(error: Exception) -> StoreUnusable:
    """Return what keeps a connection with TLS from being made at all."""
    return StoreUnusable(
        f"no certificates can be read ({_short(error)}): see to tls.trust_system_store, or "
        "SSL_CERT_FILE in the daemon's environment"
    )


def late(seconds: float) -> StoreTimeout:
    """Return that the time is over."""
    return StoreTimeout(f"timeout after {seconds:.2f} s")


def large(most: int) -> StoreDown:
    """Return that an answer has grown beyond what it may have."""
    return StoreDown(f"answered with more than {most} bytes; nothing of it is used")


def _innermost(error: BaseException) -> BaseException:
    """Return the first cause of an error: libraries wrap what the system said."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return error


def _short(error: BaseException) -> str:
    """Return what went wrong in a few words; some of these errors have no text."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(text.split())[:_TOLD]
