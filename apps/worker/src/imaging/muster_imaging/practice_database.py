"""Reads the practice's patients from its own database, which is opened read-only and gets a single query."""

import os
import re
import threading
import time
from urllib.parse import quote

from .faults import CommandFault
from .lookup import Patient, normalize_id
from .text import decode_text

_columns = ("patimageid", "chart", "first_name", "last_name")
_connect_seconds = 30
_query_seconds = 120
_rows_at_once = 500


def read_patients(address, query, use, seconds=_query_seconds):
    """Returns the result of `use`, which gets the patients one by one. A query that hangs is abandoned."""
    outcome = {}

    def query_and_store():
        try:
            outcome["value"] = use(_query_patients(address, query, time.monotonic() + seconds))
        except BaseException as error:  # noqa: B902 - raised to the caller below
            outcome["error"] = error

    # A driver or a dead mount can block the thread for ever, so the wait for the thread is limited.
    thread = threading.Thread(target=query_and_store, daemon=True)
    thread.start()
    thread.join(seconds + 5)
    if thread.is_alive():
        raise _create_timeout_fault()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


def _query_patients(address, query, deadline):
    address = address.strip()
    if address.startswith("sqlite:///"):
        rows = _read_sqlite_rows(address[len("sqlite:///") :], query, deadline)
    elif address.startswith("odbc:"):
        rows = _read_odbc_rows(address[len("odbc:") :], query, deadline)
    else:
        raise CommandFault("practice_database_unavailable", "PRACTICE_DATABASE begins with neither sqlite:/// nor odbc:")
    places = None
    for names, row in rows:
        if places is None:
            places = _find_columns(names)
        if time.monotonic() > deadline:
            raise _create_timeout_fault()
        yield _build_patient(*(row[place] for place in places))


def _find_columns(names):
    lower = [name.lower() for name in names]
    missing = [name for name in _columns if name not in lower]
    if missing:
        raise _create_query_fault(f"it does not return the column {', '.join(missing)}")
    return [lower.index(name) for name in _columns]


def _build_patient(patimageid, chart, first_name, last_name):
    return Patient(
        normalize_id(_convert_to_text(patimageid)),
        _convert_to_text(chart) or None,
        _convert_to_text(first_name),
        _convert_to_text(last_name),
    )


def _convert_to_text(value):
    if value is None:
        return ""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return (decode_text(bytes(value)) or "").strip()
    # Some drivers return whole numbers as 12.0.
    if not isinstance(value, (str, bool, int)) and re.fullmatch(r"-?[0-9]+\.0+", str(value)):
        return str(value).split(".")[0]
    return str(value).strip()


def _read_sqlite_rows(path, query, deadline):
    import sqlite3

    if not os.path.isfile(path):
        raise CommandFault("practice_database_unavailable", "PRACTICE_DATABASE names a file that is not there for this user")
    connection = _open_sqlite(sqlite3, path)
    try:
        connection.text_factory = lambda found: decode_text(found) or ""
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 20_000)
        cursor = connection.execute(query)
        names = [each[0] for each in cursor.description or ()]
        _find_columns(names)
        for row in cursor:
            yield names, row
    except sqlite3.Error as error:
        raise _convert_sqlite_error(error, deadline) from None
    finally:
        connection.close()


def _open_sqlite(sqlite3, path):
    """Opens the database. If another program holds a lock on it, its committed rows are read after that."""
    uri = f"file:{quote(os.path.abspath(path))}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=_connect_seconds)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        return connection
    except sqlite3.Error as error:
        connection.close()
        # A write-ahead log needs further files, which this user may not create there. An empty log does not need them.
        wants_files = re.search("unable to open|readonly", str(error))
        if not wants_files or any(_has_content(path + end) for end in ("-wal", "-journal")):
            raise _create_unreadable_fault() if wants_files else _convert_sqlite_error(error, float("inf")) from None
    return sqlite3.connect(uri + "&immutable=1", uri=True)


def _has_content(path):
    try:
        return os.path.getsize(path) > 0
    except FileNotFoundError:
        return False


def _convert_sqlite_error(error, deadline):
    text = str(error)
    if "interrupted" in text or time.monotonic() > deadline:
        return _create_timeout_fault()
    if "locked" in text or "busy" in text:
        return CommandFault("practice_database_busy", f"another program held the practice database for {_connect_seconds} s")
    if re.search("unable to open|not a database|image is malformed|disk I/O", text):
        return _create_unreadable_fault()
    # Only messages about the schema are reported, because others may quote a row.
    known = re.match(r"no such (table|column): [\w.]{1,100}|near \"[^\"]{1,40}\": syntax error", text)
    return _create_query_fault(known[0] if known else "SQLite refuses it")


def _read_odbc_rows(connection_string, query, deadline):
    try:
        import pyodbc
    except ImportError:
        raise CommandFault(
            "odbc_unavailable",
            "PRACTICE_DATABASE is reached by ODBC, and this worker's Python has no pyodbc: install it "
            "(Debian: python3-pyodbc) with the database's driver",
        ) from None
    try:
        connection = pyodbc.connect(connection_string, timeout=_connect_seconds, readonly=True, autocommit=True)
    except pyodbc.Error as error:
        # The driver's message may contain the connection string.
        raise CommandFault("practice_database_unavailable", f"the practice database cannot be reached{_format_odbc_state(error)}") from None
    try:
        connection.timeout = max(1, int(deadline - time.monotonic()))
        cursor = connection.cursor()
        cursor.execute(query)
        names = [each[0] for each in cursor.description or ()]
        _find_columns(names)
        while True:
            rows = cursor.fetchmany(_rows_at_once)
            if not rows:
                return
            for row in rows:
                yield names, row
    except pyodbc.Error as error:
        if time.monotonic() > deadline or _format_odbc_state(error).endswith("HYT00)"):
            raise _create_timeout_fault() from None
        raise _create_query_fault(f"the driver refuses it{_format_odbc_state(error)}") from None
    finally:
        try:
            connection.close()
        except pyodbc.Error:
            pass


def _format_odbc_state(error):
    state = str(error.args[0]) if error.args else ""
    return f" (SQLSTATE {state})" if re.fullmatch("[0-9A-Z]{5}", state) else ""


def _create_unreadable_fault():
    why = "it is not an SQLite database, is damaged, or is not readable for this user"
    return CommandFault("practice_database_unavailable", f"the practice database cannot be read: {why}")


def _create_query_fault(why):
    return CommandFault("practice_query_failed", f"PRACTICE_PATIENT_QUERY does not work: {why}")


def _create_timeout_fault():
    return CommandFault("practice_database_timeout", "the practice database did not answer in time")
