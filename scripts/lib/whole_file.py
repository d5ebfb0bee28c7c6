"""Writes a file atomically: however the program ends, a reader finds the old content or the new.

Like include/locus/core/system/file.hpp: writes a temporary file with a random name, locked and synced, and renames it.
Temporary files of killed processes are unlocked; the next writer in the folder removes them.
"""

import contextlib
import fcntl
import os
import pathlib
import re
import secrets

TEMPORARY = re.compile(r"\.locus-[0-9a-f]{16}\.tmp$")


def remove_abandoned(folder):
    """Removes temporary files that no process has locked."""
    for path in [entry.path for entry in os.scandir(folder) if TEMPORARY.search(entry.name)]:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(descriptor), os.lstat(path)):  # it may have been renamed before the lock
                    os.unlink(path)
            finally:
                os.close(descriptor)


def create(path, mode):
    """(an open, locked file, its name), beside `path`."""
    while True:
        name = f"{path}.locus-{secrets.token_hex(8)}.tmp"
        try:
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another process takes it for abandoned
            os.close(descriptor)
            continue
        except OSError:
            pass  # a file system without locks
        if os.fstat(descriptor).st_nlink:
            return os.fdopen(descriptor, "wb"), name
        os.close(descriptor)


def write(path, data):
    """data: text or bytes. An existing file keeps its permissions. raises OSError"""
    path = pathlib.Path(path)
    with contextlib.suppress(OSError):
        remove_abandoned(path.parent)
    try:
        mode = path.stat().st_mode & 0o7777
    except OSError:
        mode = None
    file, temporary = create(path, 0o666 if mode is None else mode & 0o777 | 0o600)
    with file:
        try:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                with contextlib.suppress(OSError):
                    os.fchmod(file.fileno(), mode)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
