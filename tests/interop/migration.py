"""Moving to Millrace changes an address and nothing else: runs the same program first against the
peer, Debian's beanstalkd or the official Faktory where FAKTORY_BIN names it, then against Millrace,
and compares what the program printed.

    MILLRACE=build/release/millrace python3 tests/interop/migration.py
"""

import difflib
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass

sys.dont_write_bytecode = True

from languages import HERE  # noqa: E402
from servers import free_address, serving, wait_for_port  # noqa: E402

PROGRAM_SECONDS_MAX = 120
STOP_SECONDS_MAX = 60


def compared(command, peer):
    """What both servers made the program print. Raises where they differ."""
    with peer() as environment:
        theirs = printed(command, environment)
    with serving() as server:
        ours = printed(command, server.environment())
    assert theirs, "the program printed nothing"
    difference = "\n".join(difflib.unified_diff(theirs, ours, "peer", "Millrace", lineterm=""))
    assert not difference, difference
    return f"{len(ours)} lines, the same"


def printed(command, environment):
    done = subprocess.run(
        command,
        cwd=os.path.join(HERE, "migration"),
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PROGRAM_SECONDS_MAX,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@contextmanager
def started(command, address, more=None):
    """A peer's process, listening."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **(more or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_port(address)
        yield
    finally:
        # Not killed: the official Faktory has to end a server that it has started itself.
        process.terminate()
        process.wait(STOP_SECONDS_MAX)


@contextmanager
def debians_beanstalkd():
    host, port = free_address()
    with started(["beanstalkd", "-l", host, "-p", str(port)], (host, port)):
        yield {"BEANSTALKD_URL": f"{host}:{port}"}


@contextmanager
def official_faktory():
    address, web = free_address(), free_address()
    host, port = address
    # What the server has started may still be writing when it is gone.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        command = [os.environ["FAKTORY_BIN"], "-b", f"{host}:{port}", "-w", f"{web[0]}:{web[1]}"]
        command += ["-d", os.path.join(directory, "db"), "-c", directory]
        with started(command, address, {"HOME": directory}):
            yield {"FAKTORY_URL": f"tcp://{host}:{port}"}


def from_beanstalkd():
    return compared(["ruby", "beanstalk.rb"], debians_beanstalkd)


def from_faktory():
    modules = os.path.join(HERE, "node", "node_modules")
    return compared(["env", f"NODE_PATH={modules}", "node", "faktory.js"], official_faktory)


@dataclass(frozen=True)
class Migration:
    peer: str
    # The language of the program that moves.
    language: str
    run: object
    # Why it cannot be tried here, or nothing.
    absent: str = ""


MIGRATIONS = [
    Migration("beanstalkd", "ruby", from_beanstalkd),
    Migration(
        "Faktory",
        "node",
        from_faktory,
        "" if os.environ.get("FAKTORY_BIN") else "FAKTORY_BIN names no official program",
    ),
]


def main():
    for migration in MIGRATIONS:
        print(f"{migration.peer}: {migration.absent or migration.run()}")


if __name__ == "__main__":
    main()
