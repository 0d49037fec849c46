"""Real clients against the real server: Debian's ruby-beaneater and npm's faktory-worker.

    MILLRACE=build/release/millrace python3 tests/interop/run.py

Prints a row for each case and then `N passed, N failed`. A case that did not reach the server
fails.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "end_to_end"))
sys.dont_write_bytecode = True

from clients import Beanstalk, Faktory  # noqa: E402
from program import Server, wait_until  # noqa: E402

JOBS = 2000
JOBS_ACROSS = 200
# A FETCH whose answer died with the old server holds its job for a worker that never saw it, until
# `reserve_for` is over (a minute). Then the job fails, and waits up to 44 s for its retry. That is
# what the protocol says, so the test waits as a user would.
DONE_SECONDS_MAX = 240


class Client:
    """A client program, and the lines that it has printed so far."""

    def __init__(self, *command):
        self.lines = []
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def finish(self, seconds=120):
        """Waits for it to end by itself; all that it printed is in `lines` then."""
        status = self.process.wait(seconds)
        self.reader.join(10)
        assert status == 0, f"{self.process.args} ended with {status}: {self.error_tail()}"

    def error_tail(self):
        self.errors.seek(0)
        return self.errors.read()[-2000:]

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def ruby(script, *arguments):
    return Client("ruby", os.path.join(HERE, "ruby", script), *arguments)


def node(script, *arguments):
    return Client("node", os.path.join(HERE, "node", script), *arguments)


def kill_half_way(server, producer, worker):
    """Kills and restarts the server in the middle of what the producer and the worker do."""
    wait_until(lambda: len(producer.lines) >= JOBS // 2 and worker.lines, "half of the work", 120)
    server.kill()
    acknowledged, done = len(producer.lines), len(worker.lines)
    assert acknowledged < JOBS, "the producer was through before the kill"
    assert 0 < done < JOBS, f"the worker had done {done} jobs before the kill"
    time.sleep(0.3)
    server.start()
    return f"killed at {acknowledged} acknowledged, {done} done"


def wait_for_worker(server):
    def is_waiting():
        return int(Beanstalk(server.beanstalk_address).stats()["current-waiting"]) > 0

    wait_until(is_waiting, "a waiting worker", 60)


def wait_until_done(worker, expected, number_of):
    """Every number in `expected` was done; returns how many were done more than once."""

    def missing():
        return expected - {number_of(line) for line in list(worker.lines)}

    try:
        wait_until(lambda: not missing(), "every job done", DONE_SECONDS_MAX)
    except AssertionError as error:
        some = sorted(missing())[:10]
        raise AssertionError(f"never done: {some}... {worker.error_tail()}") from error
    return len(worker.lines) - len(expected)


def ruby_stream(server, clients):
    """beaneater puts and works, the server is killed half-way."""
    port = server.beanstalk_address[1]
    worker = clients(ruby("worker.rb", port, "interop"))
    wait_for_worker(server)
    producer = clients(ruby("producer.rb", port, "interop", JOBS))
    killed = kill_half_way(server, producer, worker)
    producer.finish()
    assert [int(line) for line in producer.lines] == list(range(JOBS))
    again = wait_until_done(worker, set(range(JOBS)), int)
    stats = Beanstalk(server.beanstalk_address).stats()
    assert int(stats["cmd-put"]) > 0 and int(stats["cmd-delete"]) > 0, stats
    wait_until(lambda: tube_is_empty(server, "interop"), "an empty tube")
    return f"{JOBS} done, {again} of them again; {killed}"


def tube_is_empty(server, tube):
    stats = Beanstalk(server.beanstalk_address).stats(f"stats-tube {tube}")
    return stats is None or all(stats[f"current-jobs-{state}"] == "0" for state in STATES)


STATES = ("ready", "reserved", "delayed", "buried")


def node_stream(server, clients):
    """faktory-worker pushes and works, the server is killed half-way."""
    port = server.faktory_address[1]
    worker = clients(node("worker.js", port, "interop", "Count"))
    wait_for_worker(server)
    producer = clients(node("producer.js", port, "interop", "Count", JOBS))
    killed = kill_half_way(server, producer, worker)
    producer.finish()
    assert [int(line) for line in producer.lines] == list(range(JOBS))
    again = wait_until_done(worker, set(range(JOBS)), lambda line: json.loads(line)["args"][0])
    info = Faktory(server.faktory_address).info()
    assert info["server"]["command_count"] > 0
    assert info["faktory"]["queues"].get("interop", 0) == 0, info
    return f"{JOBS} done, {again} of them again; {killed}"


def ruby_to_node(server, clients):
    """What beaneater puts, faktory-worker does."""
    port = server.beanstalk_address[1]
    producer = clients(ruby("producer.rb", port, "to-node", JOBS_ACROSS))
    producer.finish()
    client = Beanstalk(server.beanstalk_address)
    client.command("use to-node")
    unit = client.put(b'{"jobtype":"Greet","args":["hello",1]}')
    plain = client.put("grüße".encode())
    binary = client.put(b"\xff\xfe\x00")

    worker = clients(node("worker.js", server.faktory_address[1], "to-node", "beanstalk", "Greet"))
    wait_until(lambda: len(worker.lines) >= JOBS_ACROSS + 3, "every job done", 60)
    done = {job["jid"]: job for job in map(json.loads, worker.lines)}
    assert len(done) == JOBS_ACROSS + 3
    numbers = {job["args"][0] for job in done.values()}
    assert numbers >= {str(number) for number in range(JOBS_ACROSS)}
    assert done[f"beanstalk-{unit}"]["args"] == ["hello", 1]
    assert done[f"beanstalk-{unit}"]["jobtype"] == "Greet"
    assert done[f"beanstalk-{plain}"]["args"] == ["grüße"]
    assert done[f"beanstalk-{binary}"]["args"] == ["//4A"]
    assert done[f"beanstalk-{binary}"]["custom"]["encoding"] == "base64"
    wait_until(lambda: tube_is_empty(server, "to-node"), "an empty queue")
    return f"{len(done)} jobs"


def node_to_ruby(server, clients):
    """What faktory-worker pushes, beaneater reserves as JSON and deletes, which counts as ACK."""
    port = server.faktory_address[1]
    producer = clients(node("producer.js", port, "to-ruby", "Sum", JOBS_ACROSS))
    producer.finish()
    before = Faktory(server.faktory_address).info()["faktory"]["total_processed"]
    worker = clients(ruby("worker.rb", server.beanstalk_address[1], "to-ruby"))
    wait_until(lambda: len(worker.lines) >= JOBS_ACROSS, "every job done", 60)
    jobs = [json.loads(line) for line in worker.lines]
    assert [job["args"] for job in jobs] == [[number] for number in range(JOBS_ACROSS)]
    assert {job["jobtype"] for job in jobs} == {"Sum"}
    assert {job["queue"] for job in jobs} == {"to-ruby"}
    assert len({job["jid"] for job in jobs}) == JOBS_ACROSS
    wait_until(lambda: tube_is_empty(server, "to-ruby"), "an empty tube")
    processed = Faktory(server.faktory_address).info()["faktory"]["total_processed"]
    assert processed - before == JOBS_ACROSS, (before, processed)
    return f"{JOBS_ACROSS} jobs"


CASES = [ruby_stream, node_stream, ruby_to_node, node_to_ruby]


def run(case):
    """The case's own row, with a server and clients that end with it."""
    clients = []

    def keep(client):
        clients.append(client)
        return client

    with tempfile.TemporaryDirectory(prefix="millrace-interop-") as directory:
        server = Server(os.path.join(directory, "data"))
        server.start()
        try:
            return case(server, keep)
        finally:
            for client in clients:
                client.end()
            server.end()


def told(case):
    """Runs a case and prints its row; whether it passed."""
    began = time.monotonic()
    try:
        result, ok = run(case), True
    except Exception:  # pylint: disable=broad-except
        result, ok = traceback.format_exc(), False
    mark, seconds = "ok  " if ok else "FAIL", time.monotonic() - began
    print(f"{mark} {case.__name__:<14}{seconds:6.1f} s  {result}", flush=True)
    return ok


def main():
    with ThreadPoolExecutor(len(CASES)) as pool:
        passed = sum(pool.map(told, CASES))
    print(f"{passed} passed, {len(CASES) - passed} failed")
    return 0 if passed == len(CASES) else 1


if __name__ == "__main__":
    sys.exit(main())
