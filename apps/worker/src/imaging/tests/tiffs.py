"""Writes TIFFs of every kind that practices have, following the standard and with separate encoders, so that the reader
is tested against an independent implementation of the format."""

import io
import struct
import zlib

from PIL import Image

NONE, LZW, JPEG, DEFLATE, OLD_DEFLATE, PACK_BITS = 1, 5, 7, 8, 32946, 32773


def make_gradient(width, height, bits=8, samples=1, low=0, high=None):
    """Returns pixels by rows. Every corner has a different value, so that a wrong orientation is noticed."""
    high = (1 << bits) - 1 if high is None else high
    rows = []
    for y in range(height):
        row = []
        for x in range(width):
            for sample in range(samples):
                part = (x * (3 + sample) + y * (width + 5 * sample)) / ((width - 1) * (3 + sample) + (height - 1) * (width + 5 * sample))
                row.append(low + round(part * (high - low)))
        rows.append(row)
    return rows


def make_black_and_white(width, height):
    return [[1 if (x // 4 + y // 6) % 2 or (x < 8 and y < 8) else 0 for x in range(width)] for y in range(height)]


def pack_rows(rows, bits, order):
    """Packs rows into bytes. Each row starts with a new byte."""
    lines = []
    for row in rows:
        if bits == 16:
            lines.append(struct.pack(f"{order}{len(row)}H", *row))
        elif bits == 8:
            lines.append(bytes(row))
        else:
            text = "".join(f"{value:0{bits}b}" for value in row)
            text += "0" * (-len(text) % 8)
            lines.append(bytes(int(text[at : at + 8], 2) for at in range(0, len(text), 8)))
    return lines


def apply_predictor(rows, bits, samples):
    """Applies predictor 2."""
    mask = (1 << bits) - 1
    return [[value if at < samples else (value - row[at - samples]) & mask for at, value in enumerate(row)] for row in rows]


def compress_pack_bits(line):
    out, at = bytearray(), 0
    while at < len(line):
        run = 1
        while run < 128 and at + run < len(line) and line[at + run] == line[at]:
            run += 1
        if run > 1:
            out += bytes([257 - run, line[at]])
            at += run
            continue
        end = at + 1
        while end < len(line) and end - at < 128 and not (end + 1 < len(line) and line[end] == line[end + 1]):
            end += 1
        out += bytes([end - at - 1]) + line[at:end]
        at = end
    return bytes(out)


def compress_lzw(data):
    """Compresses with TIFF's LZW: most significant bit first, and the code width grows one code early."""
    buffer, held, out = 0, 0, bytearray()

    def emit_code(code, width):
        nonlocal buffer, held
        buffer, held = buffer << width | code, held + width
        while held >= 8:
            held -= 8
            out.append(buffer >> held & 255)
        buffer &= (1 << held) - 1

    def new_table():
        return {bytes([value]): value for value in range(256)}

    table, following, width = new_table(), 258, 9
    emit_code(256, width)
    current = b""
    for value in data:
        longer = current + bytes([value])
        if longer in table:
            current = longer
            continue
        emit_code(table[current], width)
        table[longer] = following
        following += 1
        current = bytes([value])
        if following == 4094:
            emit_code(table[current], width)
            emit_code(256, width)
            table, following, width, current = new_table(), 258, 9, b""
        elif following + 1 > (1 << width) and width < 12:
            width += 1
    if current:
        emit_code(table[current], width)
        following += 1
        if following + 1 > (1 << width) and width < 12:
            width += 1
    emit_code(257, width)
    if held:
        out.append(buffer << (8 - held) & 255)
    return bytes(out)


def encode_jpeg(rows, samples, quality=98):
    width = len(rows[0]) // samples
    image = Image.frombytes("L" if samples == 1 else "RGB", (width, len(rows)), b"".join(map(bytes, rows)))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, subsampling=0)
    return out.getvalue()


def compress_lines(lines, compression):
    if compression == NONE:
        return b"".join(lines)
    if compression == PACK_BITS:
        return b"".join(map(compress_pack_bits, lines))
    if compression == LZW:
        return compress_lzw(b"".join(lines))
    return zlib.compress(b"".join(lines))


def make_tiff(
    rows,
    *,
    bits=8,
    samples=1,
    photometric=1,
    order="<",
    compression=NONE,
    rows_per_strip=7,
    predictor=1,
    palette=None,
    orientation=None,
    planar=1,
    fill_order=1,
    pages=(),
    more=(),
    directory_first=True,
    description=True,
):
    """Returns a TIFF. `rows` contain the samples of their pixels in sequence. `pages` are further TIFFs to append."""
    width, height = len(rows[0]) // samples, len(rows)
    planes = [[row[plane::samples] for row in rows] for plane in range(samples)] if planar == 2 else [rows]
    parts = []
    for plane in planes:
        per_pixel = samples if planar == 1 else 1
        for top in range(0, height, rows_per_strip):
            some = plane[top : top + rows_per_strip]
            if compression == JPEG:
                parts.append(encode_jpeg(some, per_pixel))
                continue
            values = apply_predictor(some, bits, per_pixel) if predictor == 2 else some
            part = compress_lines(pack_rows(values, bits, order), compression)
            parts.append(bytes(int(f"{byte:08b}"[::-1], 2) for byte in part) if fill_order == 2 else part)
    tags = {
        254: (4, [0]),
        256: (3, [width]),
        257: (4, [height]),
        258: (3, [bits] * samples),
        259: (3, [compression]),
        262: (3, [photometric]),
        **({270: (2, list(b"Doe, Jane 1234\0"))} if description else {}),
        277: (3, [samples]),
        278: (3, [rows_per_strip]),
        279: (4, [len(part) for part in parts]),
        284: (3, [planar]),
        **({266: (3, [fill_order])} if fill_order != 1 else {}),
        **({317: (3, [predictor])} if predictor != 1 else {}),
        **({320: (3, palette)} if palette else {}),
        **({274: (3, [orientation])} if orientation else {}),
        **dict(more),
    }
    return assemble_tiff(tags, parts, order, pages, directory_first)


def assemble_tiff(tags, parts, order, pages=(), directory_first=True):
    magic = b"II*\0" if order == "<" else b"MM\0*"
    forms = {1: "B", 2: "B", 3: "H", 4: "L", 7: "B"}
    body = bytearray()
    tags = dict(tags)
    size = 8 + 2 + 12 * (len(tags) + 1) + 4
    data_at = size if directory_first else 8
    offsets = []
    for part in parts:
        offsets.append(data_at + len(body))
        body += part
    tags[324 if 322 in tags else 273] = (4, offsets)
    body += b"\0" * (len(body) % 2)
    directory_at = 8 if directory_first else 8 + len(body)
    behind = data_at + len(body) if directory_first else directory_at + size - 8
    entries, values = b"", b""
    for tag, (kind, numbers) in sorted(tags.items()):
        value = struct.pack(f"{order}{len(numbers)}{forms[kind]}", *numbers)
        place = value.ljust(4, b"\0")
        if len(value) > 4:
            place = struct.pack(order + "L", behind + len(values))
            values += value + b"\0" * (len(value) % 2)
        entries += struct.pack(order + "HHL", tag, kind, len(numbers)) + place
    following = 0
    end = behind + len(values)
    if pages:
        following = end
    directory = struct.pack(order + "H", len(tags)) + entries + struct.pack(order + "L", following)
    head = magic + struct.pack(order + "L", directory_at)
    whole = head + (directory + bytes(body) if directory_first else bytes(body) + directory) + values
    for page in pages:
        # Appends the directory of another file, with offsets that fit its new position.
        whole += move_directory(page, len(whole), order)
    return whole


def move_directory(page, by, order):
    """Returns the directory and the data of a TIFF, with offsets for a file to which they are appended."""
    (count,) = struct.unpack_from(order + "H", page, 8)
    out = bytearray(page[8:])
    shift = by - 8
    sizes = {1: 1, 2: 1, 3: 2, 4: 4, 7: 1}
    for at in range(2, 2 + 12 * count, 12):
        tag, kind, number = struct.unpack_from(order + "HHL", out, at)
        is_inline = sizes[kind] * number <= 4
        if not is_inline:
            (place,) = struct.unpack_from(order + "L", out, at + 8)
            struct.pack_into(order + "L", out, at + 8, place + shift)
            if tag == 273:
                for each in range(number):
                    (offset,) = struct.unpack_from(order + "L", page, place + 4 * each)
                    struct.pack_into(order + "L", out, place - 8 + 4 * each, offset + shift)
        elif tag == 273:
            (offset,) = struct.unpack_from(order + "L", out, at + 8)
            struct.pack_into(order + "L", out, at + 8, offset + shift)
    return bytes(out)
