"""The real program under test: how it is started, ended and asked to refuse."""

import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))

from keeper import error_file, start_kept  # noqa: E402
from ports import free_port  # noqa: E402

PROGRAM = os.environ.get("MILLRACE", "build/release/millrace")
# Also on a machine with many cores there are none by themselves.
IO_THREADS = f"--io-threads={os.environ.get('IO_THREADS', '0')}"
# Long: a machine that is busy, or whose disk is, is not what fails a test.
START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 120
WAIT_SECONDS_MAX = 120


def environment(more=None):
    """Ours, without what would configure the program."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    for name in ("FAKTORY_PASSWORD", "FAKTORY_URL", "BEANSTALKD_URL"):
        own.pop(name, None)
    return {**own, **(more or {})}


class Server:
    """One data directory and two addresses (None: that port is off). One process after the other
    serves them."""

    def __init__(self, data, flags=(), env=None):
        self.data = data
        self.flags = list(flags)
        self.env = env
        self.preexec_fn = None
        self.beanstalk_address = ("127.0.0.1", free_port())
        self.faktory_address = ("127.0.0.1", free_port())
        self.web_address = None
        self.process = None
        self.errors = None
        self.lines = None
        self.ports = []

    def arguments(self):
        has_own = any(flag.startswith("--io-threads") for flag in self.flags)
        return [
            PROGRAM,
            "serve",
            f"--data={self.data}",
            f"--beanstalk={flag_of(self.beanstalk_address)}",
            f"--faktory={flag_of(self.faktory_address)}",
            f"--web={flag_of(self.web_address)}",
            *([] if has_own else [IO_THREADS]),
            *self.flags,
        ]

    def start(self):
        """Returns when the program has said `ready`; `ports` holds what it said before."""
        self.begin()
        return self.wait_until_ready()

    def begin(self):
        self.close_errors()
        self.errors = error_file()
        self.process = start_kept(
            self.arguments(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment(self.env),
            preexec_fn=self.preexec_fn,
            text=True,
        )
        self.lines = queue.Queue()
        forwarding = (self.process.stdout, self.lines)
        threading.Thread(target=forward, args=forwarding, daemon=True).start()

    def wait_until_ready(self):
        self.ports = []
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            if line == "ready":
                return self
            if line is None:
                raise AssertionError(f"the server did not start: {self.error_text()}")
            self.ports.append(line)

    def error_text(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self):
        """Leaves nothing behind, whatever state it is in."""
        if self.process and self.process.poll() is None:
            self.kill()
        self.close_errors()

    def close_errors(self):
        if self.errors:
            self.errors.close()

    def kill(self):
        """The way a crash ends it."""
        self.process.kill()
        self.process.wait(STOP_SECONDS_MAX)

    def terminate(self):
        """The way a supervisor ends it; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS_MAX)

    def restart(self):
        if self.process.poll() is None:
            self.kill()
        return self.start()

    def segments(self):
        """The journal's files, oldest first."""
        names = sorted(name for name in os.listdir(self.data) if name.endswith(".log"))
        return [os.path.join(self.data, name) for name in names]


def flag_of(address):
    if address is None:
        return "off"
    return f"unix:{address}" if isinstance(address, str) else f"{address[0]}:{address[1]}"


def forward(stream, lines):
    with stream:
        for line in stream:
            lines.put(line.rstrip("\n"))
    lines.put(None)


class ServerTest(unittest.TestCase):
    """A test with a directory of its own, whose servers end with it."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="millrace-test-")
        self.addCleanup(shutil.rmtree, self.directory)

    def path(self, name):
        return os.path.join(self.directory, name)

    def server(self, *flags, env=None, data="data"):
        server = Server(self.path(data), flags, env)
        self.addCleanup(self.end, server)
        return server

    def end(self, server):
        """Of a test that failed it is shown what its servers said."""
        result = self._outcome.result
        has_failed = any(test is self for test, _ in result.errors + result.failures)
        if has_failed and server.errors:
            status = server.process.poll()
            state = "was running" if status is None else f"had ended with status {status}"
            print(f"\nthe server {state} and had said:\n{server.error_text()}", file=sys.stderr)
        server.end()

    def open(self, client):
        self.addCleanup(client.close)
        return client

    def assert_refused(self, arguments, text, env=None, status=None, preexec_fn=None):
        """The program ends with a failure, or that status, and one line on stderr that matches
        `text`."""
        done = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(env),
            preexec_fn=preexec_fn,
            text=True,
            timeout=START_SECONDS_MAX,
        )
        self.assertGreater(done.returncode, 0, done.stderr)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        self.assertNotIn("ready", done.stdout.splitlines())
        # A start that takes more than a second says how far it is.
        lines = [line for line in done.stderr.splitlines() if " replaying percent=" not in line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertRegex(lines[0], text)


def wait_until(condition, what, seconds=WAIT_SECONDS_MAX):
    """For what happens in another process and says nothing when it does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.01)
