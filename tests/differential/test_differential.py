"""The transcripts of the beanstalk protocol, played over sockets against Debian's beanstalkd, and
against Millrace called as `beanstalkd`.

beanstalkd may differ where a transcript says `# Unlike beanstalkd...` above an expectation, and has
to; docs/compatibility/tests.csv names these transcripts and no others. Millrace differs nowhere.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))

from keeper import start_kept  # noqa: E402
from player import Process  # noqa: E402
from runs import (  # noqa: E402
    Runs,
    named_in_compatibility,
    named_in_readme,
    play_linked,
    report,
    transcripts,
)
from transcript import Unlike  # noqa: E402

PROTOCOL = "beanstalk"


def start(program, transcript, directory):
    """A fresh server on a unix socket, so that no two can want one port."""
    address = os.path.join(directory, "socket")
    arguments = [program, "-l", f"unix:{address}"]
    if "job_bytes_max" in transcript.options:
        arguments += ["-z", transcript.options["job_bytes_max"]]
    process = start_kept(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return Process(process, address, quote_as_1_13)


def quote_as_1_13(body):
    """The texts in statistics are in quotes since 1.13; Debian's is older."""
    return re.sub(rb"(?m)^(tube|name|hostname|os|platform): ([^\"\n].*)$", rb'\1: "\2"', body)


def is_listening(path):
    with open("/proc/net/unix", encoding="latin1") as file:
        rows = [row.split() for row in file]
    # Flags 00010000: a socket that listens.
    return any(row[-1] == path and row[3] == "00010000" for row in rows)


def play_all(program, is_expected):
    return Runs(functools.partial(start, program), is_listening, is_expected).play_all(PROTOCOL)


def is_as_told(transcript, difference):
    """Whether beanstalkd differs just where the transcript says so."""
    told = transcript.unlike()
    if difference is None:
        return told is None or told.unlike.startswith(Unlike.SOMETIMES)
    return told is difference.step


@unittest.skipUnless(shutil.which("beanstalkd"), "beanstalkd is not installed")
class BeanstalkdTest(unittest.TestCase):
    def test_it_differs_where_the_transcripts_say_so(self):
        chosen, left_out, differences = play_all(shutil.which("beanstalkd"), is_as_told)
        report("beanstalkd", chosen, left_out, differences)
        for each in chosen:
            with self.subTest(each.name):
                got = differences[each.name]
                self.assertTrue(is_as_told(each, got), got or "does not differ any more")


class CompatibilityTableTest(unittest.TestCase):
    def test_it_names_the_transcripts_that_beanstalkd_differs_in(self):
        told = {each.name for each in transcripts(PROTOCOL) if each.unlike()}
        self.assertEqual(named_in_compatibility(PROTOCOL), told)


class CoverageTest(unittest.TestCase):
    def test_every_transcript_stands_in_a_table(self):
        self.assertEqual(named_in_readme(PROTOCOL), {each.name for each in transcripts(PROTOCOL)})


class MillraceTest(unittest.TestCase):
    def test_called_as_beanstalkd_it_does_what_the_transcripts_say(self):
        differences = play_linked("beanstalkd", play_all)
        for name, difference in differences.items():
            with self.subTest(name):
                self.assertIsNone(difference)


if __name__ == "__main__":
    unittest.main()
