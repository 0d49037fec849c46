"""How late scheduled jobs are: pushes many that are due at random times within a minute to a
Faktory port, fetches them all with waiting workers, and tells p50, p99 and the maximum of

* enqueued: from when a job was due to when the server put it into its queue, and
* arrived: to when a worker had it in hand, with its `--workers` connections and this program's own
  slowness in it.

    ./dev bench lateness 127.0.0.1:7419 [--jobs 100000] [--seconds 60] [--workers 20]
"""

import argparse
import json
import random
import re
import selectors
import time
from datetime import datetime, timezone

import arguments
from client import Client

LEAD_SECONDS = 10


def host_and_port(text):
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"must be HOST:PORT, not {text}")
    return host, int(port)


def connect(address):
    host, port = address
    return Client(port, "faktory", host)


def demand_server(parser, address):
    try:
        connect(address).close()
    except OSError as error:
        parser.error(f"no server at {address[0]}:{address[1]}: {error.strerror}")


def timestamp(seconds):
    whole = datetime.fromtimestamp(int(seconds), timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{int(seconds % 1 * 1e9):09d}Z"


def seconds_of(text):
    whole, fraction = re.fullmatch(r"([^.Z]+)(\.\d+)?Z", text).groups()
    base = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return base.timestamp() + float(fraction or 0)


def push_all(address, options):
    begin = time.time() + LEAD_SECONDS
    connect(address).push_all(options.jobs, lambda number: {
        "jid": f"lateness-{number}",
        "jobtype": "Lateness",
        "queue": "lateness",
        "args": [],
        "at": timestamp(begin + random.random() * options.seconds),
    })
    assert time.time() < begin, "pushing took longer than the lead"


class Worker:
    """Waits in FETCH; what it got is acknowledged together with the next FETCH."""

    def __init__(self, address):
        self.socket = connect(address).socket
        self.received = b""
        self.socket.sendall(b"FETCH lateness\r\n")

    def take_reply(self):
        """The next whole reply, without its line end, or None while there is none."""
        head, end, rest = self.received.partition(b"\r\n")
        if not end:
            return None
        size = int(head[1:]) + 2 if head.startswith(b"$") and head != b"$-1" else 0
        if len(rest) < size:
            return None
        self.received = rest[size:]
        return rest[: size - 2] if size else head

    def take_jobs(self):
        self.received += self.socket.recv(65536)
        while (reply := self.take_reply()) is not None:
            if reply == b"+OK":
                continue
            answer = b""
            if reply != b"$-1":
                job = json.loads(reply)
                yield job
                answer = b'ACK {"jid":"%s"}\r\n' % job["jid"].encode()
            self.socket.sendall(answer + b"FETCH lateness\r\n")


def fetch_all(address, options):
    selector = selectors.DefaultSelector()
    for _ in range(options.workers):
        worker = Worker(address)
        selector.register(worker.socket, selectors.EVENT_READ, worker)
    enqueued, arrived = [], []
    while len(arrived) < options.jobs:
        for key, _ in selector.select():
            for job in key.data.take_jobs():
                due = seconds_of(job["at"])
                arrived.append(time.time() - due)
                enqueued.append(seconds_of(job["enqueued_at"]) - due)
    return enqueued, arrived


def tell(name, lateness):
    lateness.sort()
    count = len(lateness)
    picks = {"p50": count // 2, "p99": count * 99 // 100, "max": count - 1}
    shown = [f"{label} {1000 * lateness[place]:.2f} ms" for label, place in picks.items()]
    print(f"{name}: {'  '.join(shown)}")


def main():
    parser = arguments.Parser("lateness", __doc__)
    parser.add_argument("address", type=host_and_port,
                        help="of the Faktory port of a server that runs: HOST:PORT")
    parser.add_argument("--jobs", type=arguments.positive, default=100_000,
                        help="default: 100000")
    parser.add_argument("--seconds", type=arguments.positive_float, default=60,
                        help="within which they are due; default: 60")
    parser.add_argument("--workers", type=arguments.positive, default=20,
                        help="connections; default: 20")
    options = parser.parse_args()
    demand_server(parser, options.address)
    push_all(options.address, options)
    enqueued, arrived = fetch_all(options.address, options)
    print(f"{len(arrived)} jobs due within {options.seconds:g} s")
    tell("enqueued", enqueued)
    tell("arrived", arrived)


if __name__ == "__main__":
    main()
