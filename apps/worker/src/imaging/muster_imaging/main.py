"""A command of imaging from its beginning to its outcome, which it leaves in a file for the worker."""

import importlib
import json
import os
import shutil
import traceback
from dataclasses import dataclass

from .faults import CommandFault
from .pillow import has_pillow
from .service import Service
from .settings import Settings, read_settings

OPERATIONS = {"imaging_images": "images", "imaging_composite": "composite"}
UNAVAILABLE = (
    "this machine's Python has no Pillow that reads TIFF and JPEG: install Debian's python3-pil (apt-get install "
    "python3-pil), or `python3 -m pip install Pillow`, and repeat the command"
)


@dataclass
class Job:
    """What an operation works with."""

    payload: dict
    settings: Settings
    service: Service
    # The command's own; it outlives a worker that dies, until the outcome is there.
    folder: str


def main():
    kind, folder = os.environ["MUSTER_IMAGING_KIND"], os.environ["MUSTER_IMAGING_FOLDER"]
    outcome = perform(kind, folder)
    try:
        leave(outcome, folder)
    except OSError:
        # On a full disk there is room where its pictures were.
        for each in os.scandir(folder):
            shutil.rmtree(each.path) if each.is_dir(follow_symlinks=False) else os.unlink(each.path)
        leave(outcome, folder)


def leave(outcome, folder):
    path = os.path.join(folder, "outcome.json")
    with open(path + ".draft", "w", encoding="utf-8") as file:
        json.dump(outcome, file)
    os.rename(path + ".draft", path)


def take_inputs():
    """Read once and gone: it may have a patient's name in it."""
    with open("inputs.json", encoding="utf-8") as file:
        payload = json.load(file)
    os.unlink("inputs.json")
    return payload


def perform(kind, folder):
    try:
        if not has_pillow():
            raise CommandFault("imaging_unavailable", UNAVAILABLE)
        payload = take_inputs()
        operation = importlib.import_module(f"muster_imaging.{OPERATIONS[kind]}")
        output = operation.run(Job(payload, read_settings(), Service(), folder))
        return {"status": "success", "output": output}
    except CommandFault as fault:
        output = {} if fault.output is None else {"output": fault.output}
        return {"status": "failed", "code": fault.code, "error": str(fault), **output}
    except Exception as error:
        # Where it was, and not what it said: that may name a file, and the file a person.
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(at.filename)}:{at.lineno}"
        return {"status": "failed", "error": f"imaging failed: {type(error).__name__} at {where}"}
