"""Replacement of a file: whole or not at all, and durable."""

import errno
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from bayeskit.errors import FileError


def check_readable(path: str) -> None:
    """Refuse what is not a regular file that may be read; a pipe or a device is not opened, it would block."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            os.close(os.open(path, os.O_RDONLY))
            return
    except OSError as error:
        raise FileError(
            f"{path}: {(error.strerror or str(error)).lower()}; check the name and its permissions"
        ) from error
    kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
    raise FileError(f"{path}: {kind}; name a file")


def replace_file(path: str, parts: Iterable[bytes | memoryview]) -> None:
    """Put a file of these parts in the place of ``path``."""
    with replace_on_success(path) as file:
        file.writelines(parts)


@contextmanager
def replace_on_success(path: str) -> Iterator[BinaryIO]:
    """A file to write, which then takes the place of ``path``, or of what it links to: atomic and durable.

    If anything fails before, it is gone and what was there is intact.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    front = f".bayeskit-{hashlib.blake2b(os.fsencode(name), digest_size=8).hexdigest()}-"
    try:
        mode = _mode(target)
        _remove_orphans(folder, front)
        descriptor, temporary = _temporary(os.path.join(folder, front), 0o666 if mode is None else 0o600)
        try:
            with os.fdopen(descriptor, "w+b") as file:
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                yield file
                file.flush()
                os.fsync(file.fileno())
                os.replace(temporary, target)  # while it is locked: nobody takes it for an orphan
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}; not saved, an older file is intact", path) from error
    with suppress(PermissionError):  # a directory one may write but not list: old or new, the file is whole
        _sync(folder)


def _temporary(front: str, mode: int) -> tuple[int, str]:
    """A new file that is locked while its writer lives."""
    while True:
        temporary = f"{front}{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        with suppress(OSError):  # a file system without locks: none counts as an orphan there
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):  # removed as an orphan before it was locked
            if os.path.samestat(os.fstat(descriptor), os.stat(temporary)):
                return descriptor, temporary
        os.close(descriptor)


def _remove_orphans(folder: str, front: str) -> None:
    """Remove what killed writers of the same file have left; those of living ones are locked."""
    with suppress(PermissionError):  # a directory one may write but not list
        for name in os.listdir(folder or "."):
            if name.startswith(front) and name.endswith(".tmp"):
                with suppress(OSError):
                    _remove_orphan(os.path.join(folder, name))


def _remove_orphan(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # whatever else may bear the name
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(descriptor)


@contextmanager
def lock_file(path: str) -> Iterator[None]:
    """The only one who reads the file to replace it; others that ask for the same wait."""
    while True:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):  # not replaced while we waited
                yield
                return


def _mode(target: str) -> int | None:
    """The permissions of the file to replace, None if there is none."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):  # /dev/null must not become a file
        raise FileError(f"{target}: not a regular file; save to another path")
    os.close(os.open(target, os.O_WRONLY))  # a rename would not ask whether the file is protected
    return stat.S_IMODE(mode) & 0o777


def _sync(folder: str) -> None:
    """Make a rename durable, where the file system can."""
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(directory)
