"""The servers that are measured: how each is started on a free port, and stopped. None outlives
who started it: SIGTERM and Ctrl-C leave through every `with` that a server is used in.
"""

import contextlib
import ctypes
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "support"))

from ports import free_port  # noqa: E402

PATIENCE_S = 60
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)

for stop in (signal.SIGTERM, signal.SIGINT):
    signal.signal(stop, lambda number, _: sys.exit(128 + number))


def end_with_parent():
    """In a child before it becomes its program: where nobody is left to stop it."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def raise_descriptor_limit(needed):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, needed), most))


def cpu_seconds(pid):
    """What all threads of that process have used."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0]) / 1e9
    return total


class Server:
    """A running server. `port` is that of the measured protocol, `ports` those of all of
    them. Use it in a `with`."""

    def __init__(self, command, ports, folder, environment=None, protocol="beanstalk"):
        self.ports = ports
        self.port = ports[protocol]
        self.folder = folder
        self.log = open(os.path.join(folder, "log"), "ab")
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})}, start_new_session=True,
            preexec_fn=end_with_parent)
        try:
            self.wait_for_port()
        except BaseException:
            self.__exit__()
            raise

    @property
    def pid(self):
        return self.process.pid

    @property
    def data(self):
        """Where its journal is."""
        return os.path.join(self.folder, "data")

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/status") as file:
            for line in file:
                if line.startswith("VmRSS"):
                    return int(line.split()[1]) * 1024
        raise RuntimeError("no VmRSS")

    def cpu_seconds(self):
        return cpu_seconds(self.pid)

    def journal_bytes(self):
        """Of the segments; the spare files for a full disk are always there."""
        total = 0
        for name in os.listdir(self.data):
            if not name.endswith(".log"):
                continue
            try:
                total += os.path.getsize(os.path.join(self.data, name))
            except FileNotFoundError:  # cleaned meanwhile
                pass
        return total

    def metric(self, name):
        """What `/metrics` says, where the web port is open."""
        url = f"http://127.0.0.1:{self.ports['web']}/metrics"
        with urllib.request.urlopen(url) as answer:
            text = answer.read().decode()
        return float(re.search(rf"^{name} (\S+)$", text, re.M).group(1))

    def wait_for_port(self):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.002)
        with open(self.log.name) as log:
            said = log.read().strip().splitlines()[-1:]
        raise RuntimeError(f"{self.process.args[0]} does not serve: {''.join(said)}")

    def stop(self):
        """Ends it and what it has started, whichever of them has not ended by itself."""
        self.log.close()
        self.signal_all(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE_S)
        self.signal_all(signal.SIGKILL)
        self.process.wait()

    def signal_all(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def millrace(*flags, protocol="beanstalk", others=(), folder=None, program=None):
    """With --volatile, or with a journal in a new folder. `protocol` is measured, `others` open.
    `program` is another one than that of the environment."""
    folder = folder or tempfile.mkdtemp(prefix="millrace-bench-")
    ports = {each: free_port() for each in (protocol, *others)}
    command = [program or os.environ["MILLRACE"], "serve", *flags]
    if "--data" not in flags:
        command += ["--data", os.path.join(folder, "data")]
    for each in ("beanstalk", "faktory", "web"):
        command += [f"--{each}", f"127.0.0.1:{ports[each]}" if each in ports else "off"]
    return Server(command, ports, folder, protocol=protocol)


def beanstalkd(*flags, binlog=False):
    ports = {"beanstalk": free_port()}
    folder = tempfile.mkdtemp(prefix="beanstalkd-bench-")
    command = ["beanstalkd", "-l", "127.0.0.1", "-p", str(ports["beanstalk"]), *flags]
    if binlog:
        command += ["-b", folder]
    return Server(command, ports, folder)


def least(protocol="faktory"):
    """What no server can pass: see load/least.cpp."""
    ports = {protocol: free_port()}
    folder = tempfile.mkdtemp(prefix="least-bench-")
    flags = ["--beanstalk"] if protocol == "beanstalk" else []
    return Server([os.environ["LEAST"], "--port", str(ports[protocol]), *flags], ports, folder,
                  protocol=protocol)


def official_faktory():
    """The official server as it ships, where FAKTORY_BIN names it."""
    ports = {"faktory": free_port()}
    folder = tempfile.mkdtemp(prefix="faktory-bench-")
    command = [os.environ["FAKTORY_BIN"], "-b", f"127.0.0.1:{ports['faktory']}", "-w",
               "127.0.0.1:0", "-e", "development"]
    return Server(command, ports, folder, {"HOME": folder, "FAKTORY_SKIP_PASSWORD": "1"},
                  protocol="faktory")


def has_official_faktory():
    return bool(os.environ.get("FAKTORY_BIN"))
