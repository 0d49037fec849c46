"""What one client may do to all others: a witness asks a short question again and again, while a
process of its own attacks the server, and until 0.3 s after it has ended.

Shown is the witness's longest wait, and how much processor time the server's main thread took
during one of its waits at most. The witness goes before all others (SCHED_FIFO), where it may: else
it would wait for the attackers too, and the server's work in that time would count. So the second
number is what the server is to blame for, also where the machine is busy. Of several times the
median is shown, with the worst in brackets. The worst time of the thread is compared with what is
wanted, unless a row says otherwise.
"""

import contextlib
import os
import socket
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Callable

import servers

AFTERMATH_S = 0.3
MISSING = b"peek 999999999\r\n"
NOT_FOUND = b"NOT_FOUND\r\n"


class Peeks:
    """The witness's questions about a job that is not there."""

    def __init__(self, server, wrap=lambda plain: plain):
        plain = socket.create_connection(("127.0.0.1", server.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = wrap(plain)

    def ask(self):
        self.socket.sendall(MISSING)
        if self.socket.recv(64) != NOT_FOUND:
            raise RuntimeError("the witness was not answered")

    def close(self):
        self.socket.close()


@dataclass
class Event:
    title: str
    attack: Callable  # in a process of its own
    prepare: Callable = lambda server: None
    witness: Callable = Peeks
    is_own_compared: bool = True  # else the witness's wait is compared with what is wanted


def go_first(is_first):
    policy = os.SCHED_FIFO if is_first else os.SCHED_OTHER
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, policy, os.sched_param(1 if is_first else 0))


class MainThread:
    """The processor time of a server's main thread."""

    def __init__(self, server):
        self.file = os.open(f"/proc/{server.pid}/task/{server.pid}/schedstat", os.O_RDONLY)

    def ms(self):
        return int(os.pread(self.file, 64, 0).split()[0]) / 1e6


@dataclass
class Wait:
    longest_ms: float = 0
    own_ms: float = 0


def watch(server, witness, attacker):
    """Until the attacker has ended and the aftermath is over."""
    thread, found, end = MainThread(server), Wait(), None
    go_first(True)
    while end is None or time.monotonic() < end:
        own, began = thread.ms(), time.monotonic()
        witness.ask()
        found.longest_ms = max(found.longest_ms, (time.monotonic() - began) * 1000)
        found.own_ms = max(found.own_ms, thread.ms() - own)
        if end is None and os.waitpid(attacker, os.WNOHANG)[0] == attacker:
            end = time.monotonic() + AFTERMATH_S
    go_first(False)
    witness.close()
    return found


def attack_from_child(event, server):
    child = os.fork()
    if child:
        return child
    try:
        servers.end_with_parent()
        event.attack(server)
    except (OSError, RuntimeError, ValueError, IndexError) as problem:
        print(f"  {event.title}: {problem}", file=sys.stderr)
    finally:  # the server is not this process's to stop
        os._exit(0)


def measure(event, times, start, wanted):
    """A row of the table. `start` starts a server, which is to be used in a `with`."""
    waits = []
    for _ in range(times):
        with start() as server:
            event.prepare(server)
            witness = event.witness(server)
            witness.ask()
            waits.append(watch(server, witness, attack_from_child(event, server)))
    longest = [wait.longest_ms for wait in waits]
    own = [wait.own_ms for wait in waits]
    compared = max(own if event.is_own_compared else longest)
    row = (f"| {event.title} | {statistics.median(longest):.1f} ({max(longest):.1f}) "
           f"| {statistics.median(own):.1f} ({max(own):.1f}) | {wanted.columns(compared)} |")
    print(f"  {row}", file=sys.stderr)
    return row


HEAD = ["| while | longest wait, ms | of it the server's own | floor | aim | |", f"|{'---|' * 6}"]
