"""What the cases of the Faktory protocol have in common."""

import time
from contextlib import contextmanager

from programs import Background
from servers import Faktory, Gone, wait_until


@contextmanager
def closing(program):
    try:
        yield program
    finally:
        program.end()


@contextmanager
def pushing(library, server):
    with closing(library.pusher(server)) as pusher:
        yield pusher


NEVER = range(1)


@contextmanager
def working(library, server, *queues, concurrency=2, restarts=NEVER):
    """A worker that must not end but so many times."""
    with closing(library.worker(server, queues or ["default"], concurrency)) as worker:
        yield worker
        count = worker.restarts
        assert count in restarts, f"it ended {count} times, not {restarts}: {worker.error_tail()}"


def job(jid, jobtype="Record", queue="default", args=(), **more):
    return {"jid": jid, "jobtype": jobtype, "queue": queue, "args": list(args), **more}


def wait_for_run(worker, jid, jobtype=None, seconds=30):
    try:
        wait_until(lambda: worker.runs_of(jid, jobtype), f"a run of {jid}", seconds)
    except AssertionError as error:
        raise AssertionError(f"{error}; the worker said: {worker.error_tail()}") from error
    return worker.runs_of(jid, jobtype)[0]


def wait_until_gone(server, jid, seconds=30):
    wait_until(lambda: server.is_gone(jid), f"{jid} is done", seconds)


def wait_for_state(server, jid, state, seconds=30):
    def is_there():
        found = server.job(jid)
        return found is not None and found["state"] == state

    wait_until(is_there, f"{jid} is {state}", seconds)
    return server.job(jid)


class Rival:
    """Another worker that asks for jobs of the queue `default` all the time. `had` is when it got
    which."""

    WID = "rival-0001"

    def __init__(self, server):
        self.server = server
        self.had = {}
        self.is_told_to_end = False
        self.background = Background(self.run)

    def connect(self):
        return Faktory(self.server.server.faktory_address, wid=self.WID)

    def run(self):
        while not self.is_told_to_end:
            try:
                self.fetch(self.connect())
            except Gone:
                time.sleep(0.05)  # the server may be away for a moment

    def fetch(self, client):
        try:
            while not self.is_told_to_end:
                if found := client.fetch("default"):
                    self.had[found["jid"]] = time.monotonic()
        finally:
            client.close()

    def ack(self, jid):
        client = self.connect()
        try:
            assert client.ack(jid) == "+OK", jid
        finally:
            client.close()

    def end(self):
        self.is_told_to_end = True
        self.background.finish(30)
