"""A data directory that somebody takes away from a running server: it stops within a second, and no
second server works on the same journal."""

import os
import shutil
import subprocess
import time
import unittest

from clients import Beanstalk, Gone
from program import PROGRAM, ServerTest

EXIT_JOURNAL_FAILED = 3
# It looks twice a second. The rest is for a machine that is busy.
NOTICED_SECONDS_MAX = 5


class TakenAwayTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.first = self.server("--segment-bytes=1048576").start()
        self.client = self.open(Beanstalk(self.first.beanstalk_address))
        self.assertEqual(self.client.put(b"before"), 1)

    def assert_stops(self, text):
        """Within the time, while a client puts; with one line that matches `text`."""
        begin = time.monotonic()
        with self.assertRaises(Gone):
            while time.monotonic() < begin + NOTICED_SECONDS_MAX:
                self.client.put(b"after")
        self.assertEqual(self.first.process.wait(NOTICED_SECONDS_MAX), EXIT_JOURNAL_FAILED)
        failed = [line for line in self.first.error_text().splitlines() if "journal_failed" in line]
        self.assertEqual(len(failed), 1, failed)
        self.assertRegex(failed[0], text)

    def jobs_of(self, data):
        done = subprocess.run([PROGRAM, "check", data], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_lock_file_is_deleted(self):
        os.remove(f"{self.first.data}/lock")
        second = self.server()
        self.assert_refused(second.arguments(), "is in use by another process$")
        self.assert_stops("data/lock was deleted or replaced while it was in use")
        self.first.restart()
        self.assertGreater(self.open(Beanstalk(self.first.beanstalk_address)).put(b"again"), 1)

    def test_the_directory_is_moved(self):
        os.rename(self.first.data, self.path("moved"))
        self.assert_stops("data was moved, deleted or replaced while it was in use")
        self.assertRegex(self.jobs_of(self.path("moved")), r"jobs: .*[1-9]\d* ready")

    def test_an_idle_server_notices_too(self):
        os.rename(self.first.data, self.path("moved"))
        self.assertEqual(self.first.process.wait(NOTICED_SECONDS_MAX), EXIT_JOURNAL_FAILED)

    def test_a_moved_directory_keeps_others_out(self):
        os.rename(self.first.data, self.path("moved"))
        self.assert_refused(self.server(data="moved").arguments(), "is in use by another process")
        self.assert_stops("moved")

    def test_another_directory_is_put_in_its_place(self):
        os.rename(self.first.data, self.path("moved"))
        second = self.server().start()
        before = os.listdir(second.data)
        self.assert_stops("data was moved, deleted or replaced")
        self.assertEqual(sorted(os.listdir(second.data)), sorted(before))
        self.assertEqual(self.open(Beanstalk(second.beanstalk_address)).put(b"first"), 1)

    def test_the_directory_is_deleted(self):
        while os.path.exists(self.first.data):
            # The server may make a file meanwhile.
            shutil.rmtree(self.first.data, ignore_errors=True)
        self.assert_stops("data(/lock)? was .*deleted")
        self.assertFalse(os.path.exists(self.first.data))

    def test_a_file_system_is_mounted_over_it(self):
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "tmpfs", self.first.data], capture_output=True, text=True
        )
        if mounted.returncode != 0:
            self.skipTest(f"no file system of its own: {mounted.stderr.strip()}")
        try:
            self.assert_stops("data was moved, deleted or replaced")
        finally:
            subprocess.run(["umount", "-l", self.first.data], check=True)
        self.assertRegex(self.jobs_of(self.first.data), r"jobs: .*[1-9]\d* ready")


if __name__ == "__main__":
    unittest.main()
