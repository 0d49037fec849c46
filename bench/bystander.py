"""How long a client waits while others make the server work hard: ./dev bench bystander [--jobs N]

A bystander puts, reserves and deletes a job of its own tube, again and again, a command at a time.
Shown is its longest wait for a reply during each event, beside its longest while nothing else
happens, since the machine has pauses of its own. beanstalkd is measured where it has the operation.
"""

import argparse
import datetime
import json
import os
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import servers


def start_load(port, **settings):
    command = [os.environ["LOAD"], "--port", str(port)]
    for name, value in settings.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish_load(process):
    text, _ = process.communicate()
    if process.returncode != 0:
        raise RuntimeError("the load failed")
    return json.loads(text)


def load(port, **settings):
    return finish_load(start_load(port, **settings))


class Bystander:
    """Measures while it is open; `longest_ms` afterwards."""

    def __init__(self, port):
        self.process = start_load(port, work="put-cycle", connections=1, seconds=3600,
                                  prefix="bystander")

    def __enter__(self):
        time.sleep(0.3)
        return self

    def __exit__(self, *_):
        time.sleep(0.3)
        self.process.terminate()
        report = finish_load(self.process)
        self.longest_ms = report["reply_max_us"] / 1000
        self.p99_ms = report["reply_p99_us"] / 1000


class Client:
    """One connection, one command at a time."""

    def __init__(self, port, greeting=None):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file = self.socket.makefile("rwb")
        if greeting:
            self.file.readline()
            self.demand(greeting, "+OK")

    def ask(self, text):
        self.file.write(text.encode() + b"\r\n")
        self.file.flush()
        return self.file.readline().decode().strip()

    def demand(self, text, reply):
        """An event that did not happen is no measurement."""
        if (heard := self.ask(text)) != reply:
            raise RuntimeError(f"{text}: {heard}, not {reply}")

    def ready_jobs(self, tube):
        """Of the beanstalk door."""
        size = int(self.ask(f"stats-tube {tube}").split()[1])
        text = self.file.read(size + 2).decode()
        return int(text.split("current-jobs-ready: ")[1].split()[0])


class World:
    """A server filled with jobs, and what can be done to it."""

    def __init__(self, server, jobs, faktory_port=None, web_port=None):
        self.server = server
        self.jobs = jobs
        self.faktory_port = faktory_port
        self.web_port = web_port
        self.million = min(jobs, 1_000_000)

    def put(self, count, **settings):
        load(self.server.port, work="put", connections=4, depth=50, operations=count, **settings)

    def push(self, count, **settings):
        load(self.faktory_port, work="push", connections=4, depth=50, operations=count, **settings)

    def faktory(self):
        return Client(self.faktory_port, 'HELLO {"v":2}')

    # Each event: what is prepared without the bystander, and what is done beside it.

    def nothing(self):
        time.sleep(3)

    def grow(self):
        self.put(self.jobs, queues=10)

    def prepare_kick(self):
        self.put(self.million, prefix="kicked", delay=36000)

    def kick(self):
        client = Client(self.server.port)
        client.demand("use kicked0", "USING kicked0")
        client.demand(f"kick {self.million}", f"KICKED {self.million}")

    def prepare_due(self):
        """The same second for all, where the door can say one; with seconds from now they come due
        as fast as they were put."""
        began = time.time()
        if self.faktory_port is None:
            self.put(self.million, prefix="due", delay=DUE_S)
        else:
            due = datetime.datetime.fromtimestamp(began + DUE_S, datetime.timezone.utc)
            self.push(self.million, prefix="due", at=due.strftime("%Y-%m-%dT%H:%M:%SZ"))
        self.due, took = began + DUE_S, time.time() - began
        if took > DUE_S - 1:
            raise RuntimeError("the jobs were due before all of them were there")
        time.sleep(self.due - time.time() - 1)

    def become_due(self):
        client = Client(self.server.port)
        while client.ready_jobs("due0") < self.million:
            if time.time() > self.due + 2 * DUE_S:
                raise RuntimeError("the jobs are not ready")
            time.sleep(1)

    def prepare_mutate(self):
        self.push(self.million, prefix="mutated", at="2100-01-01T00:00:00Z")

    def mutate(self):
        self.faktory().demand(
            'MUTATE {"cmd":"kill","target":"scheduled","filter":{"jobtype":"SomeJob"}}', "+OK")

    def prepare_remove(self):
        self.push(self.million, prefix="removed")

    def remove(self):
        self.faktory().demand("QUEUE REMOVE removed0", "+OK")

    def search(self):
        cursor = ""
        while cursor is not None:
            url = (f"http://127.0.0.1:{self.web_port}/api/v1/jobs/count?state=ready&text=nowhere"
                   f"&cursor={urllib.parse.quote(cursor)}")
            with urllib.request.urlopen(url) as answer:
                cursor = json.load(answer)["next"]

    def prepare_drop(self):
        self.dropped = []
        for _ in range(5000):
            client = socket.create_connection(("127.0.0.1", self.server.port))
            client.sendall(b"put 0 0 60 1\r\nx\r\nreserve\r\n")
            self.dropped.append(client)
        time.sleep(1)

    def drop(self):
        for client in self.dropped:
            client.close()
        time.sleep(1)

    def flush(self):
        self.faktory().demand("FLUSH", "+OK")

    # Of a server with a journal.

    def fill(self):
        self.put(self.jobs)

    def churn(self):
        """40 MB a second become obsolete, which the disk can follow."""
        load(self.server.port, work="put-cycle", connections=10, operations=10_000, rate=2_000,
             body_bytes=20_000, prefix="churn")

    def churn_on(self):
        """Until the log has been cleaned, whatever it holds."""
        before = self.segments_removed()
        while self.segments_removed() < before + CLEANED_SEGMENTS:
            self.churn()

    def segments_removed(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port}/metrics") as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith("millrace_journal_segments_removed_total "):
                    return int(line.split()[1])
        raise RuntimeError("the metrics do not tell")


# title, prepare, event, whether beanstalkd has it
EVENTS = [
    ("nothing", None, World.nothing, True),
    ("the jobs are put", None, World.grow, True),
    ("kick of a million", World.prepare_kick, World.kick, True),
    ("a million come due in one second", World.prepare_due, World.become_due, True),
    ("MUTATE over a million", World.prepare_mutate, World.mutate, False),
    ("QUEUE REMOVE of a million", World.prepare_remove, World.remove, False),
    ("a web search of all ready jobs", None, World.search, False),
    ("5,000 connections drop, each with a job", World.prepare_drop, World.drop, True),
    ("FLUSH of everything", None, World.flush, False),
]


CLEANED_SEGMENTS = 10
DUE_S = 25

JOURNAL_EVENTS = [
    ("nothing, with a journal", World.fill, World.nothing),
    ("2,000 cycles of 20 kB a second, nothing to clean", None, World.churn),
    ("the same while segments are cleaned", None, World.churn_on),
]


def measure(world, events):
    waits = {}
    for title, prepare, event in events:
        if prepare:
            prepare(world)
        began = time.monotonic()
        with Bystander(world.server.port) as bystander:
            event(world)
        waits[title] = f"{bystander.longest_ms:.1f} | {bystander.p99_ms:.2f}"
        print(f"  {title}: longest {bystander.longest_ms:.1f} ms, p99 {bystander.p99_ms:.2f} ms, "
              f"{time.monotonic() - began:.1f} s", flush=True)
    return waits


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=10_000_000)
    options = parser.parse_args()
    faktory_port, web_port = servers.free_port(), servers.free_port()
    print(f"millrace --volatile, {options.jobs:,} jobs")
    with servers.millrace("--volatile", "--faktory", f"127.0.0.1:{faktory_port}", "--web",
                          f"127.0.0.1:{web_port}") as server:
        world = World(server, options.jobs, faktory_port, web_port)
        ours = measure(world, [event[:3] for event in EVENTS])
    print(f"millrace --sync always, {options.jobs:,} jobs")
    with servers.millrace("--web", f"127.0.0.1:{web_port}") as server:
        ours |= measure(World(server, options.jobs, None, web_port), JOURNAL_EVENTS)
    print(f"beanstalkd, {options.jobs:,} jobs")
    with servers.beanstalkd() as server:
        theirs = measure(World(server, options.jobs), [each[:3] for each in EVENTS if each[3]])
    print("\n| while | longest wait, millrace, ms | p99 | longest, beanstalkd | p99 |\n"
          "|---|---|---|---|---|")
    for title, wait in ours.items():
        print(f"| {title} | {wait} | {theirs.get(title, 'has it not | ')} |")


if __name__ == "__main__":
    main()
