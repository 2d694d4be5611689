import unittest
from unittest import mock

from muster_imaging import progress
from muster_imaging.progress import EVERY_SECONDS, Progress


class Reports:
    def __init__(self):
        self.all = []

    def send_progress(self, *counts):
        self.all.append(counts)


class ProgressOfACommand(unittest.TestCase):
    def reports_of(self, total, steps):
        """The reports for steps of (seconds since the start, done, failed)."""
        reports = Reports()
        with mock.patch.object(progress.time, "monotonic", side_effect=[0.0, *[at for at, _, _ in steps]]):
            command = Progress(reports, total)
            for _, done, failed in steps:
                command.report_if_due(done, failed)
        return reports.all

    def test_the_end_is_reported_even_if_it_comes_soon_after_the_last_report(self):
        steps = [(0.1, done, 0) for done in range(1, 11)]
        self.assertEqual(self.reports_of(10, steps), [(3, 0, 10), (6, 0, 10), (9, 0, 10), (10, 0, 10)])

    def test_progress_is_reported_after_the_period_but_not_before(self):
        steps = [(EVERY_SECONDS - 0.1, 1, 0), (EVERY_SECONDS, 2, 1), (2 * EVERY_SECONDS - 0.1, 3, 1)]
        self.assertEqual(self.reports_of(1000, steps), [(2, 1, 1000)])

    def test_the_same_number_is_reported_once(self):
        steps = [(0.1, 4, 0), (0.2, 4, 0), (EVERY_SECONDS + 1, 4, 0)]
        self.assertEqual(self.reports_of(4, steps), [(4, 0, 4)])


if __name__ == "__main__":
    unittest.main()
