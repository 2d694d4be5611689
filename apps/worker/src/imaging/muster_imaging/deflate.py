"""What of a compressed part within a TIFF the decoder does not see to."""

import zlib


def exactly(part, size):
    """The part, compressed, with so many bytes in it and no more, or None where it has fewer. Where a part has more than
    it is to hold, the decoder leaves the last ones as they stood in memory before: another's picture."""
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(part, size)
        is_more = bool(inflater.decompress(inflater.unconsumed_tail, 1))
    except zlib.error:
        return None
    if len(data) < size:
        return None
    return zlib.compress(data, 1) if is_more else part
