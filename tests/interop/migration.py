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
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

sys.dont_write_bytecode = True

from languages import HERE  # noqa: E402
from servers import free_address, serving, start_kept, wait_for_port  # noqa: E402

PROGRAM_SECONDS_MAX = 120
STOP_SECONDS_MAX = 60


@dataclass(frozen=True)
class Server:
    """What both sides have: an address in the environment, and a way to end and start it again."""

    environment: dict
    restart: object = None


def compared(command, peer):
    """How much both servers made the program print. Raises where they differ."""
    with peer() as server:
        theirs = printed(command, server)
    with serving() as millrace:
        ours = printed(command, Server(millrace.environment(), lambda: restart(millrace)))
    assert theirs, "the program printed nothing"
    difference = "\n".join(difflib.unified_diff(theirs, ours, "peer", "Millrace", lineterm=""))
    assert not difference, difference
    return f"{len(ours)} lines"


def restart(millrace):
    millrace.terminate()
    millrace.start()


def printed(command, server):
    process = start_kept(
        command,
        cwd=os.path.join(HERE, "migration"),
        env={**os.environ, **server.environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    giving_up = threading.Timer(PROGRAM_SECONDS_MAX, process.kill)
    giving_up.start()
    lines = []
    with process:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if line == "restart\n":
                server.restart()
                process.stdin.write("\n")
                process.stdin.flush()
    giving_up.cancel()
    assert process.returncode == 0, f"{command} ended with {process.returncode} after {lines[-3:]}"
    return lines


@contextmanager
def started(command, address, more=None):
    """A peer's process, listening."""
    process = start_kept(
        command,
        env={**os.environ, **(more or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # With the server that it has started itself.
        start_new_session=True,
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
    address = free_address()
    url = "{}:{}".format(*address)
    with tempfile.TemporaryDirectory() as directory, ExitStack() as running:
        command = ["beanstalkd", "-l", address[0], "-p", str(address[1]), "-b", directory]

        def start_again():
            running.close()
            running.enter_context(started(command, address))

        start_again()
        yield Server({"BEANSTALKD_URL": url}, start_again)


@contextmanager
def official_faktory():
    address, web = free_address(), free_address()
    host, port = address
    # What the server has started may still be writing when it is gone.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        command = [os.environ["FAKTORY_BIN"], "-b", f"{host}:{port}", "-w", f"{web[0]}:{web[1]}"]
        command += ["-d", os.path.join(directory, "db"), "-c", directory]
        with started(command, address, {"HOME": directory}):
            yield Server({"FAKTORY_URL": f"tcp://{host}:{port}"})


def from_beanstalkd():
    return compared(["ruby", "beanstalk.rb"], debians_beanstalkd)


def from_faktory():
    modules = os.path.join(HERE, "node", "node_modules")
    command = ["env", f"NODE_PATH={modules}", "node", "faktory.js"]
    return compared(command, official_faktory)


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
