"""Runs an imaging command and writes its outcome to a file for the worker."""

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
    """Inputs of an operation."""

    payload: dict
    settings: Settings
    service: Service
    # The command's folder. It survives a crash of the worker and is removed after the outcome.
    folder: str


def main():
    kind, folder = os.environ["MUSTER_IMAGING_KIND"], os.environ["MUSTER_IMAGING_FOLDER"]
    outcome = run_operation(kind, folder)
    try:
        write_outcome(outcome, folder)
    except OSError:
        # The disk is full. Removing the command's images makes room for the outcome.
        for each in os.scandir(folder):
            shutil.rmtree(each.path) if each.is_dir(follow_symlinks=False) else os.unlink(each.path)
        write_outcome(outcome, folder)


def write_outcome(outcome, folder):
    path = os.path.join(folder, "outcome.json")
    with open(path + ".draft", "w", encoding="utf-8") as file:
        json.dump(outcome, file)
    os.rename(path + ".draft", path)


def read_and_remove_inputs():
    """Reads the inputs and removes their file, because it may contain a patient's name."""
    with open("inputs.json", encoding="utf-8") as file:
        payload = json.load(file)
    os.unlink("inputs.json")
    return payload


def run_operation(kind, folder):
    try:
        if not has_pillow():
            raise CommandFault("imaging_unavailable", UNAVAILABLE)
        payload = read_and_remove_inputs()
        operation = importlib.import_module(f"muster_imaging.{OPERATIONS[kind]}")
        output = operation.run_operation(Job(payload, read_settings(), Service(), folder))
        return {"status": "success", "output": output}
    except CommandFault as fault:
        output = {} if fault.output is None else {"output": fault.output}
        return {"status": "failed", "code": fault.code, "error": str(fault), **output}
    except Exception as error:
        # Reports the position and not the text, which may contain a file name and with it a person's name.
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(at.filename)}:{at.lineno}"
        return {"status": "failed", "error": f"imaging failed: {type(error).__name__} at {where}"}
