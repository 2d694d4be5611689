"""Tests malicious and damaged files: each fails with a code, within limited time and memory."""

import io
import os
import random
import resource
import struct
import tempfile
import time
import unittest
import zlib

from PIL import Image
from muster_imaging.convert import decode_picture
from muster_imaging.faults import ImageFault
from muster_imaging.pool import Pool
from muster_imaging.tiff import read_tiff

from . import tiffs

CODES = {"not_a_tiff", "damaged", "unsupported", "image_too_large"}


def find_fault_code(data):
    try:
        decode_picture(read_tiff(data))
    except ImageFault as fault:
        return fault.code
    return None


def make_files():
    grey, rgb = tiffs.make_gradient(40, 30), tiffs.make_gradient(40, 30, samples=3)
    deep, lines = tiffs.make_gradient(40, 30, bits=16), tiffs.make_black_and_white(40, 30)
    # The files contain only what the image needs, so that every missing byte is noticed.
    plain = {"description": False}
    yield "grey", tiffs.make_tiff(grey, **plain)
    yield "LZW", tiffs.make_tiff(rgb, samples=3, photometric=2, compression=tiffs.LZW, order=">", **plain)
    yield "deflate", tiffs.make_tiff(deep, bits=16, compression=tiffs.DEFLATE, **plain)
    yield "PackBits", tiffs.make_tiff(lines, bits=1, compression=tiffs.PACK_BITS, order=">", **plain)
    yield "JPEG", tiffs.make_tiff(grey, compression=tiffs.JPEG, rows_per_strip=30, **plain)


class Truncated(unittest.TestCase):
    def test_a_file_that_is_cut_in_its_header_or_at_a_random_byte_is_never_an_image(self):
        chance = random.Random(7)
        cuts = 0
        for name, whole in make_files():
            self.assertIsNone(find_fault_code(whole))
            places = list(range(0, 320)) + [chance.randrange(len(whole)) for _ in range(200)]
            for place in places:
                code = find_fault_code(whole[: min(place, len(whole) - 2)])
                self.assertIn(code, CODES, f"{name} cut at {place}")
                cuts += 1
        print(f"{cuts} cuts, each with a code")

    def test_a_file_with_random_changes_is_an_image_or_fails_with_a_code(self):
        chance = random.Random(11)
        found = {}
        for _, whole in make_files():
            for _ in range(300):
                changed = bytearray(whole)
                for _ in range(chance.randrange(1, 8)):
                    changed[chance.randrange(min(400, len(changed)))] = chance.randrange(256)
                code = find_fault_code(bytes(changed))
                self.assertIn(code, CODES | {None})
                found[code] = found.get(code, 0) + 1
        print(f"changed files: {found}")


def make_jpeg(width, height, **how):
    file = io.BytesIO()
    Image.new("L", (width, height), 128).save(file, "JPEG", **how)
    return file.getvalue()


class SmallJpegs(unittest.TestCase):
    """For missing pixels of a JPEG, the decoder leaves old memory, which may show the previous image."""

    def make_file(self, width, height, parts, **more):
        layout = more or {"rows": height}
        tags = {256: (4, [width]), 257: (4, [height]), 258: (3, [8]), 259: (3, [7]), 262: (3, [1]), 277: (3, [1])}
        if "tile" in layout:
            tags.update({322: (4, [layout["tile"]]), 323: (4, [layout["tile"]]), 325: (4, [len(part) for part in parts])})
        else:
            tags.update({278: (4, [layout["rows"]]), 279: (4, [len(part) for part in parts])})
        return tiffs.assemble_tiff(tags, parts, "<")

    def test_a_jpeg_that_is_smaller_than_its_part_is_damaged(self):
        decode_picture(read_tiff(tiffs.make_tiff([[200 + (x * y) % 50 for x in range(300)] for y in range(300)])))
        self.assertEqual(find_fault_code(self.make_file(300, 300, [make_jpeg(64, 64)])), "damaged")
        self.assertEqual(find_fault_code(self.make_file(300, 300, [make_jpeg(300, 299)])), "damaged")
        self.assertEqual(find_fault_code(self.make_file(300, 300, [make_jpeg(299, 300)])), "damaged")
        self.assertEqual(find_fault_code(self.make_file(300, 300, [make_jpeg(300, 160), make_jpeg(300, 100)], rows=160)), "damaged")
        self.assertEqual(find_fault_code(self.make_file(64, 64, [make_jpeg(64, 48)], tile=64)), "damaged")

    def test_a_jpeg_cannot_hide_its_size(self):
        whole = make_jpeg(300, 300)
        frame = whole.index(b"\xff\xc0")
        small = make_jpeg(64, 64)
        at = small.index(b"\xff\xc0")
        frame_bytes = whole[frame : frame + 4] + whole[frame + 4 : frame + 13]
        for hidden in (
            # Before the real frame: in a comment, after other bytes, after an invalid length.
            small[:2] + b"\xff\xfe\0\x0f" + frame_bytes + small[2:],
            small[:2] + b"rubbish" + small[2:],
            small[:2] + b"\xff\xfe\0\0" + frame_bytes + small[2:],
            small[:2] + b"\xff\0" + frame_bytes + small[2:],
            small[:2] + b"\xff" * 1_000_000 + small[2:],
            # After the real frame, and without one.
            small[: at + 13] + frame_bytes + small[at + 13 :],
            small[:at] + small[at + 13 :],
        ):
            self.assertEqual(find_fault_code(self.make_file(300, 300, [hidden])), "damaged")

    def test_jpegs_of_the_right_size_are_accepted_in_all_encodings(self):
        for one in (make_jpeg(300, 300), make_jpeg(300, 300, progressive=True), make_jpeg(300, 300) + bytes(500)):
            self.assertIsNone(find_fault_code(self.make_file(300, 300, [one])))
        filled = make_jpeg(300, 300).replace(b"\xff\xdb", b"\xff\xff\xff\xdb", 1)
        self.assertIsNone(find_fault_code(self.make_file(300, 300, [filled])))
        self.assertIsNone(find_fault_code(self.make_file(300, 300, [make_jpeg(300, 160), make_jpeg(300, 140)], rows=160)))
        # Some programs write a last strip as high as the others, although it has fewer rows.
        self.assertIsNone(find_fault_code(self.make_file(300, 300, [make_jpeg(300, 160), make_jpeg(300, 160)], rows=160)))
        self.assertIsNone(find_fault_code(self.make_file(70, 70, [make_jpeg(48, 48)] * 4, tile=48)))


class LongDeflates(unittest.TestCase):
    """At the end of a part that unpacks to more bytes than expected, the decoder leaves old memory."""

    def make_file(self, width, rows, parts, predictor=1):
        tags = {256: (4, [width]), 257: (4, [rows * len(parts)]), 258: (3, [8]), 259: (3, [8]), 262: (3, [1]), 277: (3, [1]),
                278: (4, [rows]), 279: (4, [len(part) for part in parts]), 317: (3, [predictor])}  # fmt: skip
        return tiffs.assemble_tiff(tags, parts, "<")

    def read_levels(self, data):
        """Returns the levels of an image that is read right after one with other levels."""
        for samples in (1, 3):
            row = [200 + x % 50 for x in range(128 * samples)]
            decode_picture(read_tiff(tiffs.make_tiff([row] * 128, samples=samples, photometric=1 if samples == 1 else 2)))
        return {level for _, level in decode_picture(read_tiff(data)).getcolors()}

    def test_a_part_that_unpacks_to_more_shows_no_pixels_of_another_image(self):
        for more in range(0, 600, 7):
            part = zlib.compress(bytes([10]) * (96 * 64 + more))
            self.assertEqual(self.read_levels(self.make_file(96, 64, [part])), {10}, more)
            self.assertEqual(self.read_levels(self.make_file(96, 1, [zlib.compress(bytes([10]) * (96 + more))] * 64)), {10}, more)
        differences = zlib.compress(bytes([10, *[0] * 95]) * 70)
        self.assertEqual(self.read_levels(self.make_file(96, 64, [differences], predictor=2)), {10})

    def test_a_part_that_unpacks_to_less_or_is_invalid_is_damaged(self):
        whole = zlib.compress(bytes(96 * 64))
        for part in (zlib.compress(bytes(96 * 64 - 1)), whole[:-9], whole[:-1] + b"x", b"x" * 50):
            self.assertEqual(find_fault_code(self.make_file(96, 64, [part])), "damaged")


class Directories(unittest.TestCase):
    def make_changed_tiff(self, tag, kind, count, value, order="<", **how):
        """A TIFF with one entry of its directory replaced."""
        data = bytearray(tiffs.make_tiff(tiffs.make_gradient(40, 30), order=order, **how))
        (entries,) = struct.unpack_from(order + "H", data, 8)
        places = [at for at in range(10, 10 + 12 * entries, 12) if struct.unpack_from(order + "H", data, at)[0] == tag]
        struct.pack_into(order + "HHLL", data, places[0], tag, kind, count, value)
        return bytes(data)

    def test_a_directory_that_leads_to_itself_is_read_once(self):
        data = bytearray(tiffs.make_tiff(tiffs.make_gradient(40, 30)))
        (count,) = struct.unpack_from("<H", data, 8)
        struct.pack_into("<L", data, 10 + 12 * count, 8)
        self.assertIsNone(find_fault_code(bytes(data)))

    def test_a_directory_with_cyclic_subdirectories_is_read_once(self):
        data = tiffs.make_tiff(tiffs.make_gradient(40, 30), more={330: (4, [8]), 34665: (4, [8])}.items())
        self.assertIsNone(find_fault_code(data))

    def test_impossible_sizes_are_refused_before_anything_is_unpacked(self):
        for tag, value in ((256, 4_000_000_000), (257, 4_000_000_000), (256, 70_000)):
            self.assertEqual(find_fault_code(self.make_changed_tiff(tag, 4, 1, value)), "image_too_large")
        self.assertEqual(find_fault_code(self.make_changed_tiff(256, 4, 1, 0)), "damaged")

    def test_impossible_counts_are_refused_before_anything_is_read(self):
        began = time.process_time()
        for tag in (273, 279, 258, 320):
            for count, value in ((0xFFFFFFFF, 8), (0x40000000, 8), (0, 0), (1, 0xFFFFFFFF)):
                how = {"photometric": 3, "palette": [0] * 768} if tag == 320 else {}
                data = self.make_changed_tiff(tag, 3 if tag == 320 else 4, count, value, **how)
                self.assertIn(find_fault_code(data), {"damaged", "unsupported"})
        self.assertLess(time.process_time() - began, 10)

    def test_a_wrong_number_of_rows_per_strip_is_refused(self):
        self.assertEqual(find_fault_code(self.make_changed_tiff(278, 4, 1, 0)), "damaged")
        self.assertEqual(find_fault_code(self.make_changed_tiff(278, 4, 1, 1)), "damaged")

    def test_overlapping_strips_do_not_multiply_the_file(self):
        whole = tiffs.make_tiff(tiffs.make_gradient(40, 30), rows_per_strip=1)
        data = bytearray(whole)
        at = data.index(struct.pack("<HH", 279, 4))
        (place,) = struct.unpack_from("<L", data, at + 8)
        for each in range(30):
            struct.pack_into("<L", data, place + 4 * each, len(data) // 2)
        self.assertEqual(find_fault_code(bytes(data)), "damaged")

    def test_a_file_full_of_directories_is_refused_in_limited_time(self):
        directory = struct.pack("<H", 1000) + bytes(12 * 1000)
        header = b"II*\0" + struct.pack("<L", 0)
        data = bytearray(b"II*\0xxxx" * 8000 + directory * 2)
        for at in range(0, 64_000, 8):
            struct.pack_into("<L", data, at + 4, 64_000 - at)
        self.assertEqual(len(header), 8)
        began = time.process_time()
        self.assertEqual(find_fault_code(bytes(data)), "damaged")
        self.assertLess(time.process_time() - began, 20)

    def test_a_strip_that_unpacks_to_200_mb_needs_no_more_memory_than_its_image(self):
        rows = [[0] * 100] * 100
        bomb = bytearray(tiffs.make_tiff(rows, compression=tiffs.DEFLATE, rows_per_strip=100))
        strip = zlib.compress(bytes(200_000_000))
        data = tiffs.assemble_tiff(
            {256: (4, [100]), 257: (4, [100]), 258: (3, [8]), 259: (3, [8]), 262: (3, [1]), 277: (3, [1]), 278: (3, [100]),
             279: (4, [len(strip)])}, [strip], "<")  # fmt: skip
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        find_fault_code(data)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"200 MB in {len(data)} bytes: memory grew by {grown // 1024} MiB")
        self.assertLess(grown, 100 * 1024)
        self.assertTrue(bomb)


class InProcesses(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="muster-imaging-")
        self.root = os.path.join(self.folder.name, "images")
        os.mkdir(self.root)
        os.environ["IMAGING_ROOT"] = self.root

    def tearDown(self):
        del os.environ["IMAGING_ROOT"]
        self.folder.cleanup()

    def convert_files(self, names):
        variants = {"full": {"format": "JPEG", "quality": 90, "path": os.path.join(self.folder.name, "{}.jpg")}}
        tasks = [
            {"folder": self.root, "patimageid": None, "filename": name,
             "variants": {"full": {**variants["full"], "path": variants["full"]["path"].format(name)}}}
            for name in names
        ]  # fmt: skip
        ends = Pool(self.folder.name, processes=2).convert_images(tasks)
        return {task["filename"]: answer for task, answer in ends}

    def write_file(self, name, data):
        with open(os.path.join(self.root, name), "wb") as file:
            file.write(data)

    def test_an_image_that_kills_its_process_fails_alone(self):
        good = tiffs.make_tiff(tiffs.make_gradient(40, 30))
        for at in range(6):
            self.write_file(f"good-{at}", good)
        self.write_file("deadly", good)
        # Simulates a crash of the decoder: the process that reads this file is killed.
        with open(os.path.join(self.root, "deadly"), "r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(b"\0")
        os.environ["MUSTER_TEST_DEADLY"] = "deadly"
        try:
            with Patched():
                ends = self.convert_files([f"good-{at}" for at in range(3)] + ["deadly"] + [f"good-{at}" for at in range(3, 6)])
        finally:
            del os.environ["MUSTER_TEST_DEADLY"]
        self.assertEqual(ends.pop("deadly").code, "damaged")
        self.assertEqual([answer["width"] for answer in ends.values()], [40] * 6)

    def test_the_largest_accepted_image_fits_into_the_memory_limit(self):
        # 99 megapixels of RGB that must be rotated, which needs the most memory.
        width, height = 11_000, 9_000
        strip = zlib.compress(bytes(width * 3) * 100, 1)
        tags = {256: (4, [width]), 257: (4, [height]), 258: (3, [8, 8, 8]), 259: (3, [8]), 262: (3, [2]), 274: (3, [6]),
                277: (3, [3]), 278: (3, [100]), 279: (4, [len(strip)] * 90)}  # fmt: skip
        self.write_file("large", tiffs.assemble_tiff(tags, [strip] * 90, "<"))
        self.write_file("larger", tiffs.assemble_tiff({**tags, 256: (4, [11_200])}, [strip] * 90, "<"))
        ends = self.convert_files(["large", "larger"])
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        print(f"99 megapixels took {most} MiB at most")
        self.assertEqual((ends["large"]["width"], ends["large"]["height"]), (height, width))
        self.assertEqual(ends["larger"].code, "image_too_large")
        self.assertLess(most, 2048)


class Patched:
    """Installs a sitecustomize that kills a converter which opens the file that MUSTER_TEST_DEADLY names."""

    TEXT = """
import os, signal, sys
name = os.environ.get("MUSTER_TEST_DEADLY")
if name:
    def hook(event, args):
        if event == "open" and isinstance(args[0], str) and args[0].endswith("/" + name):
            os.kill(os.getpid(), signal.SIGSEGV)
    sys.addaudithook(hook)
"""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        with open(os.path.join(self.folder.name, "sitecustomize.py"), "w") as file:
            file.write(self.TEXT)
        self.before = os.environ.get("PYTHONPATH", "")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [self.folder.name, self.before]))

    def __exit__(self, *_):
        os.environ["PYTHONPATH"] = self.before
        self.folder.cleanup()
