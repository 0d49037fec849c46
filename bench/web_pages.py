"""What the web pages cost the clients of the job doors: ./dev bench web [--jobs N] [--queues N]

Fills a server of its own (without a journal: the disk is not what is measured) with jobs of many
queues, a seventh of them dead, and prints

* for each request of the pages, how long it kept the broker's thread in one turn
  (`Server-Timing`), and
* how long a beanstalk client (put, reserve, delete) and a Faktory client (PUSH, FETCH, ACK) waited
  for each reply: alone, beside pages and searches through all jobs, and while a seventh of all jobs
  is killed and then deleted.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import re
import socket
import statistics
import subprocess
import time
import urllib.parse
import urllib.request

from servers import free_port

BATCH = 1000
ROUNDS = 15
PAUSE_S = 0.0005  # of a bystander, between commands


class Server:
    def __init__(self):
        self.ports = {door: free_port() for door in ("beanstalk", "faktory", "web")}
        doors = [f"--{door}=127.0.0.1:{port}" for door, port in self.ports.items()]
        self.process = subprocess.Popen(
            [os.environ["MILLRACE"], "serve", "--volatile", *doors],
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
        """The answer's JSON (or text) and the milliseconds of its longest turn of the broker."""
        url = f"http://127.0.0.1:{self.ports['web']}{target}"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if data else {}
        with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
            longest = re.search(r"turn;dur=([\d.]+)", answer.headers["Server-Timing"])
            text = answer.read()
        is_json = answer.headers["Content-Type"] == "application/json"
        return (json.loads(text) if is_json else text), float(longest.group(1))

    def end(self):
        self.process.terminate()
        self.process.wait()


def fill(server, count, queues):
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
                "queue": f"queue-{number % queues}",
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


def search(server, query, path="jobs/count"):
    """Slice by slice to the end; the milliseconds of each."""
    took, cursor = [], ""
    while cursor is not None:
        target = f"/api/v1/{path}?{query}&cursor={urllib.parse.quote(cursor)}"
        page, each = server.request(target)
        took.append(each)
        cursor = page["next"]
    return took


def list_queues(server, query):
    """Slice by slice to the end, as the page does; the milliseconds of each."""
    took, start = [], 0
    while start is not None:
        page, each = server.request(f"/api/v1/queues?{query}&limit=100&from={start}")
        took.append(each)
        start = page["from"]
    return took


def row(name, took):
    took = sorted(took)
    middle = statistics.median(took)
    late = took[int(len(took) * 0.99)]
    print(f"{name:46} {len(took):6} {middle:9.3f} {late:9.3f} {took[-1]:9.3f}", flush=True)


def search_row(server, name, query):
    began = time.perf_counter()
    row(f"{name}, each slice", search(server, query))
    print(f"{'':46} {time.perf_counter() - began:.1f} s in all", flush=True)


def measure_pages(server):
    page, _ = server.request("/api/v1/jobs?state=ready&limit=200")
    cursor = urllib.parse.quote(page["next"])
    targets = {
        "overview": "/api/v1/overview",
        "trend": "/api/v1/trend",
        "history": "/api/v1/history?days=180",
        "queue": "/api/v1/queues/queue-7",
        "jobs, first page of 50": "/api/v1/jobs?state=ready",
        "jobs, a later page of 200": f"/api/v1/jobs?state=ready&limit=200&cursor={cursor}",
        "jobs, the last ready ones": "/api/v1/jobs?state=ready&order=desc",
        "jobs, the last dead ones": "/api/v1/jobs?state=dead&order=desc",
        "job": f"/api/v1/jobs/{page['jobs'][0]['id']}",
        "workers": "/api/v1/workers",
        "connections": "/api/v1/connections",
        "server": "/api/v1/server",
        "metrics": "/metrics",
        "stats": "/stats",
        "health": "/health",
    }
    print(f"{'broker time in ms':46} {'count':>6} {'median':>9} {'p99':>9} {'most':>9}")
    for name, target in targets.items():
        row(name, [server.request(target)[1] for _ in range(ROUNDS)])
    for query in ("sort=name", "sort=ready&order=desc", "sort=oldest&order=desc"):
        row(f"queues, {query}, each slice", list_queues(server, query))
    row("errors, each slice", search(server, "", "errors"))
    search_row(server, "search by type", "state=ready&type=None")
    search_row(server, "search by text", "state=ready&text=nowhere")
    search_row(server, "search by jid", "state=ready&id=none")


def put_cycle(stream, _):
    """One command after the other; yields before each, and after the last."""
    for command in (b"put 0 0 60 1\r\nx", b"reserve"):
        yield
        stream.write(command + b"\r\n")
        stream.flush()
        reply = stream.readline()
    stream.readline()
    yield
    stream.write(b"delete %d\r\n" % int(reply.split()[1]))
    stream.flush()
    stream.readline()
    yield


def push_cycle(stream, number):
    jid = b"bystander%d" % number
    for command in (
        b'PUSH {"jid":"%s","jobtype":"Some","queue":"bystander-f","args":[]}' % jid,
        b"FETCH bystander-f",
        b'ACK {"jid":"%s"}' % jid,
    ):
        yield
        stream.write(command + b"\r\n")
        stream.flush()
        if stream.readline().startswith(b"$"):
            stream.readline()
    yield


GREETINGS = {
    "beanstalk": [b"use bystander\r\n", b"watch bystander\r\n", b"ignore default\r\n"],
    "Faktory": [b'HELLO {"v":2,"wid":"bystander"}\r\n'],
}
CYCLES = {"beanstalk": put_cycle, "Faktory": push_cycle}


def stand_by(server, door, is_over, waits):
    """Commands of a client, one after the other, and how long each took. A process of its own,
    since Python's threads wait for one another."""
    _, stream = server.connect(door.lower())
    if door == "Faktory":
        stream.readline()
    for line in GREETINGS[door]:
        stream.write(line)
        stream.flush()
        stream.readline()
    found = []
    for number in itertools.count():
        if is_over.is_set():
            break
        cycle = CYCLES[door](stream, number)
        next(cycle)
        began = time.perf_counter()
        for _ in cycle:
            found.append((time.perf_counter() - began) * 1000)
            time.sleep(PAUSE_S)
            began = time.perf_counter()
    waits.put(found)


def beside(server, name, work):
    """Does the work beside a client of each door; prints how long they waited for answers."""
    is_over, waits = multiprocessing.Event(), {door: multiprocessing.Queue() for door in CYCLES}
    processes = [
        multiprocessing.Process(target=stand_by, args=(server, door, is_over, waits[door]))
        for door in CYCLES
    ]
    for process in processes:
        process.start()
    time.sleep(0.3)
    told = work()
    is_over.set()
    for door, found in waits.items():
        row(f"{name}, {door}", found.get())
    for process in processes:
        process.join()
    return told


def ask_all_pages(server):
    for _ in range(20):
        for target in ("overview", "jobs?limit=200", "jobs?state=dead&order=desc", "workers"):
            server.request(f"/api/v1/{target}")
        list_queues(server, "sort=oldest&order=desc")
        server.request("/metrics")


def measure_bystanders(server):
    title = "a bystander waits for a reply, in ms"
    print(f"\n{title:46} {'count':>6} {'median':>9} {'p99':>9} {'most':>9}")
    beside(server, "alone", lambda: time.sleep(5))
    beside(server, "beside pages", lambda: ask_all_pages(server))
    beside(server, "beside a search by type", lambda: search(server, "type=None"))
    beside(server, "beside a search by text", lambda: search(server, "text=nowhere"))
    beside(server, "beside a search by jid", lambda: search(server, "id=none"))
    kill = {"action": "kill", "states": ["ready"], "type": "Type0"}
    killed, took = beside(server, "beside the kill of a seventh", lambda: run(server, kill))
    delete = {"action": "delete", "states": ["dead"], "type": "Type0"}
    deleted, took_too = beside(server, "beside their deletion", lambda: run(server, delete))
    print(f"\nkilled {killed:,} in {took:.1f} s, deleted {deleted:,} in {took_too:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--queues", type=int, default=40)
    options = parser.parse_args()
    server = Server()
    try:
        fill(server, options.jobs, options.queues)
        run(server, {"action": "kill", "states": ["ready"], "type": "Type6"})
        measure_pages(server)
        measure_bystanders(server)
    finally:
        server.end()


if __name__ == "__main__":
    main()
