"""Two files change places at one stroke: the one thing that this needs and Python does not offer.

`rename` over a file throws away what lies there, even if it was saved the moment before; an
exchange keeps it, so that it can be looked at and put back. Linux calls it `renameat2` with
`RENAME_EXCHANGE`, macOS `renameatx_np` with `RENAME_SWAP`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache
from typing import Any

#: The system's call, and the flag with which it exchanges (linux/fs.h, sys/stdio.h).
_CALL, _FLAG = ("renameatx_np", 2) if sys.platform == "darwin" else ("renameat2", 2)

#: How a file system says that it cannot.
UNABLE = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


def exchange(folder: int, one: str, other: str) -> None:
    """Let two files of an open folder change places; both must be there.

    Raises `OSError`; its number is in `UNABLE` where the system or the file system cannot.
    """
    call = _rename()
    if call is None:
        raise OSError(errno.ENOSYS, f"this system has no {_CALL}")
    if call(folder, os.fsencode(one), folder, os.fsencode(other), _FLAG) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), other)


@cache
def _rename() -> Any:  # noqa: ANN401 - a function of the C library
    """Return the system's call; None where there is none."""
    found = getattr(ctypes.CDLL(None, use_errno=True), _CALL, None)
    if found is not None:
        found.argtypes = (
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_uint,
        )
        found.restype = ctypes.c_int
    return found
