import os
import sqlite3
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

from muster_imaging import practice_database
from muster_imaging.faults import CommandFault
from muster_imaging.lookup import Patient
from muster_imaging.practice_database import read_patients
from muster_imaging.settings import DEFAULT_QUERY

rows = [(1234, "C-77", "Ann", "Smith"), (42.0, 5, "José", "Muñoz"), (None, None, None, "Neu"), ("0007", " x ", " A ", "B")]
patients = [
    Patient("1234", "C-77", "Ann", "Smith"),
    Patient("42", "5", "José", "Muñoz"),
    Patient(None, None, "", "Neu"),
    Patient("7", "x", "A", "B"),
]


def list_patients(address, query=DEFAULT_QUERY, seconds=120):
    return read_patients(address, query, list, seconds)


class Sqlite(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "practice #1%.db")
        self.address = f"sqlite:///{self.path}"
        self.writer = sqlite3.connect(self.path, isolation_level=None)
        self.addCleanup(self.writer.close)
        self.writer.execute("CREATE TABLE patient (patimageid, chart, first_name, last_name)")
        self.writer.executemany("INSERT INTO patient VALUES (?, ?, ?, ?)", rows)

    def catch_code(self, *arguments, **options):
        with self.assertRaises(CommandFault) as caught:
            list_patients(*arguments, **options)
        self.text = str(caught.exception)
        self.assertNotIn(self.folder, self.text)
        return caught.exception.code

    def test_patients_are_read_by_column_names(self):
        self.assertEqual(list_patients(self.address), patients)
        query = "SELECT 'x' AS more, last_name AS LAST_NAME, chart, first_name, patimageid AS PatImageID FROM patient"
        self.assertEqual(list_patients(self.address, query), patients)

    def test_a_relative_path_is_below_the_working_folder(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.assertEqual(list_patients("sqlite:///" + os.path.basename(self.path)), patients)

    def test_the_database_cannot_be_written(self):
        for query in ("DELETE FROM patient", "UPDATE patient SET chart = 1 RETURNING *", "CREATE TABLE x (y)"):
            self.assertEqual(self.catch_code(self.address, query), "practice_query_failed")
        self.assertEqual(list_patients(self.address), patients)
        self.assertEqual(self.catch_code(f"sqlite:///{self.folder}/none.db"), "practice_database_unavailable")
        self.assertEqual(os.listdir(self.folder), [os.path.basename(self.path)])

    def test_only_committed_rows_of_a_database_in_use_are_read(self):
        for mode in ("delete", "wal"):
            self.writer.execute(f"PRAGMA journal_mode={mode}")
            self.writer.execute("BEGIN IMMEDIATE")
            self.writer.execute("INSERT INTO patient VALUES (1, '', 'Not', 'Committed')")
            self.assertEqual(list_patients(self.address), patients)
            self.writer.execute("ROLLBACK")

    def test_a_short_lock_is_awaited_and_a_long_lock_is_reported(self):
        self.writer.execute("BEGIN EXCLUSIVE")
        with mock.patch.object(practice_database, "_connect_seconds", 0.2):
            self.assertEqual(self.catch_code(self.address), "practice_database_busy")
        waiting = threading.Event()
        found = []
        reader = threading.Thread(target=lambda: (waiting.set(), found.extend(list_patients(self.address))))
        reader.start()
        waiting.wait()
        self.writer.execute("ROLLBACK")
        reader.join()
        self.assertEqual(found, patients)

    def test_a_database_with_an_empty_write_ahead_log_is_read_without_write_permission(self):
        self.writer.execute("PRAGMA journal_mode=wal")
        self.writer.execute("INSERT INTO patient VALUES (1, '', '', '')")
        self.writer.close()
        os.chmod(self.folder, 0o555)
        self.addCleanup(os.chmod, self.folder, 0o700)
        # Root may write anywhere, so the test continues as another user.
        if os.geteuid() == 0:
            self.addCleanup(os.seteuid, 0)
            os.seteuid(65_534)
        self.assertEqual(len(list_patients(self.address)), len(rows) + 1)

    def test_a_query_that_does_not_end_times_out(self):
        query = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS patimageid, 1 AS chart, 1 AS first_name, 1 AS last_name FROM n"
        began = time.monotonic()
        self.assertEqual(self.catch_code(self.address, query, seconds=0.5), "practice_database_timeout")
        self.assertLess(time.monotonic() - began, 5)

    def test_errors_are_reported_without_a_row(self):
        self.assertEqual(self.catch_code(self.address, "SELECT patimageid FROM patient"), "practice_query_failed")
        self.assertIn("chart, first_name, last_name", self.text)
        self.assertEqual(self.catch_code(self.address, "SELECT * FROM nobody"), "practice_query_failed")
        self.assertIn("no such table: nobody", self.text)
        self.assertEqual(self.catch_code(self.address, "SELECT json(last_name) AS patimageid FROM patient"), "practice_query_failed")
        self.assertNotIn("Smith", self.text)
        for address in ("", "postgres://x:secret@y", "sqlite://x", self.path):
            self.assertEqual(self.catch_code(address), "practice_database_unavailable")
            self.assertNotIn("secret", self.text)
        with open(os.path.join(self.folder, "text.db"), "w") as file:
            file.write("this is not a database, but Smith, Ann " * 100)
        self.assertEqual(self.catch_code(f"sqlite:///{self.folder}/text.db"), "practice_database_unavailable")

    def test_names_in_an_old_encoding_are_read(self):
        self.writer.execute("DELETE FROM patient")
        self.writer.execute("INSERT INTO patient VALUES (1, 'c', CAST(X'4A6F73E9' AS TEXT), CAST(X'4D75F16F7A' AS TEXT))")
        self.assertEqual(list_patients(self.address), [Patient("1", "c", "José", "Muñoz")])


class DriverError(Exception):
    pass


class Odbc(unittest.TestCase):
    """Uses a fake driver with pyodbc's interface, because pyodbc is not installed on every machine."""

    secret = "DRIVER=x;SERVER=y;PWD=secret"

    def list_odbc_patients(self, connect):
        driver = types.SimpleNamespace(Error=DriverError, connect=connect)
        with mock.patch.dict(sys.modules, {"pyodbc": driver}):
            return list_patients(f"odbc:{self.secret}")

    def catch_code(self, connect):
        with self.assertRaises(CommandFault) as caught:
            self.list_odbc_patients(connect)
        self.assertNotIn("secret", str(caught.exception))
        self.assertNotIn("Smith", str(caught.exception))
        self.assertIsNone(caught.exception.__cause__)
        return caught.exception.code, str(caught.exception)

    def test_the_error_without_pyodbc_names_the_package_to_install(self):
        with mock.patch.dict(sys.modules, {"pyodbc": None}), self.assertRaises(CommandFault) as caught:
            list_patients(f"odbc:{self.secret}")
        self.assertEqual(caught.exception.code, "odbc_unavailable")
        self.assertIn("python3-pyodbc", str(caught.exception))
        self.assertNotIn("secret", str(caught.exception))

    def test_rows_are_fetched_in_batches_over_a_read_only_connection_that_is_closed(self):
        seen = {}

        class Cursor:
            description = [("PATIMAGEID",), ("Chart",), ("first_name",), ("last_name",)]
            left = list(rows)

            def execute(self, query):
                seen["query"] = query

            def fetchmany(self, count):
                now, self.left = self.left[:2], self.left[2:]
                return now

        class Connection:
            timeout = 0

            def cursor(self):
                seen["timeout"] = self.timeout
                return Cursor()

            def close(self):
                seen["closed"] = True

        def connect(text, **options):
            seen.update(options, text=text)
            return Connection()

        self.assertEqual(self.list_odbc_patients(connect), patients)
        self.assertEqual((seen["text"], seen["readonly"], seen["query"]), (self.secret, True, DEFAULT_QUERY))
        self.assertTrue(0 < seen["timeout"] <= 120 and seen["closed"])

    def test_the_drivers_sqlstate_is_reported_but_not_its_message(self):
        def refuse(text, **_):
            raise DriverError("28000", f"[28000] login failed for {text}")

        self.assertEqual(
            self.catch_code(refuse),
            ("practice_database_unavailable", "the practice database cannot be reached (SQLSTATE 28000)"),
        )

        class Connection:
            def __init__(self, state):
                self.state = state

            def cursor(self):
                raise DriverError(self.state, "Smith, Ann is not a number")

            def close(self):
                pass

        self.assertEqual(self.catch_code(lambda *_, **__: Connection("42S02"))[0], "practice_query_failed")
        self.assertEqual(self.catch_code(lambda *_, **__: Connection("HYT00"))[0], "practice_database_timeout")


if __name__ == "__main__":
    unittest.main()
