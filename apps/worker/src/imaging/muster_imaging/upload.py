"""Uploads converted images in parallel, and repeats failed uploads. URLs are requested when they are needed."""

import concurrent.futures
import http.client
import time

from .service import FIRST_REST, LONGEST_REST, Refused

AT_ONCE = 4
# A refused URL may have expired, so another one is requested. After this many refusals the upload has failed.
MOST_REFUSALS = 6


class Uploader:
    def __init__(self, service):
        self.service = service
        self.threads = concurrent.futures.ThreadPoolExecutor(AT_ONCE)

    def upload_objects(self, objects, when_sent=lambda sent: None):
        """Uploads objects, which have name, path, size, and ordinal if they belong to an image. Returns the key of each
        object, or None if the store refuses it. Waits as long as the store cannot be reached. Calls `when_sent` for
        each uploaded object at once, in any order and from several threads."""
        keys, refusals = [None] * len(objects), 0
        waiting, rest = list(range(len(objects))), FIRST_REST
        while waiting:
            wanted = [{name: objects[at][name] for name in ("name", "ordinal", "size") if name in objects[at]} for at in waiting]
            tickets = self.service.request_tickets(wanted)
            some = [objects[at] for at in waiting]
            ends = list(self.threads.map(self.attempt_upload, tickets, some, [when_sent] * len(some)))
            for at, ticket, end in zip(waiting, tickets, ends):
                keys[at] = ticket["key"] if end is None else None
            waiting = [at for at in waiting if keys[at] is None]
            if not waiting:
                break
            if all(isinstance(end, Refused) for end in ends if end is not None):
                refusals += 1
                if refusals >= MOST_REFUSALS:
                    break
            time.sleep(rest)
            rest = min(rest * 2, LONGEST_REST)
        return keys

    def attempt_upload(self, ticket, sent, when_sent):
        try:
            self.service.upload_file(ticket, sent["path"])
            when_sent(sent)
        except (Refused, OSError, http.client.HTTPException) as error:
            return error

    def close(self):
        self.threads.shutdown()
