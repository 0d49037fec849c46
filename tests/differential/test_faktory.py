"""The transcripts of the Faktory protocol, played over sockets against the official program, where
the environment variable FAKTORY_BIN names it, and against Millrace called as `faktory`.

The official program may differ in the transcripts that docs/compatibility/tests.csv names, in no
others. Millrace differs nowhere.
"""

import functools
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))

from keeper import start_kept  # noqa: E402
from player import Process  # noqa: E402
from ports import free_port  # noqa: E402
from runs import (  # noqa: E402
    Runs,
    named_in_compatibility,
    named_in_readme,
    play_linked,
    report,
    transcripts,
)

PROTOCOL = "faktory"
# An absolute path, or a name that PATH knows.
OFFICIAL = os.environ.get("FAKTORY_BIN")

# What a program can be told at its start, or needs not to know.
OPTIONS = {"password", "newline"}


def can_play(transcript):
    is_drained = any(step.kind == "drain" for step in transcript.steps)
    return not is_drained and OPTIONS.issuperset(transcript.options)


def start(program, transcript, directory):
    """A fresh server, with no files but its own."""
    port = free_port()
    arguments = [program, "-b", f"127.0.0.1:{port}", "-w", ":0", "-e", "development"]
    arguments += ["-c", os.path.join(directory, "files"), "-d", os.path.join(directory, "db")]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("FAKTORY_")
    }
    environment["HOME"] = directory
    if "password" in transcript.options:
        environment["FAKTORY_PASSWORD"] = transcript.options["password"]
    process = start_kept(
        arguments,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return Process(process, ("127.0.0.1", port))


def is_listening(address):
    """By the kernel's list: the port in hexadecimal, state 0A."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [row.split() for row in file]
    return any(row[1].endswith(f":{address[1]:04X}") and row[3] == "0A" for row in rows[1:])


def play_all(program, is_expected):
    runs = Runs(functools.partial(start, program), is_listening, is_expected, can_play)
    return runs.play_all(PROTOCOL)


@unittest.skipUnless(OFFICIAL, "FAKTORY_BIN does not name the official program")
class OfficialTest(unittest.TestCase):
    def test_it_differs_only_where_the_pages_say_so(self):
        named = named_in_compatibility(PROTOCOL)
        chosen, left_out, differences = play_all(
            OFFICIAL, lambda transcript, got: got is None or transcript.name in named
        )
        report(f"{OFFICIAL} (FAKTORY_BIN)", chosen, left_out, differences)
        for name, difference in differences.items():
            with self.subTest(name):
                self.assertTrue(difference is None or name in named, difference)


class CompatibilityTableTest(unittest.TestCase):
    def test_it_names_transcripts_that_there_are(self):
        told = {each.name for each in transcripts(PROTOCOL)}
        self.assertEqual(named_in_compatibility(PROTOCOL) - told, set())


class CoverageTest(unittest.TestCase):
    def test_every_transcript_stands_in_a_table(self):
        told = {each.name for each in transcripts(PROTOCOL)}
        self.assertEqual(told - named_in_readme(PROTOCOL), set())


class MillraceTest(unittest.TestCase):
    def test_called_as_faktory_it_does_what_the_transcripts_say(self):
        differences = play_linked("faktory", play_all)
        for name, difference in differences.items():
            with self.subTest(name):
                self.assertIsNone(difference)


if __name__ == "__main__":
    unittest.main()
