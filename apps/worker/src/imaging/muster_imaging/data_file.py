"""Reads the imaging data file, which has one image per line, and retains the newest images of each requested tooth."""

import heapq
import os
import re
import stat
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from .faults import CommandFault, ImageFault
from .lookup import normalize_id
from .paths import require_allowed
from .teeth import parse_teeth
from .text import decode_text

# Maximum number of images of a tooth. With 32 teeth this is the maximum number of images of one command.
max_images_of_a_tooth = 125

_longest_line = 65_536
_fields = 11
_byte_order_mark = b"\xef\xbb\xbf"
_ordinal = re.compile("[0-9]{1,18}")
_day = re.compile("[0-9]{8}")
_time = re.compile("(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]")


@dataclass(frozen=True)
class ImageLine:
    ordinal: int
    filename: str
    day: date
    # An empty time sorts before all other times of the day.
    time: str

    @property
    def age(self):
        return (self.day, self.time, self.ordinal)


@dataclass
class Found:
    """The patient's images of each requested tooth, the newest first, and the number of invalid lines."""

    of_tooth: dict
    lines_skipped: int


def read_data_file(settings, patimageid, teeth):
    """Reads the file line by line, because it may be larger than the memory."""
    heaps = {tooth: [] for tooth in teeth}
    skipped = 0
    try:
        with _open_data_file(settings) as file:
            for place, line in enumerate(_iterate_lines(file)):
                fields = _parse_fields(line)
                if fields is None:
                    skipped += 1
                elif patimageid is not None and fields[0] == patimageid:
                    _keep_newest(heaps, place, fields)
    except OSError as error:
        why = "is not there" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise CommandFault("data_file_unavailable", f"the imaging data file {why}") from None
    of_tooth = {tooth: [image for _, _, image in sorted(heap, reverse=True)] for tooth, heap in heaps.items()}
    return Found(of_tooth, skipped)


def _open_data_file(settings):
    """Opens the data file. The operator may configure a path outside of the image folders, but a link must not lead out
    of these folders."""
    path = os.path.abspath(settings.data_file)
    if any(os.path.commonpath([path, os.path.abspath(root)]) == os.path.abspath(root) for root in settings.allowed_roots):
        try:
            require_allowed(os.path.realpath(path), settings)
        except ImageFault as fault:
            raise CommandFault(fault.code, "the imaging data file is a link out of the folders that may be read") from None
    # O_NONBLOCK: opening a pipe would block otherwise.
    file = os.open(os.path.realpath(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError("no regular file")
    return os.fdopen(file, "rb", buffering=1 << 20)


def _iterate_lines(file):
    """Yields the lines without their line ends; None for a line that is too long to be valid."""
    first = True
    while True:
        line = file.readline(_longest_line)
        if not line:
            return
        is_whole = line.endswith(b"\n") or len(line) < _longest_line
        if first:
            first = False
            line = line[len(_byte_order_mark) :] if line.startswith(_byte_order_mark) else line
        yield line.rstrip(b"\r\n") if is_whole else None
        while not is_whole:
            rest = file.readline(_longest_line)
            is_whole = rest.endswith(b"\n") or len(rest) < _longest_line


def _parse_fields(line):
    """Returns the fields of a line that are used, or None if the line is short, empty or damaged."""
    text = decode_text(line) if line else None
    if text is None or "\0" in text:
        return None
    fields = text.split("|", _fields)
    if len(fields) < _fields:
        return None
    patimageid, ordinal, filename, day, time = (field.strip() for field in fields[:5])
    patimageid = normalize_id(patimageid)
    taken = _parse_day(day)
    if patimageid is None or taken is None or not filename or not _ordinal.fullmatch(ordinal):
        return None
    if time and not _time.fullmatch(time):
        return None
    return patimageid, int(ordinal), filename, taken, time, fields[10]


def _keep_newest(heaps, place, fields):
    _, ordinal, filename, day, time, tooth_data = fields
    image = ImageLine(ordinal, filename, day, time)
    for tooth in parse_teeth(tooth_data):
        heap = heaps.get(tooth)
        if heap is None:
            continue
        # If two images have the same age, the one in the later line is the newer one.
        entry = (image.age, place, image)
        if len(heap) < max_images_of_a_tooth:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)


@lru_cache(maxsize=50_000)
def _parse_day(text):
    if not _day.fullmatch(text):
        return None
    try:
        return date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return None
