"""The server goes away under a running worker and comes again."""

import time
from functools import partial

from faktory_steps import NEVER, job, pushing, wait_for_run, working
from programs import Background
from servers import Millrace, serving, wait_until

CONCURRENCY = 4
# A FETCH whose answer died with the server holds its job for a worker that never saw it, until
# `reserve_for` is over (a minute). Then it fails and waits for its retry, as the protocol says.
LOST_FETCH_SECONDS_MAX = 240
# Done and not yet known to be done when the server goes: what each handler had, and the one push
# that the producer repeats.
AGAIN_MAX = CONCURRENCY + 1
# A worker that ends with its connection is started again until the server is back.
RESTARTS_OF_A_WORKER = range(1, 20)


def interrupted(library, jobs=300, end_server=Millrace.kill):
    """Half-way through what a producer pushes and a worker does; every job that was acknowledged is
    done, and no more is done twice than was under way."""
    restarts = NEVER if library.survives_restart else RESTARTS_OF_A_WORKER
    with (
        serving() as server,
        pushing(library, server) as pusher,
        working(library, server, concurrency=CONCURRENCY, restarts=restarts) as worker,
    ):
        pusher.push(job("first-0001"))
        wait_for_run(worker, "first-0001")
        producer = Producer(pusher, jobs)
        wait_until(lambda: producer.has_pushed(jobs // 2), "half of the jobs", 120)
        end_server(server)
        ended = f"ended at {producer.acknowledged} pushed, {len(jids_done(worker))} done"
        assert producer.acknowledged < jobs, "the producer was through before"
        time.sleep(0.3)
        server.start()
        producer.background.finish(120)
        wait_until(lambda: producer.jids() <= jids_done(worker), "all done", LOST_FETCH_SECONDS_MAX)
        wait_until(
            lambda: server.jobs_left("default") == 0, "none left", LOST_FETCH_SECONDS_MAX
        )
        again = len(worker.runs) - len(jids_done(worker))
        assert again <= AGAIN_MAX, f"{again} jobs were done again"
        return f"{jobs} done, {again} again; {ended}; {worker.restarts} restarts of the worker"


restart = interrupted
upgrade = partial(interrupted, end_server=Millrace.terminate)


def jids_done(worker):
    return {run["jid"] for run in list(worker.runs)}


class Producer:
    """Pushes so many jobs, each until it is acknowledged, in a thread of its own."""

    def __init__(self, pusher, jobs):
        self.pusher = pusher
        self.jobs = jobs
        self.acknowledged = 0
        self.background = Background(self.run)

    def jids(self):
        return {self.jid(number) for number in range(self.jobs)}

    @staticmethod
    def jid(number):
        return f"stream-{number:05}"

    def has_pushed(self, count):
        self.background.check()
        return self.acknowledged >= count

    def run(self):
        for number in range(self.jobs):
            work = job(self.jid(number), args=[number], reserve_for=60)
            self.pusher.push_until_acknowledged(work)
            self.acknowledged += 1
