"""The transcripts of the beanstalk door, played over sockets against Debian's beanstalkd, and
against Millrace called as `beanstalkd`.

beanstalkd may differ where a transcript says `# Unlike beanstalkd...` above an expectation, and has
to; the tables of docs/compatibility.md name these transcripts and no others. Millrace differs
nowhere.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from player import Player, Process
from transcript import Unlike, read_transcript

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "tests", "transcripts", "beanstalk")
COMPATIBILITY = os.path.join(ROOT, "docs", "compatibility.md")
PROGRAM = os.path.abspath(os.environ.get("MILLRACE", "build/release/millrace"))

# A transcript that moves the clock farther is left to the runs under a given clock.
CLOCK_SECONDS_MAX = 15
# Most of a playing is sleep.
AT_ONCE = 16
# By the real clock a busy machine may be too late for a transcript. A difference stays.
ATTEMPTS = 3
START_SECONDS_MAX = 20


def transcripts():
    names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".txt"))
    return [read_transcript(os.path.join(FOLDER, name), name[:-4]) for name in names]


def start(program, transcript, directory):
    """A fresh server on a unix socket, so that no two can want one port."""
    address = os.path.join(directory, "socket")
    arguments = [program, "-l", f"unix:{address}"]
    if "job_bytes_max" in transcript.options:
        arguments += ["-z", transcript.options["job_bytes_max"]]
    process = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return Process(process, address, quote_as_1_13)


def quote_as_1_13(body):
    """The texts in statistics stand in quotes since 1.13; Debian's is older."""
    return re.sub(rb"(?m)^(tube|name|hostname|os|platform): ([^\"\n].*)$", rb'\1: "\2"', body)


def wait_for_server(server):
    """Without a connection, which the server would count: by the kernel's list of listeners."""
    end = time.monotonic() + START_SECONDS_MAX
    while not is_listening(server.address):
        if server.process.poll() is not None or time.monotonic() > end:
            raise AssertionError(f"{server.process.args} did not start")
        time.sleep(0.005)
    server.settle()


def is_listening(path):
    with open("/proc/net/unix", encoding="latin1") as file:
        rows = [row.split() for row in file]
    # Flags 00010000: a socket that listens.
    return any(row[-1] == path and row[3] == "00010000" for row in rows)


def play(program, transcript):
    """The first difference, or None."""
    with tempfile.TemporaryDirectory(prefix="millrace-") as directory:
        server = start(program, transcript, directory)
        try:
            wait_for_server(server)
            return Player(transcript, server).play()
        finally:
            server.process.kill()
            server.process.wait()


def play_as_expected(program, transcript, is_expected):
    """The difference of the last attempt; attempts end when it is the expected one."""
    for _ in range(ATTEMPTS):
        difference = play(program, transcript)
        if is_expected(transcript, difference):
            break
    return difference


def play_all(program, is_expected):
    """(played transcripts, left out, {name: difference} of those that were not as expected)"""
    chosen, left_out = [], []
    for each in transcripts():
        is_long = each.seconds() > CLOCK_SECONDS_MAX
        (left_out if is_long or each.needs_given_clock else chosen).append(each)
    chosen.sort(key=lambda each: -each.seconds())
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        played = pool.map(lambda each: play_as_expected(program, each, is_expected), chosen)
        differences = {each.name: got for each, got in zip(chosen, played)}
    return chosen, left_out, differences


def is_as_told(transcript, difference):
    """Whether beanstalkd differs just where the transcript says so."""
    told = transcript.unlike()
    if difference is None:
        return told is None or told.unlike.startswith(Unlike.SOMETIMES)
    return told is difference.step


def named_in_tables():
    """The transcripts that the tables on beanstalkd name in their last column."""
    with open(COMPATIBILITY, encoding="utf-8") as file:
        section = file.read().split("\n## beanstalk\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return {name for row in rows for name in re.findall(r"`beanstalk/([\w-]+)`", row)}


def report(what, chosen, left_out, differing):
    names = ", ".join(f"{each.name} ({each.seconds():.0f} s)" for each in left_out)
    print(
        f"{what}: {len(chosen)} transcripts played, {len(left_out)} left out because they need a "
        f"given clock or move it more than {CLOCK_SECONDS_MAX} s: {names or 'none'}; "
        f"{len(differing)} differ",
        file=sys.stderr,
    )


@unittest.skipUnless(shutil.which("beanstalkd"), "beanstalkd is not installed")
class BeanstalkdTest(unittest.TestCase):
    def test_it_differs_where_the_transcripts_say_so(self):
        chosen, left_out, differences = play_all(shutil.which("beanstalkd"), is_as_told)
        differing = {name: got for name, got in differences.items() if got}
        report("beanstalkd", chosen, left_out, differing)
        for name, difference in sorted(differing.items()):
            print(f"  {name}: {difference}", file=sys.stderr)
        for each in chosen:
            with self.subTest(each.name):
                got = differences[each.name]
                self.assertTrue(is_as_told(each, got), got or "does not differ any more")


class CompatibilityTableTest(unittest.TestCase):
    def test_it_names_the_transcripts_that_beanstalkd_differs_in(self):
        told = {each.name for each in transcripts() if each.unlike()}
        self.assertEqual(named_in_tables(), told)


class CoverageTest(unittest.TestCase):
    def test_every_transcript_stands_in_a_table(self):
        with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
            cells = [line.split("|")[2] for line in file if line.startswith("|")]
        named = {name for cell in cells for name in re.findall(r"`([a-z0-9-]+)`", cell)}
        self.assertEqual(named, {each.name for each in transcripts()})


class MillraceTest(unittest.TestCase):
    def test_called_as_beanstalkd_it_does_what_the_transcripts_say(self):
        with tempfile.TemporaryDirectory(prefix="millrace-") as directory:
            link = os.path.join(directory, "beanstalkd")
            os.symlink(PROGRAM, link)
            chosen, left_out, differences = play_all(link, lambda _, got: got is None)
        report("Millrace", chosen, left_out, {name for name, got in differences.items() if got})
        for name, difference in differences.items():
            with self.subTest(name):
                self.assertIsNone(difference)


if __name__ == "__main__":
    unittest.main()
