"""What a file is beside its bytes: owner, mode, extended attributes, and with them access lists."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys

from cortex_actors.refusals import Unkept

#: How a file system says that it knows no extended attributes.
_NONE = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP})

#: What macOS copies in one call: the mode and the times, the access list, extended attributes.
_COPYFILE_METADATA = 7


def carry(source: int, target: int, *, path: str) -> None:
    """Give an open file what another one is beside its bytes and its times.

    Raises `Unkept`, naming the path: a file that has lost its access list or its label is not the
    file that was there.
    """
    of, to = os.fstat(source), os.fstat(target)
    if (of.st_uid, of.st_gid) != (to.st_uid, to.st_gid):
        try:
            os.fchown(target, of.st_uid, of.st_gid)
        except OSError as error:
            raise Unkept.of(path, name="owner or group", error=error.strerror) from error
    if sys.platform == "darwin":
        _copy_on_macos(source, target, path=path)
    else:
        _carry_extended(source, target, path=path)
    # Last: setting an owner takes bits away, and an access list changes them.
    os.fchmod(target, stat.S_IMODE(of.st_mode))


def _carry_extended(source: int, target: int, *, path: str) -> None:
    """Give a file the extended attributes of another, and no more than those."""
    wanted, there = _extended(source), _extended(target)
    for name in {**wanted, **there}:
        try:
            if name not in wanted:
                os.removexattr(target, name)
            elif wanted[name] != there.get(name):
                os.setxattr(target, name, wanted[name])
        except OSError as error:
            raise Unkept.of(path, name=name, error=error.strerror) from error


def _extended(opened: int) -> dict[str, bytes]:
    """Return the extended attributes of a file; none where there can be none."""
    try:
        return {name: os.getxattr(opened, name) for name in os.listxattr(opened)}
    except OSError as error:
        if error.errno in _NONE:
            return {}
        raise


def _copy_on_macos(source: int, target: int, *, path: str) -> None:
    """Copy everything beside the bytes, by the system's own call."""
    call = ctypes.CDLL(None, use_errno=True).fcopyfile
    if call(source, target, None, _COPYFILE_METADATA) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise Unkept.of(path, name="access list", error=reason)
