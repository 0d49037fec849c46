"""How long one client with a long line, or with long replies, holds up everybody else.

attack.py says what is measured.
"""

import socket
import time
import urllib.request

import arguments
import attack
import heading
import servers
from attack import Event
from client import Client
from goal import at_most

LONGEST_MS = at_most(10, 5)
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


def fetch_put(server):
    client = Client(server.ports["faktory"])
    client.line()
    client.demand('HELLO {"v":2,"wid":"long-lines"}', "+OK")
    client.say(b"FETCH default\r\n")
    client.file.read(int(client.line()[1:]) + 2)
    client.say(b"END\r\n")


def ask_web(server, path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{server.ports['web']}/api/v1/{path}", body,
                                     {"Content-Type": "application/json"} if body else {})
    with urllib.request.urlopen(request) as response:
        response.read()


def search(server):
    # Nearly found at each byte.
    ask_web(server, f"jobs?text={text(1000)}y")


def post_numbers(server):
    ask_web(server, "jobs", job_with_numbers().encode())


def post_text(server):
    ask_web(server, "jobs", job_with_text().encode())


def mutate_by_pattern(server):
    client = Client(server.ports["faktory"])
    client.line()
    client.demand('HELLO {"v":2,"wid":"long-lines"}', "+OK")
    client.demand('MUTATE {"cmd":"requeue","target":"retries","filter":{"regexp":"*zzz*"}}', "+OK")


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


def prepare_failed(server):
    prepare_long_job(server)
    client = Client(server.ports["faktory"])
    client.line()
    client.demand('HELLO {"v":2,"wid":"long-lines"}', "+OK")
    client.say(b"FETCH long\r\n")
    client.file.read(int(client.line()[1:]) + 2)
    client.demand('FAIL {"jid":"long-line-2"}', "+OK")


def prepare_peeked(server):
    client = Client(server.port)
    client.say(b"put 0 0 60 %d\r\n%s\r\n" % (PEEKED_BYTES, b"x" * PEEKED_BYTES))
    client.line()


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
    Event("FETCH of 30 MB that were put", fetch_put, put),
    Event("beanstalk's `reserve` and `delete` of one", reserve, prepare_long_job),
    Event("`put` of 30 MB", put),
    Event("search over the API for a text in a job of 30 MB", search, prepare_long_job),
    Event("MUTATE with a pattern, of a job of 30 MB", mutate_by_pattern, prepare_failed),
    Event("the API is sent a job with 10,000,000 numbers", post_numbers),
    Event("the same with a text of 30 MB", post_text),
    Event("FAIL of 29 MB", say(fail)),
    Event("BEAT of 23 MB", say(beat)),
    Event(f"{PEEKERS} clients pipeline `peek-ready` of {PEEKED_BYTES:,} bytes and never read",
          peek, prepare_peeked),
    Event("the same, and they do read", peek_and_read, prepare_peeked),
]


def main():
    parser = arguments.Parser("long-lines", __doc__)
    parser.add_argument("--times", type=arguments.positive, default=3, help="of each; default: 3")
    parser.add_argument("--only", default="", help="the events with this in their title")
    parser.add_argument("--flags", default="--volatile", help="of the server; default: --volatile")
    options = parser.parse_args()
    arguments.build("millrace")

    def start():
        flags = [*options.flags.split(), "--max-job-size", str(LONG_JOB_BYTES + MILLION)]
        return servers.millrace(*flags, others=("faktory", "web"))

    lines = [heading.heading(f"`{options.flags}`", f"{options.times} times each"), "",
             *attack.HEAD]
    for event in EVENTS:
        if options.only in event.title:
            lines.append(attack.measure(event, options.times, start, LONGEST_MS))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
