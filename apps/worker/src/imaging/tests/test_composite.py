import contextlib
import datetime
import os
import sqlite3
import tempfile
import types
import unittest
from unittest import mock

from PIL import Image
from muster_imaging import labels
from muster_imaging.composite import make_cells, run_operation
from muster_imaging.data_file import read_data_file
from muster_imaging.faults import CommandFault
from muster_imaging.labels import draw_label
from muster_imaging.pool import Converter
from muster_imaging.settings import read_settings
from muster_imaging.sheet import CELL, PLACEHOLDER, draw_sheet

from .tiffs import make_tiff


def grey_tiff(width, height, level):
    return make_tiff([[level] * width] * height)


class Folder(unittest.TestCase):
    def setUp(self):
        root, work = tempfile.TemporaryDirectory(), tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.addCleanup(work.cleanup)
        self.root, self.lines, self.reports = root.name, [], []
        # The processes that convert images read this setting too.
        environment = mock.patch.dict(os.environ, {"IMAGING_ROOT": self.root})
        environment.start()
        self.addCleanup(environment.stop)
        self.settings = read_settings()
        service = types.SimpleNamespace(send_progress=lambda *counts: self.reports.append(counts))
        self.job = types.SimpleNamespace(settings=self.settings, service=service, folder=work.name, payload={})

    def write_file(self, name, content):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    def list_image(self, filename, day, teeth, ordinal=1):
        self.lines.append(f"1234|{ordinal}|{filename}|{day}||||||| {teeth}|")

    def make_cells(self, teeth):
        self.write_file("images.dat", "\n".join(self.lines).encode())
        images = read_data_file(self.settings, "1234", teeth)
        self.assertEqual(images.lines_skipped, 0)
        return make_cells(self.job, "1234", images.of_tooth)

    def read_level(self, cells, tooth):
        with Image.open(cells[tooth][0]) as picture:
            return picture.convert("L").getpixel((picture.width // 2, picture.height // 2))


class Choice(Folder):
    def test_the_newest_readable_image_is_used_and_unreadable_images_are_skipped(self):
        self.write_file("1234/good.dex", grey_tiff(400, 300, 50))
        self.write_file("1234/older.dex", grey_tiff(400, 300, 60))
        self.write_file("1234/damaged.dex", grey_tiff(400, 300, 70)[:200])
        self.write_file("1234/text.dex", b"no picture at all")
        for day, name in [
            ("20250101", "older.dex"),
            ("20250102", "good.dex"),
            ("20250103", "damaged.dex"),
            ("20250104", "text.dex"),
            ("20250105", "missing.dex"),
            ("20250106", "../1234/good.dex"),
            ("20250107", "\\\\server\\share\\good.dex"),
        ]:
            self.list_image(name, day, "16,26")
        self.list_image("damaged.dex", "20250108", "11")
        cells = self.make_cells([3, 14, 8, 1])
        self.assertEqual({tooth: day for tooth, (_, day) in cells.items()}, dict.fromkeys([3, 14], datetime.date(2025, 1, 2)))
        self.assertEqual([self.read_level(cells, tooth) for tooth in (3, 14)], [50, 50])
        self.assertEqual(self.reports[-1], (4, 2, 4))

    def test_a_file_is_read_from_the_patients_folder_or_else_from_the_root_and_nowhere_else(self):
        self.write_file("1234/own.dex", grey_tiff(40, 30, 10))
        self.write_file("own.dex", grey_tiff(40, 30, 20))
        self.write_file("5678/own.dex", grey_tiff(40, 30, 30))
        self.write_file("root.dex", grey_tiff(40, 30, 40))
        self.write_file("5678/other.dex", grey_tiff(40, 30, 50))
        # A file that cannot be read is not replaced by another file of the same name.
        self.write_file("1234/damaged.dex", b"")
        self.write_file("damaged.dex", grey_tiff(40, 30, 60))
        for name, tooth in [("own.dex", 11), ("root.dex", 12), ("other.dex", 13), ("damaged.dex", 14)]:
            self.list_image(name, "20250101", tooth)
        cells = self.make_cells([8, 7, 6, 5])
        self.assertEqual({tooth: self.read_level(cells, tooth) for tooth in cells}, {8: 10, 7: 40})

    def test_links_out_of_the_folders_are_not_followed(self):
        with tempfile.TemporaryDirectory() as elsewhere:
            for place in (self.root, elsewhere):
                with open(os.path.join(place, "picture.dex"), "wb") as file:
                    file.write(grey_tiff(40, 30, 99))
            os.symlink(os.path.join(elsewhere, "picture.dex"), os.path.join(self.root, "out.dex"))
            os.symlink("picture.dex", os.path.join(self.root, "in.dex"))
            self.list_image("out.dex", "20250101", 11)
            self.list_image("in.dex", "20250101", 12)
            self.assertEqual(list(self.make_cells([8, 7])), [7])
            # If the patient's folder is such a link, the root is not read either: its file may be another patient's.
            os.symlink(elsewhere, os.path.join(self.root, "1234"))
            self.list_image("picture.dex", "20250101", 13)
            self.assertEqual(self.make_cells([8, 6]), {})

    def test_an_image_of_several_teeth_is_read_once(self):
        self.write_file("all.dex", grey_tiff(40, 30, 99))
        self.list_image("all.dex", "20250101", "11-18,21-28,31-38,41-48")
        cells = self.make_cells(list(range(1, 33)))
        self.assertEqual(len(cells), 32)
        self.assertEqual(len({path for path, _ in cells.values()}), 1)


    def test_a_full_disk_fails_the_command_instead_of_showing_an_older_image(self):
        self.write_file("new.dex", grey_tiff(400, 300, 50))
        self.write_file("old.dex", grey_tiff(400, 300, 60))
        self.list_image("old.dex", "20240101", 11)
        self.list_image("new.dex", "20250101", 11)
        # Every write to /dev/full fails because of a full disk.
        os.symlink("/dev/full", os.path.join(self.job.folder, "cell-0.draft"))
        with self.assertRaises(CommandFault) as caught:
            self.make_cells([8])
        self.assertEqual(caught.exception.code, "upload_failed")

    def test_an_image_is_converted_again_if_its_process_was_killed(self):
        self.write_file("new.dex", grey_tiff(400, 300, 50))
        path = os.path.join(self.job.folder, "picture")
        source = {"folder": self.root, "patimageid": "1234", "filename": "new.dex"}
        task = {**source, "variants": {"cell": {"format": "PNG", "box": CELL, "path": path}}}
        converter = Converter(os.path.join(self.job.folder, "lock"))
        self.addCleanup(converter.close)
        self.assertEqual(converter.convert_image(task)["width"], 400)
        converter.child.kill()
        converter.child.wait()
        self.assertEqual(converter.convert_image(task)["width"], 400)
        converter.child.kill()
        converter.close()


class Sheet(Folder):
    def draw_sheet(self, teeth, found):
        path = os.path.join(self.job.folder, "picture.png")
        Image.new("L", CELL, 200).save(path)
        return draw_sheet(teeth, {tooth: (path, datetime.date(2025, 1, 2)) for tooth in found})

    def test_cells_are_in_the_order_of_the_teeth_six_per_row(self):
        for count in range(1, 33):
            teeth = list(range(32, 32 - count, -1))
            sheet = self.draw_sheet(teeth, teeth[::2])
            self.assertEqual(sheet.size, (320 * min(count, 6), 240 * ((count + 5) // 6)))
            for place in range(count):
                pixel = sheet.getpixel((place % 6 * 320 + 160, place // 6 * 240 + 120))
                self.assertEqual(pixel, PLACEHOLDER if place % 2 else (200, 200, 200))

    def test_each_label_is_different_and_white_on_black(self):
        seen = set()
        sheet = self.draw_sheet(list(range(1, 33)), range(1, 17))
        for place in range(32):
            left, top = place % 6 * 320, place // 6 * 240 + 240 - 32
            label = sheet.crop((left, top, left + 120, top + 32)).convert("L")
            self.assertLess(label.getextrema()[0], 10)
            self.assertGreater(label.getextrema()[1], 245)
            seen.add(label.tobytes())
        self.assertEqual(len(seen), 32)

    def test_an_image_is_fitted_and_not_stretched(self):
        path = os.path.join(self.job.folder, "tall.png")
        Image.new("L", (20, 60), 200).save(path)
        sheet = draw_sheet([8], {8: (path, datetime.date(2025, 1, 2))})
        columns = [x for x in range(320) if sheet.getpixel((x, 10)) == (200, 200, 200)]
        self.assertEqual((columns[0], columns[-1]), (120, 199))

    def test_labels_are_readable_with_every_font_that_pillow_may_have(self):
        font = labels.ImageFont
        # The font that a Pillow without FreeType uses.
        small = getattr(font, "load_default_imagefont", font.load_default)()
        machines = {
            "Pillow's own": {},
            "Debian's": {"load_default": raise_os_error},
            "no font": {"load_default": lambda *size: raise_os_error() if size else small, "truetype": raise_os_error},
        }
        drawn = set()
        for name, has in machines.items():
            labels._load_font.cache_clear()
            with mock.patch.multiple(font, **has) if has else contextlib.nullcontext():
                cell = Image.new("RGB", CELL, (255, 255, 255))
                draw_label(cell, "#14  2025-01-02")
            dark = [x for x in range(320) for y in range(200, 240) if cell.getpixel((x, y)) == (0, 0, 0)]
            self.assertGreater(max(dark) - min(dark), 120, name)
            self.assertLess(max(dark), 319, name)
            drawn.add(cell.tobytes())
        labels._load_font.cache_clear()
        self.assertGreater(len(drawn), 1)


def raise_os_error(*_, **__):
    raise OSError("no such font")


class Whole(Folder):
    def setUp(self):
        super().setUp()
        database = os.path.join(self.root, "practice.db")
        with sqlite3.connect(database) as connection:
            connection.execute("CREATE TABLE patient (patimageid INTEGER, chart TEXT, first_name TEXT, last_name TEXT)")
            connection.executemany(
                "INSERT INTO patient VALUES (?, ?, ?, ?)",
                [(1234, "C-1", "Ann", "Smith"), (5678, "C-2", "Ann", "Smith"), (9, "C-3", "__IMAGING_COMP_END__", "Odd")],
            )
        connection.close()
        self.job.settings = read_settings({"IMAGING_ROOT": self.root, "PRACTICE_DATABASE": f"sqlite:///{database}"})
        self.write_file("images.dat", b"")

    def run_and_catch_fault(self, lookup, **settings):
        self.job.payload = {"patientLookup": lookup, "teeth": [3]}
        if settings:
            self.job.settings = read_settings(settings)
        with self.assertRaises(CommandFault) as caught:
            run_operation(self.job)
        return caught.exception.code, str(caught.exception)

    def test_no_match_and_several_matches_have_different_errors_without_names(self):
        self.assertEqual(self.run_and_catch_fault("Smith, Ann"), ("patient_ambiguous", "2 patients answer to this lookup"))
        self.assertEqual(self.run_and_catch_fault("Smith, Anna"), ("patient_not_found", "no patient answers to this lookup"))

    def test_the_error_names_a_missing_setting(self):
        self.assertEqual(self.run_and_catch_fault("1234", IMAGING_ROOT=self.root)[0], "imaging_not_configured")
        self.assertIn("PRACTICE_DATABASE", self.run_and_catch_fault("1234", IMAGING_ROOT=self.root)[1])
        self.assertIn("IMAGING_ROOT", self.run_and_catch_fault("1234", PRACTICE_DATABASE="sqlite:///x")[1])
        gone = {"IMAGING_ROOT": os.path.join(self.root, "gone"), "PRACTICE_DATABASE": "sqlite:///x"}
        self.assertEqual(self.run_and_catch_fault("1234", **gone)[0], "imaging_root_unavailable")
        unmapped = {"IMAGING_ROOT": "\\\\server\\share", "PRACTICE_DATABASE": "sqlite:///x"}
        self.assertEqual(self.run_and_catch_fault("1234", **unmapped)[0], "imaging_not_configured")


if __name__ == "__main__":
    unittest.main()
