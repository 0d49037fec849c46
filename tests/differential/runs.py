"""Plays the transcripts of a protocol, each against a fresh server process."""

import concurrent.futures
import contextlib
import csv
import os
import re
import signal
import sys
import tempfile
import time

from player import Player
from transcript import read_transcript

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPATIBILITY = os.path.join(ROOT, "docs", "compatibility", "tests.csv")
PROGRAM = os.path.abspath(os.environ.get("MILLRACE", "build/release/millrace"))

# A transcript that moves the clock farther is left to the runs under a given clock.
CLOCK_SECONDS_MAX = 15
# Most of a playing is sleep.
AT_ONCE = 16
# By the real clock a busy machine may be too late for a transcript. A difference stays.
ATTEMPTS = 3
START_SECONDS_MAX = 20


def folder(protocol):
    return os.path.join(ROOT, "tests", "transcripts", protocol)


def transcripts(protocol):
    names = sorted(name for name in os.listdir(folder(protocol)) if name.endswith(".txt"))
    return [read_transcript(os.path.join(folder(protocol), name), name[:-4]) for name in names]


def named_in_readme(protocol):
    """The transcripts named in the second column of their README's table."""
    with open(os.path.join(folder(protocol), "README.md"), encoding="utf-8") as file:
        cells = [line.split("|")[2] for line in file if line.startswith("|")]
    return {name for cell in cells for name in re.findall(r"`([a-z0-9-]+)`", cell)}


def play_linked(name, play_all):
    """Has our program, called by that name, play what it can by `play_all`. Answers the
    differences."""
    with tempfile.TemporaryDirectory(prefix="millrace-") as directory:
        link = os.path.join(directory, name)
        os.symlink(PROGRAM, link)
        chosen, left_out, differences = play_all(link, lambda _, got: got is None)
    report("Millrace", chosen, left_out, differences)
    return differences


def named_in_compatibility(protocol):
    """The transcripts of the protocol that the list of differences names."""
    with open(COMPATIBILITY, encoding="utf-8", newline="") as file:
        tests = [test for row in csv.DictReader(file) for test in row["tests"].split()]
    return {test.partition("/")[2] for test in tests if test.startswith(f"{protocol}/")}


def wait_for_server(server, is_listening):
    """Without a connection, which the server would count: by the kernel's list of listeners."""
    end = time.monotonic() + START_SECONDS_MAX
    while not is_listening(server.address):
        if server.process.poll() is not None or time.monotonic() > end:
            raise AssertionError(f"{server.process.args} did not start")
        time.sleep(0.005)
    server.settle()


class Runs:
    """How transcripts are played against one kind of server."""

    def __init__(self, start, is_listening, is_expected, can_play=lambda transcript: True):
        """`start(transcript, directory)` answers a Process; `is_expected(transcript, difference)`
        ends the attempts."""
        self.start = start
        self.is_listening = is_listening
        self.is_expected = is_expected
        self.can_play = can_play

    def play(self, transcript):
        """The first difference, or None."""
        # What a server has started may still be writing when it is gone.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            server = self.start(transcript, directory)
            try:
                wait_for_server(server, self.is_listening)
                return Player(transcript, server).play()
            finally:
                # And what it has started: the official Faktory its Redis.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(server.process.pid, signal.SIGKILL)
                server.process.wait()

    def play_as_expected(self, transcript):
        """The difference of the last attempt; attempts end when it is the expected one."""
        for _ in range(ATTEMPTS):
            difference = self.play(transcript)
            if self.is_expected(transcript, difference):
                break
        return difference

    def play_all(self, protocol):
        """(played transcripts, left out, {name: difference or None} of the played)"""
        chosen, left_out = [], []
        for each in transcripts(protocol):
            is_long = each.seconds() > CLOCK_SECONDS_MAX
            is_out = is_long or each.needs_given_clock or not self.can_play(each)
            (left_out if is_out else chosen).append(each)
        chosen.sort(key=lambda each: -each.seconds())
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            played = pool.map(self.play_as_expected, chosen)
            differences = {each.name: got for each, got in zip(chosen, played)}
        return chosen, left_out, differences


def report(what, chosen, left_out, differences):
    differing = {name: got for name, got in differences.items() if got}
    names = ", ".join(f"{each.name} ({each.seconds():.0f} s)" for each in left_out)
    print(
        f"{what}: {len(chosen)} transcripts played, {len(left_out)} left out because they need a "
        f"given clock, move it more than {CLOCK_SECONDS_MAX} s, or need what no flag gives: "
        f"{names or 'none'}; {len(differing)} differ",
        file=sys.stderr,
    )
    for name, difference in sorted(differing.items()):
        print(f"  {name}: {difference}", file=sys.stderr)
