"""A data directory that no server can start on: one line says why, and nothing in it changes."""

import os
import shutil
import subprocess
import unittest

from clients import Beanstalk
from program import PROGRAM, ServerTest

SEGMENT_BYTES = 1 << 20
JOBS = 60
BODY = b"b" * 60_000

# Says which process uses the directory, for people; it is rewritten by each that tries.
LOCK = "lock"


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def overwrite(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


class Case:
    """What is done to a directory with a journal of several segments, and what is then said."""

    def __init__(self, name, spoil, text):
        self.name = name
        self.spoil = spoil
        self.text = text


def remove(*numbers):
    def spoil(server):
        segments = server.segments()
        for number in numbers:
            os.remove(segments[number])

    return spoil


def remove_all(server):
    for path in server.segments():
        os.remove(path)


def empty(number):
    return lambda server: os.truncate(server.segments()[number], 0)


def cut(number):
    return lambda server: os.truncate(server.segments()[number], 5000)


def replace_by_directory(number):
    def spoil(server):
        path = server.segments()[number]
        os.remove(path)
        os.mkdir(path)

    return spoil


# A segment header of format 2, whose checksum is right.
HEADER_2 = bytes.fromhex(
    "6d696c6c7261636502000000000000000000000000000000"
    "0100000000000000464d9867d840d181"
)


def set_header(number, header):
    return lambda server: overwrite(server.segments()[number], 0, header)


def exchange(server):
    first, second = server.segments()[:2]
    os.rename(first, first + ".away")
    os.rename(second, first)
    os.rename(first + ".away", second)


NEWER = r"0\.log has journal format 2 \(at offset 8\), .* reads format 1; .* start the version"

CASES = [
    Case("a newer version", set_header(0, HEADER_2), NEWER),
    Case("a newer version at the end", set_header(-1, HEADER_2), r"\.log has journal format 2"),
    Case("a damaged version", set_header(0, HEADER_2[:9]), r"0{20}\.log is damaged at offset 0"),
    Case("the first segment missing", remove(0), r"not complete: 0{20}\.log is missing"),
    Case("the first half missing", remove(0, 1), r"not complete: 0{20}\.log is missing"),
    Case("the last segment missing", remove(-1), r"not complete: \d{20}\.log is missing"),
    Case("the last half missing", remove(-1, -2), r"not complete: \d{20}\.log is missing"),
    Case("every segment missing", remove_all, r"not complete: \d{20}\.log is missing"),
    Case("a segment in the middle missing", remove(1), r"breaks off before .* are missing"),
    Case("an empty first segment", empty(0), r"0{20}\.log is damaged at offset 0"),
    Case("an empty segment in the middle", empty(1), r"\.log is damaged at offset 0"),
    Case("an empty last segment", empty(-1), r"\.log is damaged at offset 0"),
    Case("a cut segment", cut(1), r"\.log is damaged at offset 5000"),
    Case("a directory in the place of a segment", replace_by_directory(1), r"\.log is not a file"),
    Case("two segments exchanged", exchange, r"0{20}\.log is damaged .* the header belongs to"),
]


def contents(directory):
    """Everything in a directory, by path, but the holder's number in the lock file."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = file.read()
    if LOCK in found:
        found[LOCK] = None
    return found


class DirectoryTest(ServerTest):
    def filled(self):
        """A server that was killed after puts that fill several segments."""
        server = self.server(f"--segment-bytes={SEGMENT_BYTES}", "--max-job-size=100000").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        for _ in range(JOBS):
            client.put(BODY)
        server.kill()
        self.assertGreaterEqual(len(server.segments()), 4)
        return server

    def assert_refused_unchanged(self, server, text):
        before = contents(server.data)
        self.assert_refused(server.arguments(), text)
        self.assert_refused([PROGRAM, "check", server.data], text)
        self.assertEqual(contents(server.data), before)
        self.assert_refused([PROGRAM, "backup", server.data, self.path("copy")], text)
        self.assertFalse(os.path.exists(self.path("copy")))
        self.assertEqual(contents(server.data), before)


class BadDirectoryTest(DirectoryTest):
    def test_each(self):
        whole = self.filled().data
        for case in CASES:
            with self.subTest(case.name):
                server = self.server(data="spoilt")
                shutil.copytree(whole, server.data)
                case.spoil(server)
                self.assert_refused_unchanged(server, case.text)
                shutil.rmtree(server.data)

    def test_the_end_missing_after_an_orderly_stop(self):
        server = self.filled().start()
        server.terminate()
        last = server.segments()[-1]
        os.truncate(last, os.path.getsize(last) - 10)
        text = r"the last \d+ bytes of the log, as it was when the server stopped, are missing"
        self.assert_refused_unchanged(server, text)

    def test_a_directory_where_room_is_kept(self):
        server = self.filled()
        for name in ("spare-9", "removed-1"):
            with self.subTest(name):
                os.mkdir(os.path.join(server.data, name))
                before = contents(server.data)
                self.assert_refused(server.arguments(), rf"/{name}: Is a directory$")
                self.assertEqual(contents(server.data), before)
                os.rmdir(os.path.join(server.data, name))

    def test_a_directory_where_starts_are_noted(self):
        server = self.filled()
        path = os.path.join(server.data, "starts")
        os.remove(path)
        os.mkdir(path)
        before = contents(server.data)
        self.assert_refused(server.arguments(), r"/starts is not a file: remove it to start ")
        self.assertEqual(contents(server.data), before)

    def test_a_file(self):
        write(self.path("data"), b"precious")
        self.assert_refused(self.server().arguments(), r"data: Not a directory$")
        self.assert_refused([PROGRAM, "check", self.path("data")], r"data: Not a directory$")
        with open(self.path("data"), "rb") as file:
            self.assertEqual(file.read(), b"precious")

    def test_one_in_use(self):
        server = self.filled().start()
        before = contents(server.data)
        second = self.server()
        self.assert_refused(second.arguments(), rf"data is in use .*pid {server.process.pid}\)$")
        self.assertEqual(contents(server.data), before)


FOREIGN_FILES = {"binlog.3": "beanstalkd", "faktory.rdb": "Faktory"}


class ForeignTest(ServerTest):
    """Jobs of the server that Millrace takes the place of. No server reads them."""

    def arguments_by_name(self):
        """How each name that the program can be called by is given the directory, with the status
        of its refusal."""
        for name in ("beanstalkd", "faktory"):
            os.symlink(os.path.abspath(PROGRAM), self.path(name))
        data, config = self.path("data"), self.path("config")
        beanstalkd = [self.path("beanstalkd"), "-l127.0.0.1", "-p0", "-b", data]
        faktory = [self.path("faktory"), "-b=127.0.0.1:0", "-w=:0", "-c", config, "-d", data]
        return {
            "millrace": (self.server().arguments(), 1),
            "beanstalkd": (beanstalkd, 10),
            "faktory": (faktory, 1),
        }

    def test_each_under_each_name(self):
        for name, (arguments, status) in self.arguments_by_name().items():
            for file, owner in FOREIGN_FILES.items():
                with self.subTest(name=name, file=file):
                    os.makedirs(self.path("data"))
                    write(os.path.join(self.path("data"), file), b"jobs")
                    text = rf"^{name}: .*data holds jobs stored by {owner} \({file}\)"
                    self.assert_refused(arguments, text, status=status)
                    self.assertEqual(contents(self.path("data")), {file: b"jobs"})
                    shutil.rmtree(self.path("data"))


def mount(test, *arguments):
    """Mounts until the test ends; `skip` where this machine does not let us."""
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        test.skipTest(f"cannot mount: {done.stderr.strip()}")
    test.addCleanup(subprocess.run, ["umount", "-l", arguments[-1]], check=True)


class UnwritableTest(DirectoryTest):
    def test_a_read_only_disk(self):
        server = self.filled()
        before = contents(server.data)
        mount(self, "--bind", server.data, server.data)
        subprocess.run(["mount", "-o", "remount,ro,bind", server.data], check=True)
        self.assert_refused(server.arguments(), r"lock: Read-only file system$")
        self.assertEqual(contents(server.data), before)

    def test_a_read_only_disk_without_a_journal(self):
        os.mkdir(self.path("disk"))
        mount(self, "-t", "tmpfs", "-o", "size=1M,ro", "tmpfs", self.path("disk"))
        self.assert_refused(self.server(data="disk").arguments(), r"Read-only file system$")
        self.assert_refused(self.server(data="disk/data").arguments(), r"Read-only file system$")
        self.assertEqual(contents(self.path("disk")), {})

    def test_a_full_disk_without_a_journal(self):
        os.mkdir(self.path("disk"))
        mount(self, "-t", "tmpfs", "-o", "size=8M", "tmpfs", self.path("disk"))
        with open(self.path("disk/ballast"), "wb", buffering=0) as file:
            with self.assertRaises(OSError):
                while True:
                    file.write(bytes(4096))
        before = contents(self.path("disk"))
        refusal = r"No space left on device.*needed$"
        self.assert_refused(self.server(data="disk").arguments(), refusal)
        self.assertEqual({**contents(self.path("disk")), LOCK: None}, {**before, LOCK: None})


if __name__ == "__main__":
    unittest.main()
