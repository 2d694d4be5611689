import datetime
import os
import tempfile
import tracemalloc
import unittest

from muster_imaging.data_file import max_images_of_a_tooth, read_data_file
from muster_imaging.faults import CommandFault
from muster_imaging.settings import read_settings


def format_line(patimageid=1234, ordinal=1, filename="a.dex", day="20250102", time="101112", teeth="11", rest=""):
    return f"{patimageid}|{ordinal}|{filename}|{day}|{time}|five|six|seven|eight|nine|{teeth}{rest}"


class DataFile(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "images.dat")

    def write_and_read(self, content, teeth=(8,), patimageid="1234"):
        if isinstance(content, list):
            content = "".join(f"{each}\r\n" for each in content).encode()
        with open(self.path, "wb") as file:
            file.write(content)
        return self.read_images(patimageid, teeth)

    def read_images(self, patimageid="1234", teeth=(8,), **options):
        environment = {"IMAGING_ROOT": self.folder.name, **options}
        return read_data_file(read_settings(environment), patimageid, list(teeth))

    def read_filenames(self, content, tooth=8, patimageid="1234"):
        return [image.filename for image in self.write_and_read(content, [tooth], patimageid).of_tooth[tooth]]

    def test_the_newest_is_first_by_date_then_time_then_ordinal_and_an_empty_time_is_the_earliest(self):
        lines = [
            format_line(ordinal=5, filename="no-time", time=""),
            format_line(ordinal=4, filename="midnight", time="000000"),
            format_line(ordinal=10, filename="later-ordinal"),
            format_line(ordinal=9, filename="ordinal"),
            format_line(ordinal=1, filename="newest", day="20250103", time=""),
            format_line(ordinal=99, filename="oldest", day="20241231", time="235959"),
        ]
        wanted = ["newest", "later-ordinal", "ordinal", "midnight", "no-time", "oldest"]
        for turn in range(len(lines)):
            self.assertEqual(self.read_filenames(lines[turn:] + lines[:turn]), wanted)

    def test_only_the_patients_own_lines_count(self):
        others = [format_line(patimageid) for patimageid in (12345, 234, 123, -1234)]
        lines = [format_line(filename="own"), *others, format_line("01234", filename="zero")]
        self.assertEqual(sorted(self.read_filenames(lines)), ["own", "zero"])
        self.assertEqual(self.read_filenames(lines, patimageid=None), [])

    def test_an_image_belongs_to_each_of_its_teeth_and_to_no_other_tooth(self):
        found = self.write_and_read([format_line(teeth="11-13,21;55")], teeth=range(1, 33)).of_tooth
        self.assertEqual([tooth for tooth, images in found.items() if images], [6, 7, 8, 9])

    def test_short_empty_and_damaged_lines_are_skipped_and_counted_and_do_not_affect_other_lines(self):
        damaged = [
            "",
            "   ",
            "1234|1|a.dex|20250102|101112|",
            format_line().rsplit("|", 1)[0],
            format_line(patimageid="x"),
            format_line(patimageid=""),
            format_line(ordinal="x"),
            format_line(ordinal=""),
            format_line(ordinal="1" * 5_000),
            format_line(filename=" "),
            format_line(day="20250230"),
            format_line(day="2025010"),
            format_line(day=""),
            format_line(day="00000101"),
            format_line(time="256060"),
            format_line(time="1011"),
            format_line(filename="a\0b"),
            format_line(rest="x" * 70_000),
            format_line(rest="x" * 200_000),
        ]
        first, last = format_line(filename="first"), format_line(filename="last", ordinal=2, rest="|more|fields")
        found = self.write_and_read([first, *damaged, last])
        self.assertEqual(found.lines_skipped, len(damaged))
        self.assertEqual([image.filename for image in found.of_tooth[8]], ["last", "first"])
        # This line is neither UTF-8 nor Windows-1252.
        content = format_line().encode() + b"\n" + format_line(filename="a\x81b").encode("latin1")
        self.assertEqual(self.write_and_read(content).lines_skipped, 1)

    def test_a_file_that_is_cut_at_any_byte_can_be_read(self):
        content = b"\xef\xbb\xbf" + "".join(f"{each}\n" for each in [format_line(), "x", format_line(filename="é")]).encode()
        for end in range(len(content) + 1):
            found = self.write_and_read(content[:end])
            self.assertLessEqual(found.lines_skipped, 2)

    def test_both_encodings_are_detected_line_by_line_with_and_without_a_byte_order_mark(self):
        for mark in ("", "\ufeff"):
            content = (mark + format_line(filename="Zähne.dex") + "\n").encode()
            self.assertEqual(self.read_filenames(content), ["Zähne.dex"])
        content = format_line(filename="Zähne–1.dex").encode("cp1252") + b"\r\n" + format_line(filename="Zähne2.dex", ordinal=2).encode()
        self.assertEqual(self.read_filenames(content), ["Zähne2.dex", "Zähne–1.dex"])
        content = format_line(teeth="11–13").encode("cp1252")
        self.assertEqual(self.read_filenames(content, tooth=7), ["a.dex"])

    def test_a_large_file_is_not_loaded_into_memory_and_only_the_newest_images_of_a_tooth_are_retained(self):
        with open(self.path, "w") as file:
            for ordinal in range(60_000):
                file.write(format_line(ordinal=ordinal, filename=f"{ordinal}.dex", rest="|" + "x" * 400) + "\n")
        tracemalloc.start()
        found = self.read_images()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        self.assertLess(peak, os.path.getsize(self.path) / 5)
        self.assertEqual([image.ordinal for image in found.of_tooth[8]], list(range(59_999, 59_999 - max_images_of_a_tooth, -1)))
        self.assertEqual(found.of_tooth[8][0].day, datetime.date(2025, 1, 2))

    def catch_code(self, **options):
        with self.assertRaises(CommandFault) as caught:
            self.read_images(**options)
        self.assertNotIn(self.folder.name, str(caught.exception))
        return caught.exception.code

    def test_a_missing_file_is_an_error_and_not_a_patient_without_images(self):
        self.assertEqual(self.catch_code(), "data_file_unavailable")
        os.mkdir(self.path)
        self.assertEqual(self.catch_code(), "data_file_unavailable")
        os.rmdir(self.path)
        # Opening a pipe usually waits for its other end.
        os.mkfifo(self.path)
        self.assertEqual(self.catch_code(), "data_file_unavailable")

    def test_the_file_is_read_from_its_configured_path_but_not_through_a_link_out_of_the_folders(self):
        with tempfile.TemporaryDirectory() as elsewhere:
            other = os.path.join(elsewhere, "list.dat")
            with open(other, "w") as file:
                file.write(format_line(filename="elsewhere") + "\n")
            self.assertEqual(self.read_images(IMAGING_DATA_FILE=other).of_tooth[8][0].filename, "elsewhere")
            os.symlink(other, self.path)
            self.assertEqual(self.catch_code(), "path_not_allowed")
            self.assertEqual(self.catch_code(IMAGING_DATA_FILE="images.dat"), "path_not_allowed")
            allowed = f"{self.folder.name};{elsewhere}"
            self.assertEqual(self.read_images(IMAGING_ALLOWED_ROOTS=allowed).of_tooth[8][0].filename, "elsewhere")


if __name__ == "__main__":
    unittest.main()
