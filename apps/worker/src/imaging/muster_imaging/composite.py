"""imaging_composite: draws one labelled image of a patient's teeth and uploads it."""

import json
import os

from .data_file import read_data_file
from .faults import CommandFault, ImageFault
from .lookup import find_patient
from .pool import Pool
from .practice_database import read_patients
from .progress import Progress
from .sheet import CELL, draw_sheet
from .upload import Uploader


def run_operation(job):
    settings, teeth = job.settings, job.payload["teeth"]
    require_configured(settings)
    patient = read_patients(
        settings.practice_database,
        settings.patient_query,
        lambda patients: find_patient(job.payload["patientLookup"], patients),
    )
    images = read_data_file(settings, patient.patimageid, teeth)
    cells = make_cells(job, patient.patimageid, images.of_tooth)
    key = upload_sheet(job, draw_sheet(teeth, cells))
    summary = {
        "composite_key": key,
        "patient": {
            "patimageid": None if patient.patimageid is None else int(patient.patimageid),
            "chart": patient.chart,
            "name": patient.name,
        },
        "teeth_found": [tooth for tooth in teeth if tooth in cells],
        "teeth_missing": [tooth for tooth in teeth if tooth not in cells],
        "lines_skipped": images.lines_skipped,
    }
    # A name may contain any text, including the marker at which readers of this output stop.
    text = json.dumps(summary).replace("__IMAGING_COMP_", "\\u005f_IMAGING_COMP_")
    return f"__IMAGING_COMP_START__\n{text}\n__IMAGING_COMP_END__\n"


def require_configured(settings):
    needed = {"IMAGING_ROOT": settings.root, "PRACTICE_DATABASE": settings.practice_database}
    missing = [name for name, value in needed.items() if not value]
    if not missing and not settings.data_file:
        missing = ["IMAGING_DATA_FILE"]
    if missing:
        message = f"the worker's setting {' and '.join(missing)} is missing, or names a share that IMAGING_PATH_MAP does not"
        raise CommandFault("imaging_not_configured", message)
    # Without the folder, every tooth would seem to have no image.
    if not os.path.isdir(settings.root):
        raise CommandFault("imaging_root_unavailable", "the folder of the images is not there, or not for this user")


def make_cells(job, patimageid, images_of_tooth):
    """Returns, by tooth, the path of its newest readable image, scaled to the size of a cell, and that image's day."""
    progress = Progress(job.service, len(images_of_tooth))
    left = {tooth: iter(images) for tooth, images in images_of_tooth.items()}
    # Several teeth often have the same newest image, which is read once. None: the image cannot be read.
    made, cells = {}, {}
    while left:
        wanted = {}
        for tooth in list(left):
            image = next((each for each in left[tooth] if made.get(each, "not yet")), None)
            if image in made:
                cells[tooth] = (made[image], image.day)
            if image is None or image in made:
                del left[tooth]
            else:
                wanted.setdefault(image, []).append(tooth)
        for image, path in convert_images(job, patimageid, list(wanted), len(made)):
            made[image] = path
            if path:
                cells.update((tooth, (path, image.day)) for tooth in wanted[image])
                left = {tooth: images for tooth, images in left.items() if tooth not in cells}
            progress.report_if_due(len(images_of_tooth) - len(left), len(images_of_tooth) - len(left) - len(cells))
    progress.report_if_due(len(images_of_tooth), len(images_of_tooth) - len(cells))
    return cells


def convert_images(job, patimageid, images, first):
    """Yields each image with the path of its small version, or None if it cannot be read."""
    if not images:
        return
    tasks = [
        {
            "image": image,
            "folder": job.settings.root,
            "patimageid": patimageid,
            "filename": image.filename,
            "variants": {"cell": {"format": "PNG", "box": CELL, "path": os.path.join(job.folder, f"cell-{place}")}},
        }
        for place, image in enumerate(images, start=first)
    ]
    for task, answer in Pool(job.folder).convert_images(tasks):
        # This is a failure of the machine, not of the image, so an older image must not replace it.
        if isinstance(answer, ImageFault) and answer.code == "upload_failed":
            raise CommandFault(answer.code, str(answer))
        yield task["image"], None if isinstance(answer, ImageFault) else task["variants"]["cell"]["path"]


def upload_sheet(job, sheet):
    path = os.path.join(job.folder, "composite.png")
    try:
        sheet.save(path, "PNG")
    except OSError:
        raise CommandFault("upload_failed", "the picture cannot be written on the worker") from None
    uploader = Uploader(job.service)
    try:
        [key] = uploader.upload_objects([{"name": "composite", "size": os.path.getsize(path), "path": path}])
    finally:
        uploader.close()
    if key is None:
        raise CommandFault("upload_failed", "the store refuses the picture")
    return key
