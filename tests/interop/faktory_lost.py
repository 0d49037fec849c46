"""A worker is killed while it runs a job that is reserved for half an hour."""

import time

from faktory_steps import (
    Rival,
    closing,
    job,
    pushing,
    wait_for_run,
    wait_for_state,
    wait_until_gone,
    working,
)
from servers import serving, wait_until

# The server looks for lost workers once a second, and the machine may be busy.
MARGIN_S = 10
# Libraries send the first one up to 15 s after their start.
BEAT_MAX_S = 40
# The shortest that the protocol has.
RESERVE_MIN_S = 60
JID = "lost-with-worker"


def config(timeout):
    return f"worker-timeout = {timeout}\n"


def has_beaten(server):
    workers = server.api("/workers")["workers"]
    return workers and all(each["last_beat_at"] > each["started_at"] for each in workers)


def lost(library, timeout):
    """The job is back in its queue within the timeout, and another worker does it. Where nothing
    tells that the worker is gone, the job is back when its reservation runs out."""
    return lost_by_timeout(library, timeout) if library.beats else lost_by_time(library, timeout)


def lost_by_timeout(library, timeout):
    with serving(config=config(timeout)) as server, pushing(library, server) as pusher:
        with closing(library.worker(server, ["default"], 1)) as worker:
            # Only a worker that has sent a BEAT is lost by closing its connections.
            wait_until(lambda: has_beaten(server), "the worker has sent a BEAT", BEAT_MAX_S)
            pusher.push(job(JID, "Slow", args=[2], reserve_for=1800, retry=10))
            wait_for_run(worker, JID)
            worker.kill()
            killed_at = time.monotonic()
        wait_until(
            lambda: server.job(JID)["state"] == "ready", "the job is back", timeout + MARGIN_S
        )
        seconds = time.monotonic() - killed_at
        found = server.api(f"/jobs/{server.job(JID)['id']}")
        assert [each["outcome"] for each in found["attempts"]] == ["worker_lost"], found["attempts"]
        assert found["error"] is None, found["error"]
        with working(library, server, "default", concurrency=1) as worker:
            wait_for_run(worker, JID, "Slept")
            wait_until_gone(server, JID)
    return f"back after {seconds:.1f} s, with {timeout} s allowed; done by another worker"


def lost_by_time(library, timeout):
    reserved = max(RESERVE_MIN_S, timeout + 2 * MARGIN_S)
    with serving(config=config(timeout)) as server:
        with closing(library.worker(server, ["default"], 1)) as worker:
            work = job(JID, "Slow", args=[2 * reserved], reserve_for=reserved, retry=10)
            server.change("/jobs", work)
            wait_for_run(worker, JID)
            began = time.monotonic()
            worker.kill()
        with closing(Rival(server)) as rival:
            time.sleep(timeout + MARGIN_S)
            assert server.job(JID)["state"] == "reserved", server.job(JID)
            found = wait_for_state(server, JID, "retrying", reserved)
            seconds = time.monotonic() - began
            assert seconds > reserved - 2, f"back after {seconds} s"
            attempts = server.api(f"/jobs/{found['id']}")["attempts"]
            assert [each["outcome"] for each in attempts] == ["expired"], attempts
            server.change(f"/jobs/{found['id']}/retry")
            wait_until(lambda: JID in rival.had, "another worker has it", MARGIN_S)
            rival.ack(JID)
            wait_until_gone(server, JID)
    return f"retried after {seconds:.1f} s of {reserved} s reserved; done by another worker"
