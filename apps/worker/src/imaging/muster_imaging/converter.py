"""A process that converts images one after another, as requested by lines of JSON.

Files are untrusted, so they are decoded here, with limited memory. An image that ends this process fails alone. All
these processes together convert only one large image at a time.
"""

import contextlib
import fcntl
import json
import os
import resource
import sys

from .convert import decode_picture, write_variant
from .faults import ImageFault
from .paths import open_image, read_all, resolve_folder
from .settings import read_settings
from .tiff import read_tiff

MEMORY_BYTES = 2 * 1024**3
# An image above one of these limits is large: bytes of its file, and number of pixels.
LARGE_FILE_BYTES = 32 * 1024 * 1024
LARGE_PIXELS = 16_000_000


def main():
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Decoders print messages, which may quote the file.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    settings = read_settings()
    for line in sys.stdin:
        answers.write(json.dumps(convert_or_report(json.loads(line), settings)) + "\n")
        answers.flush()


def convert_or_report(task, settings):
    try:
        return convert_image(task, settings)
    except ImageFault as fault:
        return {"code": fault.code, "error": str(fault)}
    except MemoryError:
        return {"code": "image_too_large", "error": "the image needs more memory than one image may use"}
    except Exception as error:
        return {"code": "damaged", "error": f"the image cannot be read ({type(error).__name__})"}


def convert_image(task, settings):
    folder = resolve_folder(task["folder"], settings)
    file = open_image(folder, task["patimageid"], task["filename"], settings)
    is_large = os.fstat(file).st_size > LARGE_FILE_BYTES
    with contextlib.ExitStack() as held:
        if is_large:
            held.enter_context(hold_exclusive_lock(task["lock"]))
        picture = read_tiff(read_all(file))
        if not is_large and picture.width * picture.height > LARGE_PIXELS:
            held.enter_context(hold_exclusive_lock(task["lock"]))
        image = decode_picture(picture)
        sizes = {name: write_variant(image, variant["path"], variant) for name, variant in task["variants"].items()}
        return {"width": image.width, "height": image.height, "bytes": sizes}


@contextlib.contextmanager
def hold_exclusive_lock(path):
    """Holds an exclusive lock. The kernel releases the lock of a process that ends."""
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
