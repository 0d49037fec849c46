#!/usr/bin/env python3
"""Hostile clients of the real program with sanitizers: `./dev fuzz-sockets --help`.

Many clients at a time send what streams.py draws, cut it anywhere, close one side, never read, or
reset. A witness is answered on each port all the while. At the end the server stops by SIGTERM
with status 0, and no sanitizer has reported anything.
"""

import argparse
import contextlib
import itertools
import os
import random as chance
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "end_to_end"))
sys.path.insert(0, HERE)

from clients import Beanstalk, Faktory, Gone  # noqa: E402
from program import Server, free_port  # noqa: E402
from streams import BID, Streams  # noqa: E402
from web import Web  # noqa: E402

DESCRIPTION = "Hostile clients of the real program, built with sanitizers."
ROOT = os.path.dirname(os.path.dirname(HERE))
KEPT = os.path.join(ROOT, "build", "fuzz-sockets")
CLIENTS = 16
# A server with sanitizers is slow, and the machine may be busy.
WITNESS_SECONDS_MAX = 10
WITNESS_PAUSE_S = 0.05
SERVER_SECONDS = 20  # one after the other, with other options
STOP_SECONDS_MAX = 60
LAST_STREAMS = 200
BIDS = 20
BID_TOLD = re.compile(rb"b-[\w-]{14}")
PASSWORD = "secret"
REPORTS = ("ERROR: AddressSanitizer", "runtime error:", "LeakSanitizer", "Sanitizer:DEADLY")
REPORT_BYTES_MAX = 8000
OPTIONS = (
    ("--segment-bytes=1048576",),
    ("--volatile",),
    ("--segment-bytes=1048576", "--memory-limit=65536", "--max-job-size=100000"),
    ("--sync=off", "--max-connections=100", "--dead-max-jobs=5"),
)


def report_in(said):
    """The beginning of the first report of a sanitizer."""
    first = min(said.index(each) for each in REPORTS if each in said)
    begin = said.rfind("\n", 0, first) + 1
    return said[begin : begin + REPORT_BYTES_MAX]


class Session:
    """One server with the options that its seed draws, and its clients."""

    def __init__(self, seed, directory):
        self.seed = seed
        random = chance.Random(seed)
        has_password = random.random() < 0.25
        env = {"ASAN_OPTIONS": "abort_on_error=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
        if has_password:
            env["FAKTORY_PASSWORD"] = PASSWORD
        self.password = PASSWORD if has_password else None
        self.server = Server(os.path.join(directory, "data"), random.choice(OPTIONS), env)
        self.server.web_address = ("127.0.0.1", free_port())
        self.ports = {
            "beanstalk": self.server.beanstalk_address,
            "faktory": self.server.faktory_address,
            "web": self.server.web_address,
        }
        self.streams = Streams()
        self.bids = deque([BID] * BIDS, maxlen=BIDS)
        self.sent = deque(maxlen=LAST_STREAMS)
        self.problems = []
        self.is_over = threading.Event()
        self.connections = 0
        self.longest = 0.0

    def run(self, seconds):
        """Answers the problems."""
        try:
            self.server.start()
            threads = [threading.Thread(target=self.attack, args=(i,)) for i in range(CLIENTS)]
            threads += [threading.Thread(target=self.watch, args=(each,)) for each in self.ports]
            for thread in threads:
                thread.start()
            self.is_over.wait(seconds)
            self.is_over.set()
            for thread in threads:
                thread.join()
            self.stop()
            return self.problems
        finally:
            self.server.end()

    def problem(self, text):
        self.problems.append(text)
        self.is_over.set()

    def stop(self):
        process = self.server.process
        status = process.poll()
        is_early = status is not None
        if not is_early:
            process.send_signal(signal.SIGTERM)
            try:
                status = process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self.problem(f"it does not stop within {STOP_SECONDS_MAX} s")
                return
        # A witness may see its end before it can be waited for.
        if status != 0 or is_early:
            self.problem(f"it has ended with status {status}")
        said = self.server.error_text()
        if any(each in said for each in REPORTS):
            self.problem("a sanitizer reports:\n" + report_in(said))

    # --- the witness ---

    def watch(self, port):
        """A client that behaves is answered in time."""
        ask = getattr(self, f"ask_{port}")
        while not self.is_over.is_set():
            began = time.monotonic()
            try:
                ask()
            except (Gone, OSError, AssertionError, ValueError) as error:
                took = time.monotonic() - began
                self.problem(f"the witness on {port} after {took:.1f} s: {error!r}")
                return
            took = time.monotonic() - began
            self.longest = max(self.longest, took)
            if took > WITNESS_SECONDS_MAX:
                self.problem(f"the witness on {port} waited {took:.1f} s")
            self.is_over.wait(WITNESS_PAUSE_S)

    def ask_beanstalk(self):
        with contextlib.closing(Beanstalk(self.ports["beanstalk"], WITNESS_SECONDS_MAX)) as client:
            answer = client.command("use witness")
            assert answer == "USING witness", answer
            assert client.stats() is not None

    def ask_faktory(self):
        address = self.ports["faktory"]
        client = Faktory(address, password=self.password, timeout=WITNESS_SECONDS_MAX)
        with contextlib.closing(client):
            assert client.hello_reply == "+OK", client.hello_reply
            assert "faktory" in client.info()

    def ask_web(self):
        status, _, body = Web(self.ports["web"]).get("/health")
        assert status == 200, (status, body)

    # --- the clients ---

    def attack(self, number):
        for count in itertools.count():
            if self.is_over.is_set():
                return
            self.connect(chance.Random(f"{self.seed}-{number}-{count}"))

    def connect(self, random):
        """One connection. What it does follows from the seed, but for when."""
        port = random.choice(("beanstalk", "faktory", "web"))
        stream = self.streams.draw(random, port).replace(BID, random.choice(self.bids))
        self.sent.append((port, stream))
        self.connections += 1
        with socket.socket() as client:
            client.settimeout(1)
            if random.random() < 0.1:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            with contextlib.suppress(OSError):
                client.connect(self.ports[port])
                self.talk(random, client, stream)
            if random.random() < 0.3:
                # Closing resets the connection.
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def learn(self, received):
        """Keeps the names of batches, for others to use. Answers whether there was anything."""
        self.bids.extend(BID_TOLD.findall(received))
        return bool(received)

    def talk(self, random, client, stream):
        reads = random.random() < 0.7
        count = random.choice((0, 0, 1, 3, 9))
        cuts = sorted(random.randrange(len(stream) + 1) for _ in range(count))
        client.settimeout(0.2)
        for begin, end in zip([0, *cuts], [*cuts, len(stream)]):
            client.sendall(stream[begin:end])
            if random.random() < 0.3:
                self.is_over.wait(random.choice((0.0005, 0.005, 0.05)))
            if reads and random.random() < 0.3:
                self.learn(client.recv(random.choice((1, 100, 100_000))))
        if random.random() < 0.4:
            client.shutdown(random.choice((socket.SHUT_WR, socket.SHUT_WR, socket.SHUT_RD)))
        if reads:
            client.settimeout(random.choice((0.01, 0.05, 0.3)))
            while self.learn(client.recv(100_000)):
                pass
        elif random.random() < 0.2:
            self.is_over.wait(0.5)

    def keep(self):
        """What was sent last, and what the server said. Answers where."""
        place = os.path.join(KEPT, str(self.seed))
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        for number, (port, stream) in enumerate(self.sent):
            with open(os.path.join(place, f"{number:03}-{port}"), "wb") as file:
                file.write(stream)
        return place


def run(seed, seconds):
    """Answers whether all was well."""
    with tempfile.TemporaryDirectory(prefix="millrace-sockets-") as directory:
        session = Session(seed, directory)
        flags = " ".join(session.server.flags) + (" with a password" if session.password else "")
        problems = session.run(seconds)
        print(
            f"{'FAILED' if problems else 'ok'} seed {seed}: {session.connections} connections, "
            f"the witness waited {1000 * session.longest:.0f} ms at most; {flags}",
            flush=True,
        )
        for problem in problems:
            print(f"    {problem}")
        if problems:
            print(f"    the last streams are in {session.keep()}; again: --seed {seed}", flush=True)
        return not problems


def main():
    parser = argparse.ArgumentParser(prog="./dev fuzz-sockets", description=DESCRIPTION)
    for unit in ("seconds", "minutes", "hours"):
        parser.add_argument(f"--{unit}", type=float, default=0, help="how long in all (20 s)")
    told = "of the first server; what its clients send follows from it, but not when"
    parser.add_argument("--seed", type=int, help=told)
    arguments = parser.parse_args()
    seconds = arguments.seconds + 60 * (arguments.minutes + 60 * arguments.hours) or SERVER_SECONDS
    seed = chance.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    end = time.monotonic() + seconds
    passed = failed = 0
    while time.monotonic() < end:
        if run(seed, min(SERVER_SECONDS, max(1, end - time.monotonic()))):
            passed += 1
        else:
            failed += 1
        seed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
