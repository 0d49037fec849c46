"""`check`, `backup` and `--salvage`: on journals larger than what they may take in memory, and what
their exit statuses say."""

import os
import subprocess
import unittest

from clients import Beanstalk
from program import PROGRAM, ServerTest, environment

SEGMENT_BYTES = 1 << 20
BODY = b"b" * 60_000

# Far below the journal's size. The program takes about 20 MB, and a segment is read at a time.
PEAK_BYTES_MAX = 50 << 20
LARGE_JOBS = 2_000


def run(*arguments):
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, env=environment(None), text=True, timeout=60
    )


def run_measured(*arguments):
    """The status, the report, and how much memory the program took at most."""
    process = subprocess.Popen(
        [PROGRAM, *arguments], stdout=subprocess.PIPE, env=environment(None), text=True
    )
    with process.stdout:
        report = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, report, usage.ru_maxrss * 1024


def flip_a_byte(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


class CheckTest(ServerTest):
    def filled(self, jobs):
        """The directory of a server that has ended, with a journal of 60,000 bytes a job."""
        server = self.server(f"--segment-bytes={SEGMENT_BYTES}", "--sync=off").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        for _ in range(jobs):
            client.put(BODY)
        server.terminate()
        return server.data


class LargeJournalTest(CheckTest):
    def test_bodies_are_not_kept_in_memory(self):
        data = self.filled(LARGE_JOBS)
        for arguments in (
            ["check", data],
            ["check", data, "--salvage", self.path("saved")],
            ["backup", data, self.path("copy")],
        ):
            with self.subTest(arguments[0:3:2]):
                status, report, peak = run_measured(*arguments)
                self.assertEqual(status, 0)
                self.assertIn(f"{LARGE_JOBS} ready", report)
                self.assertLess(peak, PEAK_BYTES_MAX)


class StatusTest(CheckTest):
    def assert_status(self, status, errors, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), errors, done.stderr)
        return done

    def test_of_a_whole_journal(self):
        data = self.filled(60)
        self.assert_status(0, 0, "check", data)
        self.assert_status(0, 0, "check", data, "--salvage", self.path("saved"))
        self.assert_status(0, 0, "backup", data, self.path("copy"))
        copy = self.assert_status(0, 0, "check", self.path("copy"))
        self.assertNotIn("warning", copy.stdout)

    def test_of_a_damaged_journal(self):
        server = self.server(data="data")
        data = self.filled(60)
        segments = server.segments()
        for path in segments[:2]:
            flip_a_byte(path, 100_000)
        before = self.assert_status(4, 1, "check", data)
        self.assertEqual(before.stdout.count("damage: "), 2)
        self.assertIn(f"{segments[0]} is damaged at offset", before.stderr)
        saved = self.assert_status(4, 1, "check", data, "--salvage", self.path("saved"))
        self.assertEqual(saved.stdout.count("lost: "), 2)
        self.assert_status(0, 0, "check", self.path("saved"))
        self.assert_status(1, 1, "backup", data, self.path("copy"))

    def test_where_no_journal_is(self):
        self.assert_status(1, 1, "check", self.path("nowhere"))
        self.assert_status(2, 1, "check")


if __name__ == "__main__":
    unittest.main()
