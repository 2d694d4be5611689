"""The imaging data file: one image a line, of which the newest of each tooth that is asked for are kept."""

import heapq
import os
import re
import stat
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from .faults import CommandFault, ImageFault
from .lookup import plain_id
from .paths import require_allowed
from .teeth import teeth_of
from .text import decode

# Of each tooth, so that 32 teeth come to the most images of one call.
kept_of_a_tooth = 125

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
    # An empty one is before all others of its day.
    time: str

    @property
    def age(self):
        return (self.day, self.time, self.ordinal)


@dataclass
class Found:
    """The patient's images of each tooth that is asked for, the newest first, and how many lines were none."""

    of_tooth: dict
    lines_skipped: int


def read_data_file(settings, patimageid, teeth):
    """Reads the file line by line: it may be larger than memory."""
    heaps = {tooth: [] for tooth in teeth}
    skipped = 0
    try:
        with _open(settings) as file:
            for place, line in enumerate(_lines_of(file)):
                fields = _fields_of(line)
                if fields is None:
                    skipped += 1
                elif patimageid is not None and fields[0] == patimageid:
                    _keep(heaps, place, fields)
    except OSError as error:
        why = "is not there" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise CommandFault("data_file_unavailable", f"the imaging data file {why}") from None
    of_tooth = {tooth: [image for _, _, image in sorted(heap, reverse=True)] for tooth, heap in heaps.items()}
    return Found(of_tooth, skipped)


def _open(settings):
    """Where the operator has put it outside of the folders of images, it is read there; a link does not lead there."""
    path = os.path.abspath(settings.data_file)
    if any(os.path.commonpath([path, os.path.abspath(root)]) == os.path.abspath(root) for root in settings.allowed_roots):
        try:
            require_allowed(os.path.realpath(path), settings)
        except ImageFault as fault:
            raise CommandFault(fault.code, "the imaging data file is a link out of the folders that may be read") from None
    # A pipe would make us wait by being opened.
    file = os.open(os.path.realpath(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError("no regular file")
    return os.fdopen(file, "rb", buffering=1 << 20)


def _lines_of(file):
    """Lines without their ends; None for one that is too long to be one."""
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


def _fields_of(line):
    """What is used of a line, or None where it is short, empty or damaged."""
    text = decode(line) if line else None
    if text is None or "\0" in text:
        return None
    fields = text.split("|", _fields)
    if len(fields) < _fields:
        return None
    patimageid, ordinal, filename, day, time = (field.strip() for field in fields[:5])
    patimageid = plain_id(patimageid)
    taken = _day_of(day)
    if patimageid is None or taken is None or not filename or not _ordinal.fullmatch(ordinal):
        return None
    if time and not _time.fullmatch(time):
        return None
    return patimageid, int(ordinal), filename, taken, time, fields[10]


def _keep(heaps, place, fields):
    _, ordinal, filename, day, time, tooth_data = fields
    image = ImageLine(ordinal, filename, day, time)
    for tooth in teeth_of(tooth_data):
        heap = heaps.get(tooth)
        if heap is None:
            continue
        # Of two that are the same in all this, the later line is the newer one.
        entry = (image.age, place, image)
        if len(heap) < kept_of_a_tooth:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)


@lru_cache(maxsize=50_000)
def _day_of(text):
    if not _day.fullmatch(text):
        return None
    try:
        return date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return None
