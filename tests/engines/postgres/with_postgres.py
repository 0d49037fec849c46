"""Runs a program with a PostgreSQL of its own: `with_postgres.py PROGRAM ARGUMENT...`.

The program finds these variables:

    MILLRACE_POSTGRES           a URL of a superuser; the password is in it
    MILLRACE_POSTGRES_CONTROL   READ,WRITE: two descriptors. A line `start`, `stop` or `kill` is
                                written to the second, and `done` comes from the first.
"""

import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))

from keeper import start_kept
from ports import free_port

# The newest that is there.
PROGRAMS = max(glob.glob("/usr/lib/postgresql/*/bin"), default="/usr/lib/postgresql/bin",
               key=lambda path: int(path.split("/")[4]))
PASSWORD = "pass-word-of-tests"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "64MB",
    "fsync": "on",
    "max_wal_size": "256MB",
    "log_min_messages": "panic",
}


class Postgres:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="millrace-postgres-", dir="/tmp")
        # It refuses to run as root.
        self.user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        if self.user:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.data = os.path.join(self.folder, "data")
        self.port = free_port()
        self.process = None
        self.create()

    def become(self):
        if self.user:
            os.setgroups([])
            os.setgid(self.user.pw_gid)
            os.setuid(self.user.pw_uid)

    def create(self):
        secret = os.path.join(self.folder, "password")
        with open(secret, "w", encoding="ascii") as file:
            file.write(PASSWORD + "\n")
        os.chmod(secret, 0o644)
        command = [PROGRAMS + "/initdb", "-D", self.data, "-U", "tester", "-A", "scram-sha-256"]
        command += ["--pwfile", secret, "--no-sync", "--no-locale", "-E", "UTF8"]
        subprocess.run(
            command, preexec_fn=self.become, cwd=self.folder, check=True, stdout=subprocess.DEVNULL
        )
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="ascii") as file:
            for name, value in SETTINGS.items():
                file.write(f"{name} = '{value}'\n")
            file.write(f"port = {self.port}\nunix_socket_directories = '{self.folder}'\n")

    def start(self):
        self.process = start_kept(
            [PROGRAMS + "/postgres", "-D", self.data], preexec_fn=self.become, cwd=self.folder
        )
        ready = [PROGRAMS + "/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        end = time.monotonic() + 30
        while subprocess.run(ready, check=False).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("PostgreSQL does not start")
            time.sleep(0.02)

    def end(self, how):
        """SIGQUIT: at once, as after a crash."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(30)

    def url(self):
        return f"postgresql://tester:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def obey(self, read, write):
        """Does what the program says, until it ends."""
        with open(read, encoding="ascii") as orders, open(write, "w", encoding="ascii") as done:
            for order in orders:
                if order == "start\n":
                    self.start()
                else:
                    self.end(signal.SIGINT if order == "stop\n" else signal.SIGQUIT)
                with contextlib.suppress(BrokenPipeError):
                    done.write("done\n")
                    done.flush()


def run(command, server):
    order_read, order_write = os.pipe()
    done_read, done_write = os.pipe()
    more = {
        "MILLRACE_POSTGRES": server.url(),
        "MILLRACE_POSTGRES_CONTROL": f"{done_read},{order_write}",
    }
    program = start_kept(
        command, env={**os.environ, **more}, pass_fds=(done_read, order_write)
    )
    os.close(done_read)
    os.close(order_write)
    thread = threading.Thread(target=server.obey, args=(order_read, done_write))
    thread.start()
    status = program.wait()
    thread.join()
    return status


def main():
    server = Postgres()
    try:
        server.start()
        return run(sys.argv[1:], server)
    finally:
        server.end(signal.SIGQUIT)
        shutil.rmtree(server.folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
