"""The program called as `beanstalkd`."""

import os
import resource
import signal
import subprocess
import time

from clients import Beanstalk, Gone
from program import PROGRAM, STOP_SECONDS_MAX, ServerTest, environment, error_file, free_port
from program import start_kept

START_SECONDS_MAX = 20


class Dropin:
    """One process, started by the link's path with beanstalkd's flags."""

    def __init__(self, link, flags, address, **more):
        self.address = address
        self.errors = error_file()
        self.process = start_kept(
            [link, *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment(more.pop("env", None)),
            text=True,
            **more,
        )

    def client(self):
        """A connection, made as soon as it can be."""
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                return Beanstalk(self.address)
            except Gone:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise AssertionError(f"it does not serve: {self.error_text()}") from None
                time.sleep(0.002)

    def error_text(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(STOP_SECONDS_MAX)
        self.process.stdout.close()
        self.errors.close()

    def status(self, name):
        """A line of /proc/PID/status, as a list of words."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            line = next(line for line in file if line.startswith(name + ":"))
        return line.split()[1:]


def cpu_seconds(process):
    with open(f"/proc/{process.pid}/stat", encoding="latin1") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(process):
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def most_resident_bytes(process):
    """Since the process began."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


class DropinTest(ServerTest):
    """A test with a link named `beanstalkd` in its directory."""

    def setUp(self):
        super().setUp()
        self.link = self.path("beanstalkd")
        os.symlink(os.path.abspath(PROGRAM), self.link)

    def dropin(self, *flags, **more):
        """On a port of its own, unless the flags say where."""
        address = more.pop("address", None)
        if address is None:
            address = ("127.0.0.1", free_port())
            flags = ("-l", address[0], "-p", str(address[1]), *flags)
        server = Dropin(self.link, flags, address, **more)
        self.addCleanup(server.end)
        return server

    def client(self, server):
        return self.open(server.client())

    def run_briefly(self, *flags, **more):
        """For flags with which it ends by itself."""
        return subprocess.run(
            [self.link, *flags],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(),
            text=True,
            timeout=START_SECONDS_MAX,
            **more,
        )

    def terminate(self, server):
        """(status, seconds)"""
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        return server.process.wait(STOP_SECONDS_MAX), time.monotonic() - began
