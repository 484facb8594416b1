"""Whose certificates are believed when a connection is made with TLS. The door to truststore."""

from __future__ import annotations

import ssl


def context(*, system_store: bool) -> ssl.SSLContext:
    """Return what checks a server's certificate; reads files, so call it on a thread.

    By the certificates that Python brings (certifi's), or those that SSL_CERT_FILE or SSL_CERT_DIR
    name; with `system_store` by those of the operating system, where a company puts its own. Name
    and chain are checked in any case. Raises ImportError, OSError and ValueError (ssl's own errors
    are both) for what cannot be loaded.
    """
    if system_store:
        import truststore  # noqa: PLC0415 - most homes never need it

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    import httpx  # noqa: PLC0415 - takes a fifth of a second

    return httpx.create_ssl_context()
