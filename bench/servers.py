"""The servers that are measured: how each is started on a free port, and stopped."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PATIENCE_S = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A running server. `port` is that of the door that is measured. Use it in a `with`."""

    def __init__(self, command, port, folder, environment=None):
        self.port = port
        self.folder = folder
        self.log = open(os.path.join(folder, "log"), "ab")
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})}, start_new_session=True)
        self.wait_for_port()

    @property
    def pid(self):
        return self.process.pid

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
        raise RuntimeError(f"{self.process.args[0]} does not serve: see {self.folder}/log")

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def millrace(*flags, door="beanstalk", folder=None):
    """With --volatile, or with a journal in a new folder."""
    port = free_port()
    folder = folder or tempfile.mkdtemp(prefix="millrace-bench-")
    command = [os.environ["MILLRACE"], "serve", *flags]
    if "--data" not in flags:
        command += ["--data", os.path.join(folder, "data")]
    for each in ("beanstalk", "faktory", "web"):
        if f"--{each}" not in flags:
            command += [f"--{each}", f"127.0.0.1:{port}" if each == door else "off"]
    return Server(command, port, folder)


def beanstalkd(*flags, binlog=False):
    port = free_port()
    folder = tempfile.mkdtemp(prefix="beanstalkd-bench-")
    command = ["beanstalkd", "-l", "127.0.0.1", "-p", str(port), *flags]
    if binlog:
        command += ["-b", folder]
    return Server(command, port, folder)


def least():
    """What no server can pass: see least.cpp."""
    port = free_port()
    folder = tempfile.mkdtemp(prefix="least-bench-")
    return Server([os.environ["LEAST"], "--port", str(port)], port, folder)


def official_faktory():
    """The official server as it ships, where FAKTORY_BIN names it."""
    port = free_port()
    folder = tempfile.mkdtemp(prefix="faktory-bench-")
    command = [os.environ["FAKTORY_BIN"], "-b", f"127.0.0.1:{port}", "-w", "127.0.0.1:0",
               "-e", "development"]
    return Server(command, port, folder, {"HOME": folder, "FAKTORY_SKIP_PASSWORD": "1"})


def has_official_faktory():
    return bool(os.environ.get("FAKTORY_BIN"))
