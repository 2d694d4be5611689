"""Checks of a JPEG in a TIFF that the decoder does not make."""

import struct

# Markers of a JPEG: frames, markers without a length, and markers after which there is no frame.
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
BARE_MARKERS = frozenset(range(0xD0, 0xD8)) | {0x01}
NOT_BEFORE_FRAMES = (0x00, 0xD8, 0xD9, 0xDA)
# Maximum number of markers before the frame, including fill bytes.
MOST_STEPS = 300


def find_jpeg_fault(part, wide, high):
    """Returns why the JPEG cannot be a strip or tile of this size, or None. For missing pixels, the decoder invents
    values or leaves old memory, which may show another image."""
    if bytes(part[:2]) != b"\xff\xd8" or b"\xff\xd9" not in bytes(part[-65_536:]).rstrip(b"\0")[-64:]:
        return "the file ends within its pixels"
    size = read_jpeg_size(part)
    if size is None or size[0] < wide or size[1] < high:
        return "a JPEG in the file is smaller than its part of the image"
    return None


def read_jpeg_size(part):
    """Returns the width and height in the frame, or None if there is no frame before the pixels."""
    at = 2
    for _ in range(MOST_STEPS):
        if at + 9 > len(part) or part[at] != 0xFF:
            return None
        marker = part[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in FRAMES:
            height, width = struct.unpack_from(">HH", part, at + 5)
            return width, height
        elif marker in BARE_MARKERS:
            at += 2
        else:
            (length,) = struct.unpack_from(">H", part, at + 2)
            if marker in NOT_BEFORE_FRAMES or length < 2:
                return None
            at += 2 + length
    return None
