"""Checks of a compressed part in a TIFF that the decoder does not make."""

import zlib


def limit_to_size(part, size):
    """Returns the part, compressed, with exactly `size` bytes in it, or None if it has fewer. If a part has more bytes
    than expected, the decoder leaves old memory in its last bytes, which may show pixels of another image."""
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(part, size)
        is_more = bool(inflater.decompress(inflater.unconsumed_tail, 1))
    except zlib.error:
        return None
    if len(data) < size:
        return None
    return zlib.compress(data, 1) if is_more else part
