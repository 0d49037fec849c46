"""A worker, then the server, are killed while unique, tracked and throttled jobs of a batch run."""

import json
import os
import signal
import time

from faktory_steps import closing, job, pushing, working
from programs import Refused
from servers import serving, wait_until

JOBS = 6
AT_A_TIME = 2
SECONDS_A_JOB = 3  # so that a busy machine sees the first jobs while they run
CONCURRENCY = 4
# A job that was lost with its worker fails after `reserve_for`, a minute at least. A worker that
# says nothing any more loses its slots after a minute. Both happen twice here.
SECONDS_MAX = 300
CONFIG = f"[throttles]\ndefault = {{ concurrency = {AT_A_TIME}, timeout = 600 }}\n"
RESTARTS_OF_A_WORKER = range(1000)


def killed(library):
    """Afterwards all is as if nothing had happened: each callback was enqueued once, no lock is
    left, and no slot is taken."""
    with serving(config=CONFIG) as server, pushing(library, server) as pusher:
        bid = new_batch(server)
        last = jid(JOBS - 1)
        progress = {"jid": last, "percent": 7}
        for number in range(JOBS):
            pusher.push(member(number, bid))
        assert ask(server, f"BATCH COMMIT {bid}") == "+OK"

        with closing(library.worker(server, ["default"], CONCURRENCY)) as worker:
            wait_until(lambda: len(worker.runs) >= AT_A_TIME, "the first jobs", 60)
            assert ask(server, f"TRACK SET {json.dumps(progress)}") == "+OK"
            worker.expect_end()
            os.killpg(worker.pid, signal.SIGKILL)
            server.kill()
        first = {run["jid"] for run in worker.runs} - ended(worker)
        server.start()
        assert_all_locked(pusher)
        assert json.loads(ask(server, f"TRACK GET {last}"))["percent"] == progress["percent"]

        with working(
            library,
            server,
            "default",
            "callbacks",
            concurrency=CONCURRENCY,
            restarts=RESTARTS_OF_A_WORKER,
        ) as worker:
            wait_for(server, lambda: len(ended(worker)) >= AT_A_TIME, "some jobs have ended")
            server.kill()
            at_kill = len(ended(worker))
            time.sleep(0.3)
            server.start()
            wait_for(server, lambda: is_done(server, bid), "the end of the batch")
            callbacks = [run["jid"] for run in worker.runs if run["jobtype"] == "Record"]
            assert sorted(callbacks) == ["complete-1", "success-01"], callbacks
            assert first <= ended(worker), "jobs of the killed worker were not run again"
            assert server.jobs_left("default") + server.jobs_left("callbacks") == 0
            assert taken(server) == 0, f"{taken(server)} slots are taken"

            for number in range(JOBS):
                pusher.push_until_acknowledged(member(number))
            wait_for(server, lambda: server.jobs_left("default") == 0, "the same jobs again")
        assert taken(server) == 0, f"{taken(server)} slots are taken"
    return f"worker killed with {AT_A_TIME} running, server with {at_kill} of {JOBS} done"


def jid(number):
    return f"killed-{number:03}"


def member(number, bid=None):
    """A slow job, unique by its number."""
    custom = {"unique_for": 3600, "track": 1, **({"bid": bid} if bid else {})}
    args = [SECONDS_A_JOB, number]
    return job(jid(number), "Slow", args=args, custom=custom, reserve_for=60, retry=10)


def ask(server, line):
    client = server.faktory()
    try:
        return client.command(line)
    finally:
        client.close()


def new_batch(server):
    callbacks = {
        name: job(jid, queue="callbacks", reserve_for=60)
        for name, jid in (("complete", "complete-1"), ("success", "success-01"))
    }
    return ask(server, "BATCH NEW " + json.dumps(callbacks))


def assert_all_locked(pusher):
    # The connection of before is gone, which is no refusal.
    pusher.push_until_acknowledged(job("probe-0001", queue="probes"))
    for number in range(JOBS):
        try:
            pusher.push(member(number))
        except Refused:
            continue
        raise AssertionError(f"job {number} has lost its lock")


def ended(worker):
    return {run["jid"] for run in list(worker.runs) if run["jobtype"] == "Slept"}


def wait_for(server, is_true, what):
    """What was lost with its worker fails, and is retried; here at once."""

    def is_true_in_time():
        time.sleep(0.2)
        for found in server.api("/jobs?state=retrying")["jobs"]:
            server.change(f"/jobs/{found['id']}/retry")
        return is_true()

    wait_until(is_true_in_time, what, SECONDS_MAX)


def is_done(server, bid):
    status = json.loads(ask(server, f"BATCH STATUS {bid}"))
    assert status["total"] == JOBS, status
    is_done = status["complete_st"] == status["success_st"] == "2"
    assert not is_done or status["pending"] == status["failed"] == 0, status
    return is_done


def taken(server):
    """How many slots, by the metrics."""
    _, _, page = server.web.get("/metrics", **server.login)
    (line,) = [
        line for line in page.decode().splitlines() if line.startswith("millrace_throttle_taken{")
    ]
    return int(float(line.split()[-1]))
