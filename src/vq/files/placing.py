"""Give a file that is complete the name it is to have, where nothing stands yet: in one step, writing over nothing."""

from __future__ import annotations

import errno
import os

_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})
"""What a file system without hard links (FAT, exFAT) says to one."""
_NO_SUCH_RENAME = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS})
_RENAME_NOREPLACE = 1


def give_name(temporary: str, name: str, within: int) -> bool:
    """Whether the file has its name in the open folder `within`; `temporary` may stand on. False: it cannot be done.

    Raises `FileExistsError` where somebody else has made the name meanwhile, and `OSError` for what else goes wrong.
    """
    try:
        # Unlike a rename, it fails where the name is taken.
        os.link(temporary, name, src_dir_fd=within, dst_dir_fd=within, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _rename_new(temporary, name, within)
    return True


def _rename_new(temporary: str, name: str, within: int) -> bool:
    """As `give_name`, by the rename of Linux 3.15 that replaces nothing."""
    import ctypes  # noqa: PLC0415 - hardly any file system needs it

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(within, os.fsencode(temporary), within, os.fsencode(name), _RENAME_NOREPLACE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NO_SUCH_RENAME:
        return False
    raise OSError(number, os.strerror(number), name)
