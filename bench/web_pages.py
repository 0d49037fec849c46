"""What the web pages cost the clients of the job doors. Fills a server of its own with jobs of many
queues, a tenth of them dead, and prints

* for each request of the pages, how long it kept the broker's thread (`Server-Timing`), and
* how long a beanstalk client waited for the answer to a command that does nothing: alone, while a
  search goes through all jobs, and while a tenth of them is killed and deleted again.

    python3 bench/web_pages.py build/release/millrace [--jobs 1000000] [--sync off]
"""

import argparse
import json
import multiprocessing
import re
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from servers import free_port

BATCH = 1000
QUEUES = 40
ROUNDS = 15


class Server:
    def __init__(self, program, options, directory):
        self.ports = {door: free_port() for door in ("beanstalk", "faktory", "web")}
        doors = [f"--{door}=127.0.0.1:{port}" for door, port in self.ports.items()]
        self.process = subprocess.Popen(
            [program, "serve", f"--data={directory}/data", f"--sync={options.sync}", *doors],
            stdout=subprocess.PIPE,
            text=True,
        )
        for line in self.process.stdout:
            if line == "ready\n":
                return
        raise SystemExit("the server did not start")

    def connect(self, door):
        client = socket.create_connection(("127.0.0.1", self.ports[door]))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client, client.makefile("rwb")

    def request(self, target, body=None):
        """The answer's JSON (or text) and the milliseconds that it took the broker."""
        url = f"http://127.0.0.1:{self.ports['web']}{target}"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if data else {}
        with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
            took = float(re.search(r"dur=([\d.]+)", answer.headers["Server-Timing"]).group(1))
            text = answer.read()
        is_json = answer.headers["Content-Type"] == "application/json"
        return (json.loads(text) if is_json else text), took

    def end(self):
        self.process.terminate()
        self.process.wait()


def fill(server, count):
    _, stream = server.connect("faktory")
    stream.readline()
    stream.write(b'HELLO {"v":2}\r\n')
    stream.flush()
    stream.readline()
    for first in range(0, count, BATCH):
        jobs = [
            {
                "jid": f"bench-{number:09d}",
                "jobtype": f"Type{number % 7}",
                "queue": f"queue-{number % QUEUES}",
                "args": [number, "a word or two", {"user": number % 1000}],
            }
            for number in range(first, min(first + BATCH, count))
        ]
        line = json.dumps(jobs, separators=(",", ":")).encode()
        stream.write(b"PUSHB " + line + b"\r\n")
        stream.flush()
        length = int(stream.readline()[1:])
        stream.read(length + 2)


def run(server, operation):
    """Starts it, waits for its end, and tells what it changed and how long it took."""
    begin = time.perf_counter()
    progress, _ = server.request("/api/v1/operations", operation)
    while progress["phase"] == "running":
        time.sleep(0.02)
        progress, _ = server.request(f"/api/v1/operations/{progress['id']}")
    return progress["changed"], time.perf_counter() - begin


def search(server, query):
    """Slice by slice to the end; the milliseconds of each."""
    took, cursor = [], ""
    while cursor is not None:
        target = f"/api/v1/jobs/count?{query}&cursor={urllib.parse.quote(cursor)}"
        page, each = server.request(target)
        took.append(each)
        cursor = page["next"]
    return took


def row(name, took):
    took = sorted(took)
    middle = statistics.median(took)
    late = took[int(len(took) * 0.99)]
    print(f"{name:46} {len(took):6} {middle:9.3f} {late:9.3f} {took[-1]:9.3f}")


def measure_pages(server):
    page, _ = server.request("/api/v1/jobs?state=ready&limit=200")
    cursor = urllib.parse.quote(page["next"])
    targets = {
        "overview": "/api/v1/overview",
        "trend": "/api/v1/trend",
        "history": "/api/v1/history?days=180",
        "queues": "/api/v1/queues?sort=oldest&order=desc&limit=100",
        "queue": "/api/v1/queues/queue-7",
        "jobs, first page of 50": "/api/v1/jobs?state=ready",
        "jobs, a later page of 200": f"/api/v1/jobs?state=ready&limit=200&cursor={cursor}",
        "jobs, the last dead ones": "/api/v1/jobs?state=dead&order=desc",
        "job": f"/api/v1/jobs/{page['jobs'][0]['id']}",
        "errors, a slice": "/api/v1/errors?cursor=dead",
        "workers": "/api/v1/workers",
        "connections": "/api/v1/connections",
        "server": "/api/v1/server",
        "metrics": "/metrics",
    }
    print(f"{'broker time in ms':46} {'count':>6} {'median':>9} {'p99':>9} {'most':>9}")
    for name, target in targets.items():
        row(name, [server.request(target)[1] for _ in range(ROUNDS)])
    row("search by type, each slice", search(server, "state=ready&type=None"))
    row("search by text, each slice", search(server, "state=ready&text=nowhere"))
    row("search by jid, each slice", search(server, "state=ready&id=none"))


def stand_by(server, is_over, waits):
    """A client that asks for next to nothing, again and again. A process of its own, since Python's
    threads wait for one another."""
    _, stream = server.connect("beanstalk")
    found = []
    while not is_over.is_set():
        begin = time.perf_counter()
        stream.write(b"list-tube-used\r\n")
        stream.flush()
        stream.readline()
        found.append((time.perf_counter() - begin) * 1000)
        time.sleep(0.0005)
    waits.put(found)


def beside(server, name, work):
    is_over, waits = multiprocessing.Event(), multiprocessing.Queue()
    bystander = multiprocessing.Process(target=stand_by, args=(server, is_over, waits))
    bystander.start()
    time.sleep(0.2)
    told = work()
    is_over.set()
    row(name, waits.get())
    bystander.join()
    return told


def measure_bystander(server):
    print(f"\n{'a bystander waits, in ms':46} {'count':>6} {'median':>9} {'p99':>9} {'most':>9}")
    beside(server, "alone", lambda: time.sleep(5))
    by_type, by_text = "state=ready&type=None", "state=ready&text=nowhere"
    beside(server, "during a search of all by type", lambda: search(server, by_type))
    beside(server, "during a search of all by text", lambda: search(server, by_text))
    kill = {"action": "kill", "states": ["ready"], "type": "Type0"}
    changed, took = beside(server, "during the kill of a seventh", lambda: run(server, kill))
    delete = {"action": "delete", "states": ["dead"]}
    deleted, took_too = beside(
        server, "during the deletion of all dead", lambda: run(server, delete)
    )
    print(f"\nkilled {changed} in {took:.1f} s, deleted {deleted} in {took_too:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--sync", default="off")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server = Server(options.program, options, directory)
        try:
            fill(server, options.jobs)
            for number in range(QUEUES // 10):
                run(server, {"action": "kill", "states": ["ready"], "queue": f"queue-{number}"})
            measure_pages(server)
            measure_bystander(server)
        finally:
            server.end()


if __name__ == "__main__":
    main()
