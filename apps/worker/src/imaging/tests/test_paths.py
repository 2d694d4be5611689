import os
import tempfile
import unittest

from muster_imaging.faults import ImageFault
from muster_imaging.paths import open_image, read_all, resolve_folder
from muster_imaging.settings import read_settings


class Paths(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="muster-paths-")
        self.addCleanup(self.place.cleanup)
        self.root = os.path.join(self.place.name, "images")
        self.outside = os.path.join(self.place.name, "outside")
        for folder in (self.root, self.outside, os.path.join(self.root, "1234")):
            os.mkdir(folder)
        self.write_file(self.root, "a.dex", b"of the root")
        self.write_file(self.outside, "secret.dex", b"secret")

    def write_file(self, folder, name, data):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)

    def build_settings(self, **more):
        return read_settings({"IMAGING_ROOT": self.root, **more})

    def read_image_file(self, folder, filename, patimageid=None, **more):
        settings = self.build_settings(**more)
        return read_all(open_image(resolve_folder(folder, settings), patimageid, filename, settings))

    def assert_refused(self, code, *arguments, **more):
        with self.assertRaises(ImageFault) as caught:
            self.read_image_file(*arguments, **more)
        self.assertEqual(caught.exception.code, code, arguments)
        self.assertNotIn("secret", str(caught.exception))

    def test_files_are_found_by_absolute_and_by_relative_paths(self):
        self.assertEqual(self.read_image_file(self.root, "a.dex"), b"of the root")
        self.assertEqual(self.read_image_file(".", "a.dex"), b"of the root")
        self.write_file(os.path.join(self.root, "1234"), "b.dex", b"of the patient")
        self.assertEqual(self.read_image_file("1234", "b.dex"), b"of the patient")

    def test_the_patients_own_folder_is_preferred(self):
        self.assertEqual(self.read_image_file(self.root, "a.dex", 1234), b"of the root")
        self.write_file(os.path.join(self.root, "1234"), "a.dex", b"of the patient")
        self.assertEqual(self.read_image_file(self.root, "a.dex", 1234), b"of the patient")
        self.assertEqual(self.read_image_file(self.root, "a.dex", 99), b"of the root")

    def test_missing_files_are_not_found(self):
        self.assert_refused("not_found", self.root, "none.dex")
        self.assert_refused("not_found", os.path.join(self.root, "none"), "a.dex")
        self.assert_refused("not_found", self.root, "1234")
        self.assert_refused("not_found", self.root, "x" * 300)

    def test_folders_outside_are_refused_in_all_spellings(self):
        for folder in (self.outside, "..", "../outside", f"{self.root}/../outside", "/", "/etc", self.root + "-more"):
            self.assert_refused("path_not_allowed", folder, "secret.dex")

    def test_names_that_lead_elsewhere_are_refused(self):
        for name in ("..", ".", "", "../outside/secret.dex", "1234/b.dex", "..\\x", "a\0b"):
            self.assert_refused("path_not_allowed", self.root, name)

    def test_links_are_followed_inside_the_root_but_not_out_of_it(self):
        os.symlink("a.dex", os.path.join(self.root, "within.dex"))
        self.assertEqual(self.read_image_file(self.root, "within.dex"), b"of the root")
        os.symlink(os.path.join(self.outside, "secret.dex"), os.path.join(self.root, "out.dex"))
        os.symlink(self.outside, os.path.join(self.root, "folder"))
        os.symlink("folder", os.path.join(self.root, "twice"))
        self.assert_refused("path_not_allowed", self.root, "out.dex")
        self.assert_refused("path_not_allowed", os.path.join(self.root, "folder"), "secret.dex")
        self.assert_refused("path_not_allowed", os.path.join(self.root, "twice"), "secret.dex")
        os.symlink("loop", os.path.join(self.root, "loop"))
        with self.assertRaises(ImageFault):
            self.read_image_file(self.root, "loop")
        os.rmdir(os.path.join(self.root, "1234"))
        os.symlink(self.outside, os.path.join(self.root, "1234"))
        self.assert_refused("path_not_allowed", self.root, "secret.dex", 1234)

    def test_a_root_may_be_a_link(self):
        link = os.path.join(self.place.name, "link")
        os.symlink(self.root, link)
        self.assertEqual(self.read_image_file(link, "a.dex", IMAGING_ROOT=link), b"of the root")

    def test_pipes_and_devices_are_not_files(self):
        os.mkfifo(os.path.join(self.root, "pipe"))
        self.assert_refused("not_found", self.root, "pipe")
        self.assert_refused("not_found", "/dev", "zero", IMAGING_ROOT="/dev")

    def test_other_allowed_roots_replace_the_root(self):
        more = {"IMAGING_ALLOWED_ROOTS": f"{self.outside}; {self.root}/1234"}
        self.assertEqual(self.read_image_file(self.outside, "secret.dex", **more), b"secret")
        self.assert_refused("path_not_allowed", self.root, "a.dex", **more)

    def test_without_a_root_nothing_is_read(self):
        for folder in (self.root, "1234", "/"):
            with self.assertRaises(ImageFault) as caught:
                resolve_folder(folder, read_settings({}))
            self.assertEqual(caught.exception.code, "path_not_allowed")

    def test_a_file_of_more_than_256_mib_is_too_large(self):
        with open(os.path.join(self.root, "large"), "wb") as file:
            file.truncate(256 * 1024 * 1024 + 1)
        self.assert_refused("image_too_large", self.root, "large")

    def test_network_paths_are_mapped(self):
        more = {"IMAGING_PATH_MAP": rf"\\Server\Images={self.root}; \\server\images\old={self.root}/1234"}
        self.write_file(os.path.join(self.root, "1234"), "b.dex", b"mapped")
        for folder in (r"\\server\images\1234", r"\\SERVER\Images\\1234" + "\\", "//server/images/1234", r"\\server\images\old"):
            self.assertEqual(self.read_image_file(folder, "b.dex", **more), b"mapped", folder)
        for folder in (r"\\server\other", r"\\server\imagesandmore", r"\\server\images\..\other", r"\\other\images", r"C:\images", "\\images"):
            self.assert_refused("path_not_allowed", folder, "a.dex", **more)

    def test_a_mapped_folder_must_be_allowed(self):
        more = {"IMAGING_PATH_MAP": rf"\\server\images={self.outside}"}
        self.assert_refused("path_not_allowed", r"\\server\images", "secret.dex", **more)


class SettingsOf(unittest.TestCase):
    def test_missing_settings_have_the_contracts_defaults(self):
        settings = read_settings({"IMAGING_ROOT": "/mnt/images"})
        self.assertEqual(settings.data_file, "/mnt/images/images.dat")
        self.assertEqual(settings.patient_query, "SELECT patimageid, chart, first_name, last_name FROM patient")
        self.assertEqual(settings.allowed_roots, ("/mnt/images",))
        self.assertIsNone(settings.practice_database)

    def test_a_data_file_may_be_elsewhere(self):
        self.assertEqual(read_settings({"IMAGING_DATA_FILE": "/srv/a.dat"}).data_file, "/srv/a.dat")
        self.assertEqual(read_settings({"IMAGING_ROOT": "/m", "IMAGING_DATA_FILE": "b.dat"}).data_file, "/m/b.dat")
