"""Opens image files, but nothing outside of the allowed folders, even through links."""

import errno
import os
import stat

from .faults import ImageFault
from .settings import to_local_path

MAX_FILE_BYTES = 256 * 1024 * 1024


def resolve_folder(path, settings):
    """Returns the real path of a requested folder. A missing folder is noticed only when a file in it is opened."""
    local = to_local_path(path.strip(), settings.path_map)
    if local is None or "\0" in local:
        raise ImageFault("path_not_allowed", "the folder is on no share that IMAGING_PATH_MAP names")
    if not os.path.isabs(local):
        if settings.root is None:
            raise ImageFault("path_not_allowed", "the worker has no IMAGING_ROOT that the folder would be below")
        local = os.path.join(settings.root, local)
    real = os.path.realpath(local)
    require_allowed(real, settings)
    return real


def open_image(folder, patimageid, filename, settings):
    """Returns a file descriptor of `folder/<patimageid>/filename`, else of `folder/filename`. `folder` is resolved."""
    if not filename or filename in (".", "..") or any(each in filename for each in "/\\\0"):
        raise ImageFault("path_not_allowed", "the name is not a valid file name")
    places = [os.path.join(folder, str(patimageid), filename)] if patimageid is not None else []
    for path in [*places, os.path.join(folder, filename)]:
        try:
            return open_allowed(path, settings)
        except ImageFault as fault:
            if fault.code != "not_found":
                raise
    raise ImageFault("not_found", "there is no such file")


def open_allowed(path, settings):
    """Checks the file after opening it, because an open file can no longer be exchanged."""
    real = os.path.realpath(path)
    require_allowed(real, settings)
    try:
        # With these flags, opening a pipe or a device does not block and has no side effects.
        file = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ImageFault("path_not_allowed", "the file is a link that changes") from None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise ImageFault("not_found", "the worker may not read the file") from None
        raise ImageFault("not_found", "there is no such file") from None
    try:
        require_allowed(os.readlink(f"/proc/self/fd/{file}"), settings)
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise ImageFault("not_found", "there is no such file")
        if found.st_size > MAX_FILE_BYTES:
            raise ImageFault("image_too_large", "the file has more than 256 MiB")
        return file
    except BaseException:
        os.close(file)
        raise


def read_all(file):
    """Reads the whole file, but not more than the limit even if it grows concurrently."""
    with os.fdopen(file, "rb", buffering=0) as stream:
        pieces, size = [], 0
        while piece := stream.read(min(1 << 24, MAX_FILE_BYTES + 1 - size)):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_FILE_BYTES:
                raise ImageFault("image_too_large", "the file has more than 256 MiB")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def require_allowed(real, settings):
    for root in settings.allowed_roots:
        allowed = os.path.realpath(root)
        if real == allowed or real.startswith(allowed.rstrip("/") + "/"):
            return
    raise ImageFault("path_not_allowed", "the file is below none of the folders that the worker may read")
