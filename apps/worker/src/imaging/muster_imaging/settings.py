"""The worker's settings for images, which it passes on in the environment of imaging commands only."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

DEFAULT_QUERY = "SELECT patimageid, chart, first_name, last_name FROM patient"


@dataclass(frozen=True)
class Settings:
    # Folder of the images; None if not specified.
    root: str | None
    # File with the list of all images.
    data_file: str | None
    # `sqlite:///path` or `odbc:<connection string>`; it may contain a password.
    practice_database: str | None
    patient_query: str
    # Nothing outside of these folders is opened.
    allowed_roots: tuple[str, ...]
    # Pairs of a share `\\server\share`, as its parts in lower case, and a local folder.
    path_map: tuple[tuple[tuple[str, ...], str], ...]


def read_settings(environment=os.environ):
    path_map = read_path_map(environment.get("IMAGING_PATH_MAP", ""))
    root = to_local_path(environment.get("IMAGING_ROOT", "").strip(), path_map) or None
    allowed = [each.strip() for each in environment.get("IMAGING_ALLOWED_ROOTS", "").split(";") if each.strip()]
    data_file = environment.get("IMAGING_DATA_FILE", "").strip() or "images.dat"
    data_file = to_local_path(data_file, path_map)
    if data_file and not os.path.isabs(data_file):
        data_file = os.path.join(root, data_file) if root else None
    return Settings(
        root=root,
        data_file=data_file,
        practice_database=environment.get("PRACTICE_DATABASE", "").strip() or None,
        patient_query=environment.get("PRACTICE_PATIENT_QUERY", "").strip() or DEFAULT_QUERY,
        allowed_roots=tuple(filter(None, (to_local_path(each, path_map) for each in allowed))) or ((root,) if root else ()),
        path_map=path_map,
    )


def read_path_map(text):
    r"""Parses `\\server\share=/mnt/share`, several separated by `;`. The longest share that matches a path counts."""
    rows = []
    for each in text.split(";"):
        share, _, folder = each.partition("=")
        parts = split_unc_path(share.strip())
        if parts and folder.strip():
            rows.append((tuple(part.lower() for part in parts), folder.strip()))
    return tuple(sorted(rows, key=lambda row: -len(row[0])))


def split_unc_path(path):
    r"""Returns the parts of `\\server\share\…`, with either slash; None for another path, or if it contains `..`."""
    if not re.match(r"^[\\/]{2}[^\\/]", path):
        return None
    parts = [part for part in re.split(r"[\\/]+", path) if part and part != "."]
    return None if ".." in parts else parts


def to_local_path(path, path_map):
    """Returns the local path; None for a network path that is not mapped, or a path of another operating system."""
    if path.startswith("\\") or re.match(r"^//[^/]", path):
        parts = split_unc_path(path)
        for share, folder in path_map:
            if parts and tuple(part.lower() for part in parts[: len(share)]) == share:
                return os.path.join(folder, *parts[len(share) :])
        return None
    if re.match(r"^[A-Za-z]:[\\/]", path):
        return None
    return path
