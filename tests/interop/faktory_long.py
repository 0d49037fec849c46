"""Two workers run jobs for longer than a silent worker is waited for, and live."""

import time
from contextlib import ExitStack, contextmanager

from faktory_lost import BEAT_MAX_S, MARGIN_S, config, has_beaten
from faktory_steps import Rival, closing, job, wait_for_run, wait_until_gone, working
from servers import serving, wait_until

JIDS = ["long-00001", "long-00002"]
# So long after the timeout they run on; a lost worker's job is back by then.
LONGER_S = 15
# When the server is killed.
KILL_AFTER_S = 3
# Between the starts of the workers, and before the jobs come. Where each command has a connection
# of its own, one worker sends BEAT while another waits in FETCH.
APART_S = 1
IDLE_S = 3
RESERVE_S = 1800
# Go's library tries one dead connection with each BEAT, every 15 s, and has two here.
RECONNECT_S = 45
# Go's library sends an ACK over one dead connection after the other: after 1 s, and after 30 s.
ACK_MAX_S = 75


def long(library, timeout):
    """They send BEAT or not, on one connection for all commands or on one for each: a job is handed
    out once."""
    return run_alone(library, timeout, "Slow")


def blocked(library, timeout):
    """The same with workers that have sent BEAT and cannot now: their connections are open."""
    return run_alone(library, timeout, "Blocked")


def long_over_restart(library, timeout):
    """The same while the server is killed and started again. A worker that beats must connect
    again in time."""
    if library.beats:
        timeout = max(timeout, RECONNECT_S + MARGIN_S)
    return run_alone(library, timeout, "Slow", is_killed=True)


def run_alone(library, timeout, jobtype, is_killed=False):
    seconds = timeout + LONGER_S
    with running(library, timeout, jobtype, seconds) as (server, workers, began):
        with closing(Rival(server)) as rival:
            if is_killed:
                kill_and_start(server)
                seconds_left = began + seconds - time.monotonic()
                assert seconds_left > timeout, f"{seconds_left} s are left after the restart"
            for jid, worker in workers.items():
                wait_for_run(worker, jid, "Slept", seconds + MARGIN_S)
            ran = time.monotonic() - began
            assert not rival.had, f"another worker had them too: {rival.had}"
            for jid in JIDS:
                wait_until_gone(server, jid, ACK_MAX_S)
            assert not rival.had, f"another worker had them too: {rival.had}"
        for jid, worker in workers.items():
            assert len(worker.runs_of(jid, jobtype)) == len(worker.runs) / 2 == 1, worker.runs
        assert_done(server)
    killed = ", the server killed meanwhile" if is_killed else ""
    return f"ran {ran:.1f} s{killed}, handed out once; done, 0 retries, 0 dead"


def blocked_over_restart(library, timeout):
    """Workers that had sent BEAT cannot connect again while they are blocked. They keep their jobs,
    and lose the ACK."""
    seconds = timeout + KILL_AFTER_S + LONGER_S
    with running(library, timeout, "Blocked", seconds) as (server, workers, _):
        with closing(Rival(server)) as rival:
            kill_and_start(server)
            for jid, worker in workers.items():
                wait_for_run(worker, jid, "Slept", seconds + MARGIN_S)
                # It sends its ACK once, over the connection that is closed.
                wait_until(lambda: "Connection closed" in worker.said(), "its lost ACK", MARGIN_S)
                assert "worker_lost" not in outcomes(server, jid), outcomes(server, jid)
                assert server.job(jid)["state"] == "reserved", server.job(jid)
            assert not rival.had, rival.had
    return "handed out once; the library loses its ACK, and the job waits for reserve_for"


@contextmanager
def running(library, timeout, jobtype, seconds):
    """A server, the workers by the jobs that they run, and since when."""
    with serving(config=config(timeout)) as server, ExitStack() as stack:
        enter = stack.enter_context
        idle = []
        for _ in JIDS:
            idle.append(enter(working(library, server, "default", concurrency=1)))
            time.sleep(APART_S)
        if library.beats:
            wait_until(lambda: has_beaten(server), "the workers have sent a BEAT", BEAT_MAX_S)
        time.sleep(IDLE_S)
        for jid in JIDS:
            server.change("/jobs", job(jid, jobtype, args=[seconds], reserve_for=RESERVE_S))
        wait_until(lambda: all(worker.runs for worker in idle), "they run", MARGIN_S)
        yield server, {worker.runs[0]["jid"]: worker for worker in idle}, time.monotonic()


def kill_and_start(server):
    time.sleep(KILL_AFTER_S)
    server.kill()
    server.start()


def outcomes(server, jid):
    found = server.api(f"/jobs/{server.job(jid)['id']}")
    return [attempt["outcome"] for attempt in found["attempts"]]


def assert_done(server):
    """The jobs were done, none has failed, and none is left."""
    totals = server.api("/overview")["totals"]
    assert (totals["processed"], totals["failed"]) == (len(JIDS), 0), totals
    assert server.jobs_left("default") == 0
