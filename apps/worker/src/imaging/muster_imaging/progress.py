"""How far a command has come, told often enough to be watched and seldom enough to be read."""

import time

EVERY_SECONDS = 5.0


class Progress:
    def __init__(self, service, total):
        self.service = service
        self.total = total
        self.told_at = time.monotonic()
        self.told = 0

    def tell(self, done, failed):
        """`done` counts those that failed too. A quarter of all is always worth a word, and so is the end."""
        now = time.monotonic()
        is_due = now - self.told_at >= EVERY_SECONDS or done == self.total or (done - self.told) * 4 >= self.total
        if not is_due or done == self.told:
            return
        self.told, self.told_at = done, now
        self.service.progress(done, failed, self.total)
