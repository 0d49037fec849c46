"""How late scheduled jobs are: pushes many that are due at random times within a minute to a
Faktory port, fetches them all with waiting workers, and tells p50, p99 and the maximum of

* enqueued: from when a job was due to when the server put it into its queue, and
* arrived: to when a worker had it in hand, with its `--workers` connections and this program's own
  slowness in it.

    python3 bench/lateness.py 127.0.0.1:7419 [--jobs 100000] [--seconds 60] [--workers 20]
"""

import argparse
import json
import random
import re
import selectors
import socket
import time
from datetime import datetime, timezone

BATCH = 1000
LEAD_SECONDS = 10


def connect(address):
    host, port = address.rsplit(":", 1)
    client = socket.create_connection((host, int(port)))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream = client.makefile("rwb")
    stream.readline()
    stream.write(b'HELLO {"v":2}\r\n')
    stream.flush()
    assert stream.readline() == b"+OK\r\n"
    return client, stream


def timestamp(seconds):
    whole = datetime.fromtimestamp(int(seconds), timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{int(seconds % 1 * 1e9):09d}Z"


def seconds_of(text):
    whole, fraction = re.fullmatch(r"([^.Z]+)(\.\d+)?Z", text).groups()
    base = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return base.timestamp() + float(fraction or 0)


def push_all(address, options):
    _, stream = connect(address)
    begin = time.time() + LEAD_SECONDS
    for first in range(0, options.jobs, BATCH):
        jobs = [
            {
                "jid": f"lateness-{number}",
                "jobtype": "Lateness",
                "queue": "lateness",
                "args": [],
                "at": timestamp(begin + random.random() * options.seconds),
            }
            for number in range(first, min(first + BATCH, options.jobs))
        ]
        stream.write(b"PUSHB " + json.dumps(jobs).encode() + b"\r\n")
        stream.flush()
        stream.readline()
        assert stream.readline() == b"{}\r\n"
    assert time.time() < begin, "pushing took longer than the lead"


class Worker:
    """Waits in FETCH; what it got is acknowledged together with the next FETCH."""

    def __init__(self, address):
        self.socket, _ = connect(address)
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
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("address")
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=20)
    options = parser.parse_args()
    push_all(options.address, options)
    enqueued, arrived = fetch_all(options.address, options)
    print(f"{len(arrived)} jobs due within {options.seconds:g} s")
    tell("enqueued", enqueued)
    tell("arrived", arrived)


if __name__ == "__main__":
    main()
