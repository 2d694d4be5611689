"""Compares every supported kind of TIFF, in both byte orders, with the pixels from which it was written."""

import io
import unittest

from muster_imaging import convert
from muster_imaging import tiff as reader
from muster_imaging.convert import decode_picture
from muster_imaging.faults import ImageFault
from PIL import Image

from . import tiffs

WIDTH, HEIGHT = 61, 47
COMPRESSIONS = {
    "none": tiffs.NONE,
    "LZW": tiffs.LZW,
    "PackBits": tiffs.PACK_BITS,
    "deflate": tiffs.DEFLATE,
    "old deflate": tiffs.OLD_DEFLATE,
}
ORDERS = {"II": "<", "MM": ">"}


def read_pixels(data):
    image = decode_picture(reader.read_tiff(data))
    return image.mode, image.size, list(image.getdata())


def flatten_rows(rows):
    return [value for row in rows for value in row]


def group_rgb(rows):
    return [tuple(row[at : at + 3]) for row in rows for at in range(0, len(row), 3)]


def scale_values(rows):
    values = flatten_rows(rows)
    low, high = min(values), max(values)
    return [int((value - low) * 255 / (high - low) + 0.5) for value in values]


class Kinds(unittest.TestCase):
    def list_variants(self):
        for order_name, order in ORDERS.items():
            for name, compression in COMPRESSIONS.items():
                with self.subTest(order=order_name, compression=name):
                    yield {"order": order, "compression": compression}

    def test_grey_of_8_bits_keeps_every_value(self):
        rows = tiffs.make_gradient(WIDTH, HEIGHT)
        for how in self.list_variants():
            self.assertEqual(read_pixels(tiffs.make_tiff(rows, **how)), ("L", (WIDTH, HEIGHT), flatten_rows(rows)))

    def test_grey_of_1_bit_is_black_and_white(self):
        rows = tiffs.make_black_and_white(WIDTH, HEIGHT)
        for how in self.list_variants():
            expected = [255 * value for value in flatten_rows(rows)]
            self.assertEqual(read_pixels(tiffs.make_tiff(rows, bits=1, **how)), ("L", (WIDTH, HEIGHT), expected))

    def test_grey_of_16_bits_is_scaled_by_its_own_extremes(self):
        rows = tiffs.make_gradient(WIDTH, HEIGHT, bits=16, low=1000, high=5095)
        for how in self.list_variants():
            self.assertEqual(read_pixels(tiffs.make_tiff(rows, bits=16, **how)), ("L", (WIDTH, HEIGHT), scale_values(rows)))

    def test_a_large_image_of_16_bits_is_scaled_by_the_extremes_of_all_its_bands(self):
        rows = tiffs.make_gradient(WIDTH, HEIGHT, bits=16, low=3, high=65_535)
        before, convert.PIXELS_AT_ONCE = convert.PIXELS_AT_ONCE, 5 * WIDTH
        self.addCleanup(setattr, convert, "PIXELS_AT_ONCE", before)
        for order in ORDERS.values():
            self.assertEqual(read_pixels(tiffs.make_tiff(rows, bits=16, order=order))[2], scale_values(rows))

    def test_min_is_white_is_inverted_at_every_depth(self):
        grey, deep = tiffs.make_gradient(WIDTH, HEIGHT), tiffs.make_gradient(WIDTH, HEIGHT, bits=16, low=7, high=60_000)
        line = tiffs.make_black_and_white(WIDTH, HEIGHT)
        for how in self.list_variants():
            how["photometric"] = 0
            self.assertEqual(read_pixels(tiffs.make_tiff(grey, **how))[2], [255 - value for value in flatten_rows(grey)])
            inverted = [255 - 255 * value for value in flatten_rows(line)]
            self.assertEqual(read_pixels(tiffs.make_tiff(line, bits=1, **how))[2], inverted)
            inverted = [255 - value for value in scale_values(deep)]
            self.assertEqual(read_pixels(tiffs.make_tiff(deep, bits=16, **how))[2], inverted)

    def test_rgb_keeps_every_value(self):
        rows = tiffs.make_gradient(WIDTH, HEIGHT, samples=3)
        for how in self.list_variants():
            for planar in (1, 2):
                made = tiffs.make_tiff(rows, samples=3, photometric=2, planar=planar, **how)
                self.assertEqual(read_pixels(made), ("RGB", (WIDTH, HEIGHT), group_rgb(rows)))

    def test_a_palette_shows_its_colours_and_a_grey_palette_stays_grey(self):
        indexes = tiffs.make_gradient(WIDTH, HEIGHT)
        colors = [(255 - i, i, i * 7 % 256) for i in range(256)]
        palette = [each[channel] * 257 for channel in range(3) for each in colors]
        greys = [(255 - i) * 257 for i in range(256)] * 3
        for how in self.list_variants():
            how.update(photometric=3)
            expected = [colors[index] for index in flatten_rows(indexes)]
            self.assertEqual(read_pixels(tiffs.make_tiff(indexes, palette=palette, **how)), ("RGB", (WIDTH, HEIGHT), expected))
            inverted = [255 - index for index in flatten_rows(indexes)]
            self.assertEqual(read_pixels(tiffs.make_tiff(indexes, palette=greys, **how)), ("L", (WIDTH, HEIGHT), inverted))

    def test_a_palette_of_8_bit_colours_is_scaled_to_16_bits(self):
        indexes = tiffs.make_gradient(WIDTH, HEIGHT)
        palette = [(i * (channel + 3)) % 256 for channel in range(3) for i in range(256)]
        made = tiffs.make_tiff(indexes, photometric=3, palette=palette)
        expected = [tuple(i * (channel + 3) % 256 for channel in range(3)) for i in flatten_rows(indexes)]
        self.assertEqual(read_pixels(made)[2], expected)

    def test_palettes_of_fewer_colours_are_read(self):
        for bits in (1, 4):
            indexes = tiffs.make_gradient(WIDTH, HEIGHT, bits=bits)
            palette = [(i * 50 + channel * 20) % 256 * 257 for channel in range(3) for i in range(1 << bits)]
            for how in self.list_variants():
                made = tiffs.make_tiff(indexes, bits=bits, photometric=3, palette=palette, **how)
                expected = [tuple((i * 50 + channel * 20) % 256 for channel in range(3)) for i in flatten_rows(indexes)]
                self.assertEqual(read_pixels(made)[2], expected)

    def test_predictor_2_is_undone(self):
        for order in ORDERS.values():
            for compression in (tiffs.LZW, tiffs.DEFLATE):
                how = {"order": order, "compression": compression, "predictor": 2}
                with self.subTest(**how):
                    grey = tiffs.make_gradient(WIDTH, HEIGHT)
                    self.assertEqual(read_pixels(tiffs.make_tiff(grey, **how))[2], flatten_rows(grey))
                    rgb = tiffs.make_gradient(WIDTH, HEIGHT, samples=3)
                    self.assertEqual(read_pixels(tiffs.make_tiff(rgb, samples=3, photometric=2, **how))[2], group_rgb(rgb))
                    deep = tiffs.make_gradient(WIDTH, HEIGHT, bits=16, low=300, high=40_000)
                    self.assertEqual(read_pixels(tiffs.make_tiff(deep, bits=16, **how))[2], scale_values(deep))

    def test_jpeg_is_read_with_small_differences(self):
        for order in ORDERS.values():
            with self.subTest(order=order):
                grey = tiffs.make_gradient(64, 48)
                made = tiffs.make_tiff(grey, order=order, compression=tiffs.JPEG, rows_per_strip=16)
                self.assertNear(read_pixels(made), ("L", (64, 48), flatten_rows(grey)))
                inverted = tiffs.make_tiff(grey, order=order, compression=tiffs.JPEG, rows_per_strip=48, photometric=0)
                self.assertNear(read_pixels(inverted), ("L", (64, 48), [255 - value for value in flatten_rows(grey)]))
                rgb = tiffs.make_gradient(64, 48, samples=3)
                made = tiffs.make_tiff(rgb, order=order, samples=3, photometric=6, compression=tiffs.JPEG, rows_per_strip=16,
                                  more={530: (3, [1, 1])}.items())  # fmt: skip
                self.assertNear(read_pixels(made), ("RGB", (64, 48), group_rgb(rgb)), 8)

    def assertNear(self, found, expected, most=4):
        self.assertEqual(found[:2], expected[:2])
        for one, other in zip(found[2], expected[2]):
            pairs = zip(one, other) if isinstance(one, tuple) else [(one, other)]
            self.assertLessEqual(max(abs(a - b) for a, b in pairs), most)

    def test_a_fill_order_of_lowest_bit_first_is_read(self):
        rows = tiffs.make_black_and_white(WIDTH, HEIGHT)
        for compression in (tiffs.NONE, tiffs.PACK_BITS, tiffs.LZW):
            made = tiffs.make_tiff(rows, bits=1, fill_order=2, compression=compression)
            self.assertEqual(read_pixels(made)[2], [255 * value for value in flatten_rows(rows)])

    def test_a_large_image_with_many_lzw_codes_is_unpacked(self):
        rows = [[(x * x + y * 31) % 256 for x in range(200)] for y in range(150)]
        self.assertEqual(read_pixels(tiffs.make_tiff(rows, compression=tiffs.LZW, rows_per_strip=150))[2], flatten_rows(rows))

    def test_an_image_of_one_value_does_not_divide_by_zero(self):
        self.assertEqual(set(read_pixels(tiffs.make_tiff([[700] * 9] * 5, bits=16))[2]), {0})

    def test_each_orientation_is_made_upright(self):
        rows = tiffs.make_gradient(WIDTH, HEIGHT)
        at = lambda x, y: rows[y][x]  # noqa: E731
        right, bottom = WIDTH - 1, HEIGHT - 1
        # Position in the file of a pixel of the upright image, by the standard's definition of rows and columns.
        places = {
            1: lambda x, y: (x, y),
            2: lambda x, y: (right - x, y),
            3: lambda x, y: (right - x, bottom - y),
            4: lambda x, y: (x, bottom - y),
            5: lambda x, y: (y, x),
            6: lambda x, y: (y, bottom - x),
            7: lambda x, y: (right - y, bottom - x),
            8: lambda x, y: (right - y, x),
        }
        for orientation, place in places.items():
            with self.subTest(orientation=orientation):
                size = (WIDTH, HEIGHT) if orientation < 5 else (HEIGHT, WIDTH)
                expected = [at(*place(x, y)) for y in range(size[1]) for x in range(size[0])]
                self.assertEqual(read_pixels(tiffs.make_tiff(rows, orientation=orientation)), ("L", size, expected))

    def test_the_first_of_several_pages_is_used(self):
        first, second = tiffs.make_gradient(WIDTH, HEIGHT), [[9] * 30 for _ in range(20)]
        for order in ORDERS.values():
            made = tiffs.make_tiff(first, order=order, pages=[tiffs.make_tiff(second, order=order)])
            self.assertEqual(Image.open(io.BytesIO(made)).n_frames, 2)
            self.assertEqual(read_pixels(made)[2], flatten_rows(first))

    def test_a_header_before_the_tiff_is_skipped_with_its_decoys(self):
        rows = tiffs.make_gradient(WIDTH, HEIGHT)
        decoys = {
            "nothing": b"",
            "text": b"DEXIMG 1.0 Doe, Jane\0" * 40,
            "headers that lead nowhere": b"II*\0\xff\xff\xff\x7fMM\0*\x00\x00\x00\x00II*\0\x03\0\0\0" * 20,
            "a directory of nothing": b"II*\0\x08\0\0\0\0\0" + bytes(30),
            "a directory without an image": b"II*\0\x08\0\0\0\x01\0\x0f\x01\x03\0\x01\0\0\0\x05\0\0\0" + bytes(10),
            "one that is cut off": b"MM\0*\0\0\0\x08\x03\xff" + bytes(12),
            "as much as there may be": bytes(64 * 1024),
        }
        for order in ORDERS.values():
            for name, decoy in decoys.items():
                for directory_first in (True, False):
                    with self.subTest(order=order, decoy=name, directory_first=directory_first):
                        for compression in (tiffs.NONE, tiffs.LZW):
                            made = tiffs.make_tiff(rows, order=order, directory_first=directory_first, compression=compression)
                            self.assertEqual(read_pixels(decoy + made)[2], flatten_rows(rows))

    def test_a_tiff_after_more_than_64_kib_is_not_found(self):
        made = tiffs.make_tiff(tiffs.make_gradient(WIDTH, HEIGHT))
        with self.assertRaises(ImageFault) as caught:
            read_pixels(bytes(64 * 1024 + 1) + made)
        self.assertEqual(caught.exception.code, "not_a_tiff")

    def test_tiles_are_assembled(self):
        # Pillow does not write tiles, so this file is written by hand.
        width, height, side = 40, 24, 16
        rows = tiffs.make_gradient(width, height)
        tiles = []
        for top in range(0, height, side):
            for left in range(0, width, side):
                part = [
                    [rows[y][x] if y < height and x < width else 0 for x in range(left, left + side)]
                    for y in range(top, top + side)
                ]
                tiles.append(bytes(flatten_rows(part)))
        tags = {256: (3, [width]), 257: (3, [height]), 258: (3, [8]), 259: (3, [1]), 262: (3, [1]), 277: (3, [1]),
                322: (3, [side]), 323: (3, [side]), 325: (4, [len(tile) for tile in tiles])}  # fmt: skip
        self.assertEqual(read_pixels(tiffs.assemble_tiff(tags, tiles, "<"))[2], flatten_rows(rows))

    def test_other_kinds_are_reported_as_unsupported(self):
        rows = tiffs.make_gradient(WIDTH, HEIGHT)
        others = {
            "fax": {"compression": 4},
            "old JPEG": {"compression": 6},
            "CMYK": {"samples": 4, "photometric": 5},
            "Lab": {"samples": 3, "photometric": 8},
            "floating point": {"more": {339: (3, [3])}.items()},
        }
        for name, how in others.items():
            with self.subTest(name=name):
                wide = [row * how.get("samples", 1) for row in rows]
                with self.assertRaises(ImageFault) as caught:
                    read_pixels(tiffs.make_tiff(wide, **how))
                self.assertEqual(caught.exception.code, "unsupported")
