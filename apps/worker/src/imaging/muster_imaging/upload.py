"""Sends made pictures to their places: side by side, again where it failed, each place asked for when it is needed."""

import concurrent.futures
import http.client
import time

from .service import FIRST_REST, LONGEST_REST, Refused

AT_ONCE = 4
# A place that refuses may have expired, so another is asked for; one that goes on refusing is one that never takes it.
MOST_REFUSALS = 6


class Uploader:
    def __init__(self, service):
        self.service = service
        self.threads = concurrent.futures.ThreadPoolExecutor(AT_ONCE)

    def send(self, objects, when_sent=lambda sent: None):
        """Objects have name, path, size, and ordinal where they are of an image. Answers each one's key, or None where
        the store refuses it; waits for as long as the store cannot be reached. `when_sent` is told of each one at once,
        in any order and by several threads."""
        keys, refusals = [None] * len(objects), 0
        waiting, rest = list(range(len(objects))), FIRST_REST
        while waiting:
            asked = [{name: objects[at][name] for name in ("name", "ordinal", "size") if name in objects[at]} for at in waiting]
            tickets = self.service.tickets(asked)
            some = [objects[at] for at in waiting]
            ends = list(self.threads.map(self.attempt, tickets, some, [when_sent] * len(some)))
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

    def attempt(self, ticket, sent, when_sent):
        try:
            self.service.put(ticket, sent["path"])
            when_sent(sent)
        except (Refused, OSError, http.client.HTTPException) as error:
            return error

    def close(self):
        self.threads.shutdown()
