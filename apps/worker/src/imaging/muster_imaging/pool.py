"""Processes that convert images in parallel. A process that dies is replaced, and only its image may fail."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time

from .faults import ImageFault

# Maximum time for an image; a valid image takes less.
MAX_SECONDS = 120
MOST_PROCESSES = 4
# Maximum number of converted images that wait for the caller.
MOST_READY = 32


class Pool:
    def __init__(self, folder, processes=None):
        self.lock = os.path.join(folder, "large-image.lock")
        self.processes = processes or min(len(os.sched_getaffinity(0)), MOST_PROCESSES)

    def convert_images(self, tasks):
        """Yields each task with its answer or an ImageFault, in the order in which the tasks end.

        A task has folder, patimageid, filename, and variants: by name, a dict of path, format (JPEG or PNG), quality
        and box. The answer has width, height, and bytes by variant.
        """
        waiting, ready = iter(tasks), queue.Queue(MOST_READY)
        taking, ending = threading.Lock(), threading.Event()

        def convert_until_ending():
            converter = Converter(self.lock)
            try:
                while not ending.is_set():
                    with taking:
                        task = next(waiting, None)
                    if task is None:
                        return
                    put_until_ending(ready, (task, converter.convert_image(task)), ending)
            except BaseException as error:
                put_until_ending(ready, (None, error), ending)
            finally:
                converter.close()
                put_until_ending(ready, None, ending)

        threads = [threading.Thread(target=convert_until_ending, daemon=True) for _ in range(self.processes)]
        for thread in threads:
            thread.start()
        left = len(threads)
        try:
            while left:
                made = ready.get()
                if made is None:
                    left -= 1
                elif made[0] is None:
                    raise made[1]
                else:
                    yield made
        finally:
            ending.set()
            for thread in threads:
                thread.join()


def put_until_ending(ready, item, ending):
    while not ending.is_set():
        try:
            return ready.put(item, timeout=0.2)
        except queue.Full:
            continue


class Converter:
    """One process, which starts with its first task."""

    def __init__(self, lock):
        self.lock = lock
        self.child = None

    def convert_image(self, task):
        variants = {name: dict(variant) for name, variant in task["variants"].items()}
        order = {name: task[name] for name in ("folder", "patimageid", "filename")}
        line = json.dumps({**order, "variants": variants, "lock": self.lock}) + "\n"
        began = time.monotonic()
        reply = self.send_task(line)
        if not reply and time.monotonic() - began < MAX_SECONDS:
            # Something else may have ended the process, so the image gets a second process, but no third.
            self.close(kill=True)
            reply = self.send_task(line)
        if not reply:
            code = self.close(kill=True)
            return ImageFault("damaged", f"the image ended the program that read it (code {code})")
        answer = json.loads(reply)
        return ImageFault(answer["code"], answer["error"]) if "code" in answer else answer

    def send_task(self, line):
        """Returns the answer, or an empty text if the process has ended."""
        child = self.child = self.child or start_process()
        late = threading.Timer(MAX_SECONDS, child.kill)
        late.start()
        try:
            child.stdin.write(line)
            child.stdin.flush()
            reply = child.stdout.readline()
        except OSError:
            return ""
        finally:
            late.cancel()
        return reply if reply.endswith("\n") else ""

    def close(self, kill=False):
        child, self.child = self.child, None
        if child is None:
            return None
        if kill:
            child.kill()
        # Closing fails if a request to a dead process is still buffered.
        with contextlib.suppress(OSError):
            child.stdin.close()
        code = child.wait()
        child.stdout.close()
        return code


def start_process():
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "muster_imaging.converter"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
    )
