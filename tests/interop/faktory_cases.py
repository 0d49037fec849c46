"""What each library of the Faktory protocol must do. A case is given the library and starts what it
needs; what it returns is a note for the table."""

import socket
import time
from datetime import datetime, timedelta, timezone

from faktory_access import password, password_over_tls, tls
from faktory_killed import killed
from faktory_long import blocked, blocked_over_restart, long, long_over_restart
from faktory_lost import lost
from faktory_restarts import restart, upgrade
from faktory_steps import (
    NEVER,
    job,
    pushing,
    wait_for_run,
    wait_for_state,
    wait_until_gone,
    working,
)
from servers import serving, wait_until

# A heartbeat every 15 s is usual; two of them tell a worker to be quiet and then to end.
HEARTBEAT_SECONDS_MAX = 25
# A worker without work asks again after an empty FETCH of two seconds.
FETCH_SECONDS = 3
# The first retry comes after 15 s and up to 30 more.
RETRY_SECONDS_MAX = 60


def push_now(library):
    with serving() as server, pushing(library, server) as pusher:
        pusher.push(job("push-now-1", args=[1, "two"]))
        assert server.job("push-now-1")["state"] == "ready"
        with working(library, server) as worker:
            assert wait_for_run(worker, "push-now-1")["args"] == [1, "two"]
            wait_until_gone(server, "push-now-1")
            assert len(worker.runs) == 1
        assert server.api("/overview")["totals"]["processed"] == 1


def push_scheduled(library):
    with serving() as server, pushing(library, server) as pusher:
        due = datetime.now(timezone.utc) + timedelta(seconds=3)
        at = due.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        pusher.push(job("scheduled-1", at=at))
        assert server.job("scheduled-1")["state"] == "scheduled"
        with working(library, server) as worker:
            wait_for_run(worker, "scheduled-1")
            late = (datetime.now(timezone.utc) - due).total_seconds()
            assert late > -0.01, f"it ran {-late} s too early"
            wait_until_gone(server, "scheduled-1")
    return f"{late:.2f} s after it was due"


def push_bulk(library):
    jobs = [job(f"bulk-{number:04}", args=[number]) for number in range(100)]
    with serving() as server, pushing(library, server) as pusher:
        pusher.push(jobs)
        assert server.jobs_left("default") == 100
        with working(library, server, concurrency=4) as worker:
            wait_until(lambda: len(worker.runs) == 100, "all done", 60)
            assert sorted(run["args"][0] for run in worker.runs) == list(range(100))
            wait_until(lambda: server.jobs_left("default") == 0, "none left")


def queues(library):
    """Three queues, four jobs at a time."""
    names = ["high", "middle", "low"]
    with serving() as server, pushing(library, server) as pusher:
        for name in reversed(names):
            for number in range(4):
                pusher.push(job(f"{name}-000{number}", "Slow", name, [1]))
        pusher.push(job("not-ours-1", queue="other"))
        with working(library, server, *names, concurrency=4) as worker:
            wait_until(lambda: worker.runs, "a first run", 30)
            began = time.monotonic()
            wait_until(lambda: all(server.jobs_left(name) == 0 for name in names), "all done", 60)
            seconds = time.monotonic() - began
            assert worker.runs[0]["jid"].startswith("high"), worker.runs[0]
            wait_until(lambda: len(worker.runs) == 24, "12 jobs begun and ended")
        assert seconds < 10, f"12 jobs of 1 s took {seconds} s with four at a time"
        assert server.job("not-ours-1")["state"] == "ready"
    return f"12 jobs of 1 s in {seconds:.1f} s"


def order(library):
    """One job at a time: queues one after the other, each first in, first out."""
    names = ["high", "middle", "low"]
    with serving() as server, pushing(library, server) as pusher:
        for number in range(20):
            for name in reversed(names):
                pusher.push(job(f"{name}-{number:04}", queue=name))
        expected = [f"{name}-{number:04}" for name in names for number in range(20)]
        with working(library, server, *names, concurrency=1) as worker:
            wait_until(lambda: len(worker.runs) >= len(expected), "all done", 60)
            assert [run["jid"] for run in worker.runs] == expected, worker.runs


def retry(library):
    """What fails is retried when its time has come."""
    with serving() as server, pushing(library, server) as pusher:
        pusher.push(job("fails-0001", "Fail", retry=3))
        with working(library, server) as worker:
            wait_for_run(worker, "fails-0001")
            found = wait_for_state(server, "fails-0001", "retrying")
            assert found["error"]["message"] == "no luck", found["error"]
            assert found["error"]["failures"] == 1, found["error"]
            assert found["error"]["retries_left"] == 3, found["error"]
            began = time.monotonic()
            wait_until(lambda: len(worker.runs) == 2, "the retry", RETRY_SECONDS_MAX)
            seconds = time.monotonic() - began
            assert seconds > 10, f"retried after {seconds} s"
    return f"again after {seconds:.0f} s"


def dead(library):
    """When the retries are used up the job is dead."""
    with serving() as server, pushing(library, server) as pusher:
        pusher.push(job("dies-00001", "Fail", retry=1))
        with working(library, server) as worker:
            found = wait_for_state(server, "dies-00001", "retrying")
            server.change(f"/jobs/{found['id']}/retry")
            found = wait_for_state(server, "dies-00001", "dead")
            assert found["error"]["failures"] == 2, found["error"]
            wait_until(lambda: len(worker.runs) == 2, "two runs")


def unknown(library):
    """A job that no handler is registered for fails and is retried, and the worker goes on; but one
    library's worker ends."""
    restarts = NEVER if library.fails_unknown_jobs else range(1, 3)
    with serving() as server, working(library, server, restarts=restarts) as worker:
        server.change("/jobs", job("unknown-01", "Unknown", reserve_for=600))
        if library.fails_unknown_jobs:
            wait_for_state(server, "unknown-01", "retrying")
        else:
            wait_until(lambda: worker.restarts > 0, "the end of the worker", 30)
            assert server.job("unknown-01")["state"] == "reserved"
        server.change("/jobs", job("after-0001", reserve_for=600))
        wait_for_run(worker, "after-0001")


PAYLOAD = [2**53 - 1, -1, 0.5, "grüße 日本 🚀 \u2028 <&> \"\\", {"nested": [None, True, {}]}, ""]
CUSTOM = {"trace": {"id": 2**53 - 1, "name": "größer"}}


def payload(library):
    """Numbers, Unicode and custom data as they were, on the server and in the handler."""
    with serving() as server, pushing(library, server) as pusher:
        pusher.push(job("payload-01", args=PAYLOAD, custom=CUSTOM))
        unit = stored(server, "payload-01")
        assert unit["args"] == PAYLOAD, unit
        assert unit["custom"] | CUSTOM == unit["custom"], unit  # a library may add its own
        with working(library, server) as worker:
            run = wait_for_run(worker, "payload-01")
            assert run["args"] == PAYLOAD, run
            if "custom" in run:
                assert run["custom"]["trace"] == CUSTOM["trace"], run
            wait_until_gone(server, "payload-01")


def stored(server, jid):
    return server.api(f"/jobs/{server.job(jid)['id']}/body")


INTEGER_BITS = (53, 63, 70)


def integers(library):
    """As large as the library can handle them, there and back; the server changes none."""
    with serving() as server, pushing(library, server) as pusher:
        for bits in INTEGER_BITS:
            work = job(f"integer-{bits}", args=[2**bits - 1, -(2**bits) + 1], reserve_for=600)
            if bits <= library.integer_bits:
                pusher.push(work)
            else:
                server.change("/jobs", work)
            assert stored(server, work["jid"])["args"] == work["args"]
        with working(library, server) as worker:
            for bits in INTEGER_BITS:
                args = wait_for_run(worker, f"integer-{bits}")["args"]
                is_exact = args == [2**bits - 1, -(2**bits) + 1]
                assert is_exact == (bits <= library.integer_bits), (bits, args)
                wait_until_gone(server, f"integer-{bits}")


def large(library):
    """Three megabytes of arguments."""
    args = ["".join(chr(32 + number % 95) for number in range(3_000_000))]
    with serving() as server, pushing(library, server) as pusher:
        pusher.push(job("large-0001", args=args))
        with working(library, server) as worker:
            assert wait_for_run(worker, "large-0001")["args"] == args
            wait_until_gone(server, "large-0001")


def quiet_and_terminate(library):
    """Told by the server: first to take no more jobs, then to end."""
    with serving() as server, pushing(library, server) as pusher:
        with working(library, server) as worker:
            pusher.push(job("before-001"))
            wait_for_run(worker, "before-001")
            worker.expect_end()
            server.change("/workers/quiet", {"all": True})
            wait_until(lambda: is_quiet(server), "no FETCH any more", HEARTBEAT_SECONDS_MAX)
            pusher.push(job("after-0001"))
            assert is_quiet(server), "it asks for jobs again"
            assert server.job("after-0001")["state"] == "ready"
            server.change("/workers/stop", {"all": True})
            seconds = worker.wait_for_end()
            assert not worker.runs_of("after-0001")
    return f"ended {seconds:.0f} s after it was told"


def is_quiet(server):
    """Whether nobody waits in a FETCH for a while: a quiet worker asks for nothing."""
    end = time.monotonic() + FETCH_SECONDS
    client = server.beanstalk()
    try:
        while time.monotonic() < end:
            if int(client.stats()["current-waiting"]) > 0:
                return False
            time.sleep(0.02)
        return True
    finally:
        client.close()


def stop(library):
    """SIGTERM: the job that runs is finished and acknowledged, or given back; the worker ends."""
    with serving() as server, pushing(library, server) as pusher:
        with working(library, server) as worker:
            pusher.push(job("slow-00001", "Slow", args=[2]))
            wait_for_run(worker, "slow-00001", "Slow")
            assert_listed(library, server, worker)
            # Not while the worker is still noting that it runs: what one library does on a signal
            # would make it forget the job.
            time.sleep(0.5)
            seconds = worker.terminate()
            finished = bool(worker.runs_of("slow-00001", "Slept"))
        assert finished == library.finishes_jobs, "the job was not finished"
        if finished:
            assert server.is_gone("slow-00001"), server.job("slow-00001")
        else:
            assert server.job("slow-00001")["state"] == "retrying", server.job("slow-00001")
        wait_until(lambda: not server.workers(), "no worker is left")
    return f"ended within {seconds:.1f} s"


def assert_listed(library, server, worker):
    """The web pages show the worker as what it says that it is."""
    (listed,) = server.workers()
    assert listed["wid"] and listed["state"] == "running", listed
    assert listed["labels"] == ["interop", "tried"], listed
    hostname = library.hostname or socket.gethostname()
    assert (listed["hostname"], listed["pid"]) == (hostname, worker.pid), listed
    assert listed["jobs"] == 1, listed


CASES = {
    "push": push_now,
    "at": push_scheduled,
    "bulk": push_bulk,
    "queues": queues,
    "order": order,
    "retry": retry,
    "dead": dead,
    "unknown": unknown,
    "payload": payload,
    "integers": integers,
    "large": large,
    "password": password,
    "tls": tls,
    "both": password_over_tls,
    "quiet": quiet_and_terminate,
    "stop": stop,
    "restart": restart,
    "upgrade": upgrade,
    "killed": killed,
    "lost": lost,
    "long": long,
}
# Only where the library offers it.
OFFERED = {
    "long-restart": long_over_restart,
    "blocked": blocked,
    "blocked-restart": blocked_over_restart,
}
