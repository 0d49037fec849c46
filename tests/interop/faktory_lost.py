"""A worker is killed while it runs a job that is reserved for half an hour."""

import os
import signal
import time

from faktory_steps import closing, job, pushing, wait_for_run, wait_until_gone, working
from servers import serving, wait_until

TIMEOUT_S = 5
# The server looks for lost workers once a second, and the machine may be busy.
MARGIN_S = 10
# Libraries send the first one up to 15 s after their start.
BEAT_MAX_S = 40
CONFIG = f"worker-timeout = {TIMEOUT_S}\n"
JID = "lost-with-worker"


def has_beaten(server):
    workers = server.api("/workers")["workers"]
    return any(each["last_beat_at"] > each["started_at"] for each in workers)


def lost(library):
    """The job is back in its queue within the timeout, and another worker does it."""
    with serving(config=CONFIG) as server, pushing(library, server) as pusher:
        with closing(library.worker(server, ["default"], 1)) as worker:
            # Only a worker that has sent a BEAT is lost by closing its connections.
            wait_until(lambda: has_beaten(server), "the worker has sent a BEAT", BEAT_MAX_S)
            pusher.push(job(JID, "Slow", args=[2], reserve_for=1800, retry=10))
            wait_for_run(worker, JID)
            worker.expect_end()
            os.killpg(worker.pid, signal.SIGKILL)
            killed_at = time.monotonic()
        wait_until(
            lambda: server.job(JID)["state"] == "ready", "the job is back", TIMEOUT_S + MARGIN_S
        )
        seconds = time.monotonic() - killed_at
        found = server.api(f"/jobs/{server.job(JID)['id']}")
        assert [each["outcome"] for each in found["attempts"]] == ["worker_lost"], found["attempts"]
        assert found["error"] is None, found["error"]
        with working(library, server, "default", concurrency=1) as worker:
            wait_for_run(worker, JID, "Slept")
            wait_until_gone(server, JID)
    return f"back after {seconds:.1f} s, with {TIMEOUT_S} s allowed"
