"""How long one client with a long line, or with long replies, holds up everybody else.

A witness asks for a job that is not there, again and again, while another process sends the line,
and until 0.3 s after its answer. Shown is the witness's longest wait, and how much processor time
the server's main thread took during one of its waits at most: this is what the server is to blame
for, also where the machine is busy with something else. Of several times the median is shown, with
the worst in brackets; the worst time of the thread is compared with what is wanted.
"""

import os
import socket
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Callable

import arguments
import heading
import servers
from client import Client
from goal import at_most

LONGEST_MS = at_most(10, 5)
AFTERMATH_S = 0.3
MISSING = b"peek 999999999\r\n"
NOT_FOUND = b"NOT_FOUND\r\n"
MILLION = 1_000_000
LONG_JOB_BYTES = 30 * MILLION
PEEKERS = 200
PEEKED_BYTES = 60_000
PEEKS = 2_000  # of each
STUCK_S = 3
BATCH_JOBS = 500_000


def text(size):
    return "x" * size


def job_with_members():
    members = ",".join(f'"m{number}":1' for number in range(2 * MILLION))
    return f'{{"jid":"long-line-1","jobtype":"Long","args":[],{members}}}'


def job_with_numbers():
    return job("long-line-3", "12," * (10 * MILLION - 1) + "12")


def job_with_text():
    return job("long-line-2", f'"{text(LONG_JOB_BYTES)}"')


def small_jobs():
    return "[" + ",".join(f'{{"jid":"batch-{number}"}}' for number in range(BATCH_JOBS)) + "]"


def mutate():
    jids = ",".join(f'"jid{number}"' for number in range(2 * MILLION))
    return f'MUTATE {{"cmd":"kill","target":"dead","filter":{{"jids":[{jids}]}}}}'


def fail():
    return f'FAIL {{"jid":"long-line-4","errtype":"E","message":"{text(29 * MILLION)}"}}'


def beat():
    return f'BEAT {{"wid":"long-lines","current_state":"{text(23 * MILLION)}"}}'


def job(jid, args):
    return f'{{"jid":"{jid}","jobtype":"Long","queue":"long","args":[{args}]}}'


# What the other process does. Each gets the server.


def say(make_line, around="{}"):
    """Sends the line as a worker, and reads the first line of the answer."""

    def attack(server):
        client = Client(server.ports["faktory"])
        client.line()
        client.demand('HELLO {"v":2,"wid":"long-lines"}', "+OK")
        client.say(around.format(make_line()).encode() + b"\r\n")
        client.line()

    return attack


def fetch(server):
    client = Client(server.ports["faktory"])
    client.line()
    client.demand('HELLO {"v":2,"wid":"long-lines"}', "+OK")
    client.say(b"FETCH long\r\n")
    client.file.read(int(client.line()[1:]) + 2)
    client.demand('ACK {"jid":"long-line-2"}', "+OK")


def reserve(server):
    client = Client(server.port)
    client.demand("watch long", "WATCHING 2")
    client.say(b"reserve\r\n")
    _, number, size = client.line().split()
    client.file.read(int(size) + 2)
    client.demand(f"delete {number}", "DELETED")


def put(server):
    client = Client(server.port)
    client.say(b"put 0 0 60 %d\r\n%s\r\n" % (LONG_JOB_BYTES, text(LONG_JOB_BYTES).encode()))
    client.line()


def peek(server, does_read=False):
    sockets = []
    for _ in range(PEEKERS):
        peeker = socket.create_connection(("127.0.0.1", server.port))
        peeker.setblocking(False)
        sockets.append(peeker)
    unsent = {peeker: b"peek-ready\r\n" * PEEKS for peeker in sockets}
    end = time.monotonic() + STUCK_S
    while time.monotonic() < end:
        for peeker in sockets:
            try:
                unsent[peeker] = unsent[peeker][peeker.send(unsent[peeker]):]
                if does_read:
                    peeker.recv(1 << 20)
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                pass
        if not does_read:
            time.sleep(0.01)


def peek_and_read(server):
    peek(server, does_read=True)


def prepare_long_job(server):
    client = Client(server.ports["faktory"], "faktory")
    client.demand(f"PUSH {job_with_text()}", "+OK")


def prepare_peeked(server):
    client = Client(server.port)
    client.say(b"put 0 0 60 %d\r\n%s\r\n" % (PEEKED_BYTES, b"x" * PEEKED_BYTES))
    client.line()


@dataclass
class Event:
    title: str
    attack: Callable
    prepare: Callable = lambda server: None


EVENTS = [
    Event("nothing", lambda server: time.sleep(1)),
    Event("MUTATE with 2,000,000 `jids`", say(mutate)),
    Event("PUSH of a job with 2,000,000 members", say(job_with_members, "PUSH {}")),
    Event("PUSHB of the same", say(job_with_members, "PUSHB [{}]")),
    Event(f"PUSHB of {BATCH_JOBS:,} jobs without a jobtype", say(small_jobs, "PUSHB {}")),
    Event("PUSH with 10,000,000 numbers in `args`", say(job_with_numbers, "PUSH {}")),
    Event("PUSHB of the same", say(job_with_numbers, "PUSHB [{}]")),
    Event("PUSH with a text of 30 MB", say(job_with_text, "PUSH {}")),
    Event("FETCH and ACK of a job of 30 MB", fetch, prepare_long_job),
    Event("beanstalk's `reserve` and `delete` of one", reserve, prepare_long_job),
    Event("`put` of 30 MB", put),
    Event("FAIL of 29 MB", say(fail)),
    Event("BEAT of 23 MB", say(beat)),
    Event(f"{PEEKERS} clients pipeline `peek-ready` of {PEEKED_BYTES:,} bytes and never read",
          peek, prepare_peeked),
    Event("the same, and they do read", peek_and_read, prepare_peeked),
]


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


def watch(server, attacker):
    """Until it has ended and the aftermath is over."""
    client = socket.create_connection(("127.0.0.1", server.port))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    thread, found, end = MainThread(server), Wait(), None
    while end is None or time.monotonic() < end:
        own, began = thread.ms(), time.monotonic()
        client.sendall(MISSING)
        if client.recv(64) != NOT_FOUND:
            raise RuntimeError("the witness was not answered")
        found.longest_ms = max(found.longest_ms, (time.monotonic() - began) * 1000)
        found.own_ms = max(found.own_ms, thread.ms() - own)
        if end is None and os.waitpid(attacker, os.WNOHANG)[0] == attacker:
            end = time.monotonic() + AFTERMATH_S
    client.close()
    return found


def attack_from_child(event, server):
    child = os.fork()
    if child:
        return child
    servers.end_with_parent()
    try:
        event.attack(server)
    except (OSError, RuntimeError, ValueError, IndexError) as problem:
        print(f"  {event.title}: {problem}", file=sys.stderr)
    os._exit(0)


def measure(flags, options):
    rows = []
    for event in EVENTS:
        if options.only not in event.title:
            continue
        waits = []
        for _ in range(options.times):
            with servers.millrace(*flags, "--max-job-size", str(LONG_JOB_BYTES),
                                  others=("faktory",)) as server:
                event.prepare(server)
                waits.append(watch(server, attack_from_child(event, server)))
        rows.append(row(event.title, waits))
        print(f"  {rows[-1]}", file=sys.stderr)
    return rows


def row(title, waits):
    longest = [wait.longest_ms for wait in waits]
    own = [wait.own_ms for wait in waits]
    return (f"| {title} | {statistics.median(longest):.1f} ({max(longest):.1f}) "
            f"| {statistics.median(own):.1f} ({max(own):.1f}) | {LONGEST_MS.columns(max(own))} |")


def main():
    parser = arguments.Parser("long-lines", __doc__)
    parser.add_argument("--times", type=arguments.positive, default=3, help="of each; default: 3")
    parser.add_argument("--only", default="", help="the events with this in their title")
    parser.add_argument("--flags", default="--volatile", help="of the server; default: --volatile")
    options = parser.parse_args()
    arguments.build("millrace")
    lines = [heading.heading(f"`{options.flags}`", f"{options.times} times each"), "",
             "| while | longest wait, ms | of it the server's own | floor | aim | |",
             f"|{'---|' * 6}"]
    print("\n".join(lines + measure(options.flags.split(), options)))


if __name__ == "__main__":
    main()
