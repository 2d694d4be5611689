"""Reads the first image of an untrusted TIFF, checks it, and writes it to a new TIFF for the decoder.

A .dex file is a TIFF, or a TIFF after a header. Pillow gets only the new TIFF, with the few tags that the pixels need:
no second directory, no metadata, and no offset that leads anywhere else.
"""

import struct
from dataclasses import dataclass

from .deflate import limit_to_size
from .faults import ImageFault
from .jpeg import find_jpeg_fault

MAX_HEADER_BYTES = 64 * 1024
MAX_PIXELS = 100_000_000
# Maximum width and height of a JPEG.
MAX_SIDE = 65_500
MAX_ENTRIES = 1024
# Limit over all possible directories of a file, because a file may be full of them.
MAX_ENTRIES_LOOKED_AT = 200_000
MAX_PARTS = 1_000_000

MAGICS = (b"II*\0", b"MM\0*")
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
FORMATS = {1: "B", 3: "H", 4: "L", 7: "B", 13: "L"}

(WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC, FILL_ORDER, STRIP_OFFSETS, ORIENTATION) = (
    256, 257, 258, 259, 262, 266, 273, 274)  # fmt: skip
(SAMPLES, ROWS_PER_STRIP, STRIP_BYTES, PLANAR, PREDICTOR, COLOR_MAP) = (277, 278, 279, 284, 317, 320)
TILE_WIDTH, TILE_HEIGHT, TILE_OFFSETS, TILE_BYTES = 322, 323, 324, 325
EXTRA_SAMPLES, SAMPLE_FORMAT, JPEG_TABLES, SUBSAMPLING, REFERENCE = 338, 339, 347, 530, 532

NONE, LZW, JPEG, DEFLATE, OLD_DEFLATE, PACK_BITS = 1, 5, 7, 8, 32946, 32773
COMPRESSIONS = (NONE, LZW, JPEG, DEFLATE, OLD_DEFLATE, PACK_BITS)
MIN_IS_WHITE, MIN_IS_BLACK, RGB, PALETTE, YCBCR = 0, 1, 2, 3, 6

REVERSED_BITS = bytes(int(f"{value:08b}"[::-1], 2) for value in range(256))


@dataclass
class Picture:
    width: int
    height: int
    bits: int
    # Whether the image has no colours.
    is_grey: bool
    # Whether small values are bright.
    is_inverted: bool
    orientation: int
    # A new TIFF with only this image.
    clean: bytes


def read_tiff(data):
    """Returns the first image of the first TIFF in the data. Raises an ImageFault if there is none to show."""
    start, order, entries = find_directory(data)
    return Reader(memoryview(data)[start:], order, entries).read_image()


def find_directory(data):
    """Finds the first header with a readable first directory."""
    is_any, looked_at = False, 0
    for start in find_headers(data):
        is_any = True
        tiff = memoryview(data)[start:]
        order = "<" if tiff[:2] == b"II" else ">"
        entries = read_entries(tiff, order)
        looked_at += len(entries) if entries is not None else 1
        if entries and describes_image(entries):
            return start, order, entries
        if looked_at > MAX_ENTRIES_LOOKED_AT:
            break
    if is_any:
        raise ImageFault("damaged", "no directory of a TIFF can be read")
    raise ImageFault("not_a_tiff", "there is no TIFF in the file")


def find_headers(data):
    at = 0
    end = MAX_HEADER_BYTES + len(MAGICS[0])
    while True:
        found = [place for place in (data.find(magic, at, end) for magic in MAGICS) if place != -1]
        if not found:
            return
        yield min(found)
        at = min(found) + 1


def read_entries(tiff, order):
    """Returns (kind, count, position of the value) by tag, or None if this is not a directory."""
    if len(tiff) < 8:
        return None
    (offset,) = struct.unpack_from(order + "L", tiff, 4)
    if offset < 8 or offset + 2 > len(tiff):
        return None
    (count,) = struct.unpack_from(order + "H", tiff, offset)
    if not 1 <= count <= MAX_ENTRIES or offset + 2 + 12 * count > len(tiff):
        return None
    entries = {}
    for at in range(offset + 2, offset + 2 + 12 * count, 12):
        tag, kind, number = struct.unpack_from(order + "HHL", tiff, at)
        size = SIZES.get(kind, 1) * number
        place = at + 8 if size <= 4 else struct.unpack_from(order + "L", tiff, at + 8)[0]
        entries.setdefault(tag, (kind, number, place))
    return entries


def describes_image(entries):
    return WIDTH in entries and HEIGHT in entries and (STRIP_OFFSETS in entries or TILE_OFFSETS in entries)


def make_damaged_fault(why):
    return ImageFault("damaged", why)


def make_unsupported_fault(why):
    return ImageFault("unsupported", why)


class Reader:
    def __init__(self, tiff, order, entries):
        self.tiff = tiff
        self.order = order
        self.entries = entries

    def read_image(self):
        width, height = self.read_number(WIDTH), self.read_number(HEIGHT)
        if not width or not height:
            raise make_damaged_fault("the image has no size")
        if width * height > MAX_PIXELS or max(width, height) > MAX_SIDE:
            raise ImageFault("image_too_large", "the image has more than 100 megapixels, or a side of more than 65,500")
        self.width, self.height = width, height
        self.compression = self.read_number(COMPRESSION, NONE)
        if self.compression not in COMPRESSIONS:
            raise make_unsupported_fault(f"compression {self.compression} is not supported")
        self.photometric = self.read_number(PHOTOMETRIC)
        self.samples = self.read_number(SAMPLES, 1)
        self.planar = self.read_number(PLANAR, 1)
        self.bits = self.read_bits()
        self.require_supported()
        self.predictor = self.read_number(PREDICTOR, 1) if self.compression in (LZW, DEFLATE, OLD_DEFLATE) else 1
        if self.predictor != 1 and (self.predictor != 2 or self.bits not in (8, 16)):
            raise make_unsupported_fault(f"predictor {self.predictor} is not supported")
        color_map = self.read_color_map() if self.photometric == PALETTE else None
        layout, parts = self.read_parts()
        orientation = self.read_number(ORIENTATION, 1)
        return Picture(
            width=width,
            height=height,
            bits=self.bits,
            is_grey=self.photometric in (MIN_IS_WHITE, MIN_IS_BLACK) or (color_map is not None and is_grey(color_map)),
            is_inverted=self.photometric == MIN_IS_WHITE,
            orientation=orientation if 1 <= orientation <= 8 else 1,
            clean=self.write_clean_tiff(layout, parts, color_map),
        )

    def read_bits(self):
        if not 1 <= self.samples <= 4:
            raise make_unsupported_fault(f"{self.samples} samples of a pixel are not supported")
        bits = self.read_numbers(BITS, self.samples) if BITS in self.entries else [1]
        if len(bits) < self.samples and len(bits) != 1 or len(set(bits)) != 1:
            raise make_unsupported_fault("samples of several sizes are not supported")
        return bits[0]

    def require_supported(self):
        kind = (self.photometric, self.samples, self.bits)
        is_fine = (
            (self.photometric in (MIN_IS_WHITE, MIN_IS_BLACK) and self.samples == 1 and self.bits in (1, 8, 16))
            or (self.photometric == RGB and self.samples in (3, 4) and self.bits == 8)
            or (self.photometric == PALETTE and self.samples == 1 and self.bits in (1, 2, 4, 8))
            or (kind == (YCBCR, 3, 8) and self.compression == JPEG)
        )
        if self.photometric is None:
            raise make_damaged_fault("the image does not specify the meaning of its pixels")
        if not is_fine:
            raise make_unsupported_fault("pixels of this kind are not supported")
        if self.compression == JPEG and (self.bits != 8 or self.photometric == PALETTE or self.planar != 1):
            raise make_unsupported_fault("a JPEG of this kind is not supported")
        if SAMPLE_FORMAT in self.entries and self.read_number(SAMPLE_FORMAT) != 1:
            raise make_unsupported_fault("pixels that are not whole numbers are not supported")
        if self.planar not in (1, 2):
            raise make_damaged_fault("the order of the samples is not known")
        if self.samples == 1:
            self.planar = 1

    def read_color_map(self):
        count = 3 << self.bits
        if self.entries.get(COLOR_MAP, (0, 0, 0))[1] < count:
            raise make_damaged_fault("the palette is too short")
        colors = self.read_numbers(COLOR_MAP, count)
        # Some programs write eight bits although the format has sixteen.
        return colors if max(colors) > 255 else [each * 257 for each in colors]

    def read_parts(self):
        """Returns the tags that describe the strips or tiles, and the bytes of each part."""
        if TILE_OFFSETS in self.entries:
            wide, high = self.read_number(TILE_WIDTH), self.read_number(TILE_HEIGHT)
            if not wide or not high or wide % 16 or high % 16 or wide * high > MAX_PIXELS:
                raise make_damaged_fault("the tiles have no size")
            across, down = -(-self.width // wide), -(-self.height // high)
            layout = {TILE_WIDTH: wide, TILE_HEIGHT: high}
            offsets_tag, bytes_tag = TILE_OFFSETS, TILE_BYTES
            rows = [high] * (across * down)
        else:
            high = min(self.read_number(ROWS_PER_STRIP, self.height), self.height)
            if not high:
                raise make_damaged_fault("the strips have no rows")
            wide, down = self.width, -(-self.height // high)
            layout = {ROWS_PER_STRIP: high}
            offsets_tag, bytes_tag = STRIP_OFFSETS, STRIP_BYTES
            rows = [high] * (down - 1) + [self.height - high * (down - 1)]
        planes = self.samples if self.planar == 2 else 1
        line = -(-wide * self.bits * (self.samples // planes) // 8)
        count = len(rows) * planes
        if count > MAX_PARTS:
            raise make_damaged_fault("the image is cut into too many parts")
        offsets = self.read_numbers(offsets_tag, count)
        if bytes_tag in self.entries:
            sizes = self.read_numbers(bytes_tag, count)
        elif self.compression == NONE:
            sizes = [line * each for each in rows * planes]
        else:
            raise make_damaged_fault("the image does not specify the size of its parts")
        if sum(sizes) > len(self.tiff):
            raise make_damaged_fault("the file ends within its pixels")
        parts = []
        for offset, size, high in zip(offsets, sizes, rows * planes):
            if size == 0 or offset < 8 or offset + size > len(self.tiff):
                raise make_damaged_fault("the file ends within its pixels")
            part = self.tiff[offset : offset + size]
            if self.compression == NONE:
                if size < line * high:
                    raise make_damaged_fault("the file ends within its pixels")
                part = part[: line * high]
            parts.append(part)
        if self.compression == JPEG:
            for part, high in zip(parts, rows):
                why = find_jpeg_fault(part, wide, high)
                if why:
                    raise make_damaged_fault(why)
        elif self.read_number(FILL_ORDER, 1) == 2:
            parts = [bytes(part).translate(REVERSED_BITS) for part in parts]
        if self.compression in (DEFLATE, OLD_DEFLATE):
            parts = [limit_to_size(part, line * high) for part, high in zip(parts, rows * planes)]
            if None in parts:
                raise make_damaged_fault("the pixels of a part are not all there")
        return layout, parts

    def write_clean_tiff(self, layout, parts, color_map):
        """Returns a TIFF with only this image and the tags that it needs, in the byte order of its samples."""
        photometric = MIN_IS_BLACK if self.photometric == MIN_IS_WHITE else self.photometric
        is_tiled = TILE_WIDTH in layout
        tags = {
            WIDTH: ("L", [self.width]),
            HEIGHT: ("L", [self.height]),
            BITS: ("H", [self.bits] * self.samples),
            COMPRESSION: ("H", [DEFLATE if self.compression == OLD_DEFLATE else self.compression]),
            PHOTOMETRIC: ("H", [photometric]),
            SAMPLES: ("H", [self.samples]),
            PLANAR: ("H", [self.planar]),
            TILE_BYTES if is_tiled else STRIP_BYTES: ("L", [len(part) for part in parts]),
            **{tag: ("L", [value]) for tag, value in layout.items()},
        }
        if self.predictor != 1:
            tags[PREDICTOR] = ("H", [self.predictor])
        if self.samples == 4:
            tags[EXTRA_SAMPLES] = ("H", [0])
        if color_map:
            tags[COLOR_MAP] = ("H", color_map)
        if self.compression == JPEG:
            tags.update(self.build_jpeg_tags())
        offsets_tag = TILE_OFFSETS if is_tiled else STRIP_OFFSETS
        tags[offsets_tag] = ("L", [0] * len(parts))
        at = 8 + len(self.pack_directory(tags))
        offsets = []
        for part in parts:
            offsets.append(at)
            at += len(part)
        tags[offsets_tag] = ("L", offsets)
        header = (b"II*\0" if self.order == "<" else b"MM\0*") + struct.pack(self.order + "L", 8)
        return b"".join([header, self.pack_directory(tags), *parts])

    def build_jpeg_tags(self):
        tags = {}
        if JPEG_TABLES in self.entries:
            tables = self.read_tag_bytes(JPEG_TABLES, 65_536)
            tags[JPEG_TABLES] = ("B", list(tables))
        if self.photometric == YCBCR:
            if SUBSAMPLING in self.entries:
                subsampling = self.read_numbers(SUBSAMPLING, 2)
                if any(each not in (1, 2, 4) for each in subsampling):
                    raise make_damaged_fault("the JPEG's colour subsampling is unknown")
                tags[SUBSAMPLING] = ("H", subsampling)
        return tags

    def pack_directory(self, tags):
        """Returns the directory, which is at offset 8, and after it the values that do not fit into it."""
        behind = 8 + 2 + 12 * len(tags) + 4
        entries, values = [], []
        for tag, (form, numbers) in sorted(tags.items()):
            kind = 7 if tag == JPEG_TABLES else {"B": 1, "H": 3, "L": 4}[form]
            value = struct.pack(f"{self.order}{len(numbers)}{form}", *numbers)
            if len(value) <= 4:
                place = value.ljust(4, b"\0")
            else:
                place = struct.pack(self.order + "L", behind)
                value += b"\0" * (len(value) % 2)
                behind += len(value)
                values.append(value)
            entries.append(struct.pack(self.order + "HHL", tag, kind, len(numbers)) + place)
        return b"".join([struct.pack(self.order + "H", len(tags)), *entries, b"\0\0\0\0", *values])

    def read_number(self, tag, otherwise=None):
        if tag not in self.entries:
            return otherwise
        return self.read_numbers(tag, 1)[0]

    def read_numbers(self, tag, count):
        """Returns the first `count` numbers of a tag. All numbers that the tag declares must be in the file."""
        kind, number, place = self.entries.get(tag, (0, 0, 0))
        if kind not in FORMATS:
            raise make_damaged_fault(f"tag {tag} does not contain numbers")
        if place + SIZES[kind] * number > len(self.tiff):
            raise make_damaged_fault(f"tag {tag} leads out of the file")
        if number < count:
            # A single value applies to every sample.
            if tag == BITS and number == 1:
                count = 1
            else:
                raise make_damaged_fault(f"tag {tag} is too short")
        raw = self.read_tag_bytes(tag, None, count)
        return list(struct.unpack(f"{self.order}{count}{FORMATS[kind]}", raw))

    def read_tag_bytes(self, tag, most, count=None):
        kind, number, place = self.entries[tag]
        size = SIZES.get(kind, 1) * (number if count is None else count)
        if (most is not None and size > most) or place + size > len(self.tiff):
            raise make_damaged_fault(f"tag {tag} leads out of the file")
        return bytes(self.tiff[place : place + size])


def is_grey(color_map):
    third = len(color_map) // 3
    return color_map[:third] == color_map[third : 2 * third] == color_map[2 * third :]
