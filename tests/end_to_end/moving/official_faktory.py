"""The official server of Faktory, filled with jobs in every state."""

import json
import os
import signal
import subprocess
import time

from clients import Faktory, Gone
from program import START_SECONDS_MAX, STOP_SECONDS_MAX, free_port, start_kept

FAR = "2099-01-02T03:04:05.678901234Z"
ODD_TEXTS = ["<a>&</a>", "\u00e9\u20ac\U0001f980", "\u2028\u2029", "\0\x01\x7f\t\r\n", '"\\/',
             "x" * 3000, ""]
NUMBERS = [0, -1, 2**53, 2**53 + 1, 12345678901234567890, 0.1, -0.0, 1e300]


class OfficialFaktory:
    """One process on a directory of its own."""

    def __init__(self, program, directory, env=None):
        self.directory = directory
        self.address = ("127.0.0.1", free_port())
        self.web = ("127.0.0.1", free_port())
        command = [program, "-b", f"127.0.0.1:{self.address[1]}", "-w", f"127.0.0.1:{self.web[1]}",
                   "-d", directory, "-c", directory, "-e", "development"]
        kept = {n: text for n, text in os.environ.items() if not n.startswith("FAKTORY_")}
        self.process = start_kept(command, env={**kept, "HOME": directory, **(env or {})},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)

    def client(self, wid=None, password=None):
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                return Faktory(self.address, wid, password)
            except Gone:
                assert time.monotonic() < end and self.process.poll() is None
                time.sleep(0.01)

    def terminate(self):
        """Its Redis has saved all when it is gone."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(STOP_SECONDS_MAX)


def expect(reply, wanted="+OK"):
    assert reply == wanted, reply


def push_all(client):
    for i, text in enumerate(ODD_TEXTS):
        expect(client.push(f"odd-text-{i}", "mail", [text, {"z": text, "a": [text]}]))
    for i, number in enumerate(NUMBERS):
        expect(client.push(f"number--{i}", "numbers", [number, {"deep": [[number]]}]))
    for i in range(100):
        expect(client.push(f"in-order-{i:03}", "in.order_of-a-queue", [i]))
    expect(client.push("no-args-at-all", "mail"))
    expect(client.push("wants-a-lot", "mail", [1], retry=3, reserve_for=7200, backtrace=12,
                       custom={"unique_for": 60, "track": 1, "mine": {"b": 1, "a": None}}))
    expect(client.push("retry-none", "mail", [], retry=0))
    expect(client.push("retry-never", "mail", [], retry=-1))
    expect(client.push("odd-jid-\u00e9\" \\<>", "mail", []))
    expect(client.push("created-oddly", "mail", [], created_at="long ago"))
    expect(client.push("was-here-before", "mail", [], failure={
        "retry_count": 3, "remaining": 2, "failed_at": "2026-01-02T03:04:05.5Z",
        "message": "<it> & failed", "errtype": "Odd\u20ac", "backtrace": ["a:1", "b:2"]}))
    for i in range(5):
        expect(client.push(f"later---{i}", "later", [i], at=f"2099-01-0{5 - i}T00:00:00Z"))
    expect(client.push("later-exactly", "later", [], at=FAR))
    expect(client.push("later-elsewhere", "later", [], at="2098-12-31T23:59:59.5+05:30"))
    expect(client.push("due-already", "mail", [], at="2020-01-01T00:00:00Z"))


def fail(client, jid, **more):
    failure = {"jid": jid, "errtype": "RuntimeError", "message": f"no <luck> for {jid} \u00e9",
               "backtrace": ["here:1", "there:2"], **more}
    expect(client.command("FAIL " + json.dumps(failure)))


def run_some(client):
    """Jobs that were acknowledged, have failed, have died, or are held."""
    for i in range(30):
        failure = {"retry_count": 22, "remaining": 3, "failed_at": "2026-03-04T05:06:07Z"}
        # Without `retry` it would have that of the push before: an error of the official server.
        expect(client.push(f"to-retry-{i:02}", "busy", [i], retry=25, failure=failure))
        assert client.fetch("busy")["jid"] == f"to-retry-{i:02}"
        fail(client, f"to-retry-{i:02}")
    for i in range(10):
        expect(client.push(f"to-die---{i}", "busy", [i], retry=-1))
        client.fetch("busy")
        fail(client, f"to-die---{i}", backtrace=[])
    for i in range(20):
        expect(client.push(f"to-do----{i:02}", "busy", [i]))
        client.fetch("busy")
        expect(client.ack(f"to-do----{i:02}"))
    for i in range(7):
        expect(client.push(f"at-work--{i}", "busy", [i], reserve_for=3600))
        client.fetch("busy")
    expect(client.push("killed-untried", "busy", [], at=FAR))
    kill = {"cmd": "kill", "target": "scheduled", "filter": {"jids": ["killed-untried"]}}
    expect(client.command("MUTATE " + json.dumps(kill, separators=(",", ":"))))


def fill(server):
    """All that Faktory can have. Nothing of it becomes due within an hour."""
    client = server.client("worker-of-the-test")
    push_all(client)
    run_some(client)
    expect(client.push("once-here", "empty"))
    assert client.fetch("empty")["jid"] == "once-here"
    expect(client.ack("once-here"))
    expect(client.push("waits-paused", "paused"))
    expect(client.command("QUEUE PAUSE paused in.order_of-a-queue"))
    client.close()
