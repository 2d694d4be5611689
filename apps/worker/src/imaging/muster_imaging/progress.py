"""Reports the progress of a command: every few seconds, after each quarter, and at the end."""

import time

EVERY_SECONDS = 5.0


class Progress:
    def __init__(self, service, total):
        self.service = service
        self.total = total
        self.reported_at = time.monotonic()
        self.reported = 0

    def report_if_due(self, done, failed):
        """Reports the progress if a report is due. `done` includes the failed ones."""
        now = time.monotonic()
        is_due = now - self.reported_at >= EVERY_SECONDS or done == self.total or (done - self.reported) * 4 >= self.total
        if not is_due or done == self.reported:
            return
        self.reported, self.reported_at = done, now
        self.service.send_progress(done, failed, self.total)
