"""imaging_images: converts each image file to a full-size JPEG and a thumbnail, and uploads both."""

import json
import os
import threading

from .faults import CommandFault, ImageFault
from .paths import resolve_folder
from .pool import Pool
from .progress import Progress
from .upload import Uploader

# Number of images that are uploaded together, with two files each.
AT_ONCE = 25
VARIANTS = {
    "full": {"format": "JPEG", "quality": 90},
    "thumbnail": {"format": "JPEG", "quality": 80, "box": [256, 256]},
}


def run_operation(job):
    images = job.payload["images"]
    try:
        resolve_folder(job.payload["imagingPath"], job.settings)
    except ImageFault as fault:
        outcomes = [{"ordinal": image["ordinal"], "code": fault.code, "error": str(fault)} for image in images]
        raise CommandFault(fault.code, str(fault), {"images": outcomes}) from None
    work = Work(job)
    try:
        work.convert_and_upload(images)
    finally:
        work.uploader.close()
    outcomes = [work.outcomes[image["ordinal"]] for image in images]
    if all("code" in each for each in outcomes):
        raise CommandFault("no_image_converted", f"none of {len(outcomes)} images could be converted", {"images": outcomes})
    return {"images": outcomes}


class Work:
    """Lists uploaded images in a file of the command's folder, so that the next worker does not convert them again."""

    def __init__(self, job):
        self.job = job
        self.uploader = Uploader(job.service)
        self.made = os.path.join(job.folder, "made")
        os.makedirs(self.made, exist_ok=True)
        self.sent_file = os.path.join(job.folder, "sent.jsonl")
        self.outcomes = {each["ordinal"]: each for each in read_lines(self.sent_file)}

    def convert_and_upload(self, images):
        self.progress = Progress(self.job.service, len(images))
        left = [image for image in images if image["ordinal"] not in self.outcomes]
        batch = []
        for image in left:
            # An earlier worker converted this image but did not upload it.
            if answer := self.read_converted(image["ordinal"]):
                batch.append((image["ordinal"], answer))
        made = {ordinal for ordinal, _ in batch}
        tasks = (self.build_task(image) for image in left if image["ordinal"] not in made)
        for task, answer in Pool(self.job.folder).convert_images(tasks):
            ordinal = task["ordinal"]
            if isinstance(answer, ImageFault):
                self.outcomes[ordinal] = {"ordinal": ordinal, "code": answer.code, "error": str(answer)}
                self.report_progress()
                continue
            self.write_converted(ordinal, answer)
            batch.append((ordinal, answer))
            if len(batch) >= AT_ONCE:
                batch = self.upload_batch(batch)
        while batch:
            batch = self.upload_batch(batch)

    def build_task(self, image):
        ordinal = image["ordinal"]
        variants = {name: {**variant, "path": self.get_path(ordinal, name)} for name, variant in VARIANTS.items()}
        source = {"folder": self.job.payload["imagingPath"], "patimageid": self.job.payload["patimageid"]}
        return {**source, "ordinal": ordinal, "filename": image["filename"], "variants": variants}

    def upload_batch(self, batch):
        """Uploads the first images of the batch and returns the others."""
        some, others = batch[:AT_ONCE], batch[AT_ONCE:]
        objects = [
            {"name": name, "ordinal": ordinal, "size": answer["bytes"][name], "path": self.get_path(ordinal, name)}
            for ordinal, answer in some
            for name in VARIANTS
        ]
        self.uploader.upload_objects(objects, Sent(some, self.record_uploaded).count_uploaded)
        for ordinal, _ in some:
            if ordinal not in self.outcomes:
                error = "the store refuses the picture"
                self.outcomes[ordinal] = {"ordinal": ordinal, "code": "upload_failed", "error": error}
            for path in [*(self.get_path(ordinal, name) for name in VARIANTS), self.get_path(ordinal, "made")]:
                os.unlink(path)
        self.report_progress()
        return others

    def record_uploaded(self, ordinal, answer):
        sizes = {"width": answer["width"], "height": answer["height"], "bytes": answer["bytes"]["full"]}
        self.outcomes[ordinal] = {"ordinal": ordinal, **sizes}
        append_line(self.sent_file, self.outcomes[ordinal])

    def report_progress(self):
        self.progress.report_if_due(len(self.outcomes), sum("code" in each for each in self.outcomes.values()))

    def get_path(self, ordinal, name):
        return os.path.join(self.made, f"{ordinal}-{name}")

    def write_converted(self, ordinal, answer):
        path = self.get_path(ordinal, "made")
        with open(path + ".draft", "w") as file:
            json.dump(answer, file)
        os.rename(path + ".draft", path)

    def read_converted(self, ordinal):
        try:
            with open(self.get_path(ordinal, "made")) as file:
                answer = json.load(file)
        except OSError:
            return None
        return answer if all(os.path.exists(self.get_path(ordinal, name)) for name in VARIANTS) else None


class Sent:
    """Lists an image as uploaded only when all of its files are uploaded."""

    def __init__(self, answers, record_uploaded):
        self.answers = dict(answers)
        self.left = {ordinal: len(VARIANTS) for ordinal in self.answers}
        self.record_uploaded = record_uploaded
        self.lock = threading.Lock()

    def count_uploaded(self, sent):
        with self.lock:
            ordinal = sent["ordinal"]
            self.left[ordinal] -= 1
            if self.left[ordinal] == 0:
                self.record_uploaded(ordinal, self.answers[ordinal])


def append_line(path, value):
    # Starts with a line break, because an earlier worker may have ended in the middle of a line.
    with open(path, "a") as file:
        file.write("\n" + json.dumps(value) + "\n")


def read_lines(path):
    try:
        with open(path) as file:
            lines = file.read().split("\n")
    except OSError:
        return []
    values = []
    for line in lines:
        try:
            values.append(json.loads(line))
        except ValueError:
            continue
    return values
