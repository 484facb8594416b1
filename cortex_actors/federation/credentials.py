"""Tokens of stores: where one comes from, and where one that was just typed is kept.

A token goes into the keyring of the operating system where there is one that its makers recommend,
else it stays in the description, which only the daemon's user may read. No text of ours, error or
log, ever holds one. The door to keyring.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from cortex_actors.errors import BadInput, StoreDown, StoreUnusable
from cortex_actors.federation.store import Auth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

#: The service of our entries in a keyring; nothing else there is ever changed.
SERVICE = "cortex-actors"

#: Seconds that a keyring has: one that asks its user to unlock it may never answer.
PATIENCE = 5.0

#: Questions that may be with a keyring at once, others wait; one that hangs is not asked again and
#: again.
AT_ONCE = 4

#: Characters of a token: some that carry signed claims have thousands.
LONGEST = 8_192

#: Priority from which keyring's makers recommend a keyring; files in the clear are below it.
_RECOMMENDED = 1

#: What a person does about a keyring that cannot be used.
_OTHERWISE = "unlock it, or name a variable instead (token_env)"


class Ring(Protocol):
    """What is used of a keyring; every call may block."""

    def get_password(self, service: str, username: str, /) -> str | None:
        """Return what is kept there; None for nothing."""

    def set_password(self, service: str, username: str, password: str, /) -> None:
        """Keep something."""

    def delete_password(self, service: str, username: str, /) -> None:
        """Keep it no more."""


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """Where a token is kept: what the store's description says of it, and what a person reads."""

    auth: Auth
    warning: str = ""


class Vault:
    """Finds and keeps tokens. Nothing is remembered: each question asks where the token lies.

    The keyring is asked on threads of its own, for which the end of the daemon does not wait: it
    may hang for as long as it is locked.
    """

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        *,
        ring: Callable[[], Ring | None] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """Read variables from `environ`; `ring` gives the keyring, None where there is none."""
        self._environ = environ
        self._ring = ring or open_keyring
        self._patience = patience
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._free = threading.Semaphore(AT_ONCE)

    async def find_token(self, auth: Auth) -> str:
        """Return a store's token; empty for a store that wants none.

        Of several places the first that has one counts: itself, the keyring, the variable. Raises
        `StoreUnusable` where none has one, or what is there can be no token, and `StoreDown` while
        the keyring does not answer and no variable is named.
        """
        if auth.token:
            return _checked(auth.token, "the text given")
        kept = await self._kept(auth)
        if kept:
            return _checked(kept, f"the keyring's entry {auth.token_keyring!r}")
        if auth.token_env and (found := self._environ.get(auth.token_env, "").strip()):
            return _checked(found, f"the text of the variable {auth.token_env}")
        if auth:
            raise StoreUnusable(_nowhere(auth, has_ring=kept is not None))
        return ""

    async def keep(self, name: str, token: str) -> TokenPlace:
        """Keep a store's token; where no keyring takes it, its description has to hold it.

        An entry that is there already is another daemon's, and is left as it is. Raises `BadInput`
        for what can be no token.
        """
        try:
            token = _checked(token, "the text given")
        except StoreUnusable as error:
            raise BadInput(f"cannot keep the token of {name}: {error}") from None
        try:
            user = await self._aside(lambda ring: _put(ring, name, token))
        except StoreDown as error:
            why = str(error)
        else:
            if user:
                return TokenPlace(Auth(token_keyring=f"{SERVICE}/{user}"))
            why = "there is no keyring on this machine that can be recommended"
        return TokenPlace(
            Auth(token=token),
            f"the token of {name} is kept in runtime-stores.json, readable by you alone: {why}",
        )

    async def forget(self, auth: Auth) -> bool:
        """Delete what `keep` has put into the keyring; say whether something went.

        Other programs' entries stay. Raises `StoreDown` while the keyring does not answer.
        """
        service, _, user = auth.token_keyring.partition("/")
        if service != SERVICE or not user:
            return False
        return await self._aside(lambda ring: _delete(ring, user))

    async def _kept(self, auth: Auth) -> str | None:
        """Return what the keyring has; empty for nothing, None where there is no keyring."""
        if not auth.token_keyring:
            return ""
        service, _, user = auth.token_keyring.partition("/")
        if not (service and user):
            message = f"token_keyring {auth.token_keyring!r} is not SERVICE/USER"
            raise StoreUnusable(f"{message}; write both, with a slash between them")
        try:
            found = await self._aside(lambda ring: _got(ring, service, user))
        except StoreDown:
            if self._environ.get(auth.token_env, ""):
                return ""
            raise
        return found if found is None else found.strip()

    async def _aside(self, call: Callable[[Ring | None], T]) -> T:
        """Ask the keyring, in turn; raises `StoreDown` for whatever goes wrong there."""
        answer: Future[T] = Future()

        def work() -> None:
            try:
                found = call(self._ring())
            except Exception as error:  # noqa: BLE001 - plug-ins raise what they like
                self._free.release()
                answer.set_exception(error)
            else:
                self._free.release()  # before the answer is known: the next one comes at once
                answer.set_result(found)

        async with self._turn:  # a caller that hangs gives this one up, but not the thread's
            if not self._free.acquire(blocking=False):
                raise StoreDown(f"the keyring has not answered earlier questions; {_OTHERWISE}")
            answer.set_running_or_notify_cancel()
            threading.Thread(target=work, name="keyring", daemon=True).start()
            try:
                async with asyncio.timeout(self._patience):
                    return await asyncio.wrap_future(answer)
            except TimeoutError:
                message = f"the keyring did not answer within {self._patience:g} s"
            except Exception as error:  # noqa: BLE001 - as above; its text is not ours to show
                message = f"the keyring failed ({type(error).__name__})"
            raise StoreDown(f"{message}; {_OTHERWISE}")


def open_keyring() -> Ring | None:
    """Return the keyring of the operating system; None where there is none. Blocks."""
    import keyring  # noqa: PLC0415 - a tenth of a second, and only where a token is kept in one

    found = keyring.get_keyring()
    return found if found.priority > 0 else None


def _got(ring: Ring | None, service: str, user: str) -> str | None:
    """Return an entry, empty for none; None where there is no keyring."""
    return None if ring is None else ring.get_password(service, user) or ""


def _put(ring: Ring | None, name: str, token: str) -> str:
    """Put a token under a name that nothing has yet; return that, empty where none is kept."""
    if ring is None or getattr(ring, "priority", _RECOMMENDED) < _RECOMMENDED:
        return ""
    user = name
    while ring.get_password(SERVICE, user) is not None:
        user = f"{name}.{secrets.token_hex(4)}"
    ring.set_password(SERVICE, user, token)
    return user


def _delete(ring: Ring | None, user: str) -> bool:
    """Delete an entry of ours if it is there."""
    if ring is None or ring.get_password(SERVICE, user) is None:
        return False
    ring.delete_password(SERVICE, user)
    return True


def _checked(token: str, what: str) -> str:
    """Return a token that a header can carry; `what` it is called where it is none."""
    found = token.strip()
    if not found or len(found) > LONGEST or not all("!" <= char <= "~" for char in found):
        shape = f"1 to {LONGEST:,} visible ASCII characters without blanks"
        raise StoreUnusable(f"{what} is no token ({shape}); give another one")
    return found


def _nowhere(auth: Auth, *, has_ring: bool) -> str:
    """Return that no token is where the description says, and what brings it there."""
    entry = f"{auth.token_keyring!r}"
    missing = (
        f"the keyring has nothing for {entry}"
        if has_ring
        else f"this machine has no usable keyring, where {entry} was to be"
    )
    places = [
        missing if auth.token_keyring else "",
        f"the daemon's variable {auth.token_env} is empty" if auth.token_env else "",
    ]
    said = " and ".join(each for each in places if each)
    if auth.token_keyring and has_ring:
        return (
            f"{said}; put the token into the keyring and run cortex stores ping NAME, or give it "
            "another way"
        )
    if auth.token_env:
        return f"{said}; set the variable and restart the daemon, or give the token another way"
    return f"{said}; name a variable of the daemon instead (token_env), or give the token itself"
