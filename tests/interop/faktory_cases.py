"""What each library of the Faktory door must do. A case is given the library and starts what it
needs; what it returns is a note for the table."""

import time
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

from programs import Background, Refused
from servers import PASSWORD, serving, wait_until

# A heartbeat every 15 s is usual; two of them tell a worker to be quiet and then to end.
HEARTBEAT_SECONDS_MAX = 25
# A worker without work asks again after an empty FETCH of two seconds.
FETCH_SECONDS = 3
# The first retry comes after 15 s and up to 30 more.
RETRY_SECONDS_MAX = 60
# A FETCH whose answer died with the server holds its job for a worker that never saw it, until
# `reserve_for` is over (a minute). Then it fails and waits for its retry, as the protocol says.
LOST_FETCH_SECONDS_MAX = 240


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


@contextmanager
def working(library, server, *queues, concurrency=2):
    with closing(library.worker(server, queues or ["default"], concurrency)) as worker:
        yield worker


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


PAYLOAD = [2**53 - 1, -1, 0.5, "grüße 日本 🚀 \u2028 <&> \"\\", {"nested": [None, True, {}]}, ""]
CUSTOM = {"trace": {"id": 2**53 - 1, "name": "größer"}}


def payload(library):
    """Numbers, Unicode and custom data as they were, on the server and in the handler."""
    with serving() as server, pushing(library, server) as pusher:
        pusher.push(job("payload-01", args=PAYLOAD, custom=CUSTOM))
        stored = server.job("payload-01")
        unit = server.api(f"/jobs/{stored['id']}/body")
        assert unit["args"] == PAYLOAD, unit
        assert unit["custom"] == CUSTOM, unit
        server.change("/jobs", job("integer-01", args=[2**63 - 1], reserve_for=600))
        with working(library, server) as worker:
            run = wait_for_run(worker, "payload-01")
            assert run["args"] == PAYLOAD, run
            if "custom" in run:
                assert run["custom"]["trace"] == CUSTOM["trace"], run
            integer = wait_for_run(worker, "integer-01")["args"][0]
            assert integer == 2**63 - 1 or not library.exact_integers, integer
            wait_until_gone(server, "integer-01")


def password(library):
    with serving(password=PASSWORD) as server:
        push_and_work(library, server)
        server.password = "wrong"
        with pushing(library, server) as pusher:
            try:
                pusher.push(job("refused-01"))
            except Refused as error:
                return str(error)
            raise AssertionError("a wrong password was accepted")


def tls(library):
    with serving(tls=True) as server:
        push_and_work(library, server)


def push_and_work(library, server):
    with pushing(library, server) as pusher, working(library, server) as worker:
        pusher.push(job("secret-001"))
        wait_for_run(worker, "secret-001")
        wait_until_gone(server, "secret-001")


def quiet_and_terminate(library):
    """Told by the server: first to take no more jobs, then to end."""
    with serving() as server, pushing(library, server) as pusher:
        with working(library, server) as worker:
            pusher.push(job("before-001"))
            wait_for_run(worker, "before-001")
            worker.is_told_to_end = True
            server.change("/workers/quiet", {"all": True})
            quiet = lambda: is_idle_for(server, FETCH_SECONDS)  # noqa: E731
            wait_until(quiet, "no FETCH any more", HEARTBEAT_SECONDS_MAX)
            pusher.push(job("after-0001"))
            assert quiet(), "it asks for jobs again"
            assert server.job("after-0001")["state"] == "ready"
            server.change("/workers/stop", {"all": True})
            seconds = worker.wait_for_end()
            assert not worker.runs_of("after-0001")
    return f"ended {seconds:.0f} s after it was told"


def is_idle_for(server, seconds):
    """Whether nobody waits in a FETCH for so long: a quiet worker asks for nothing."""
    end = time.monotonic() + seconds
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


def restart(library, jobs=300):
    """The server is killed and started again half-way through what a producer pushes and a worker
    does; every job that was acknowledged is done."""
    with serving() as server, pushing(library, server) as pusher:
        with working(library, server, concurrency=4) as worker:
            done = lambda: {run["jid"] for run in list(worker.runs)}  # noqa: E731
            pusher.push(job("first-0001"))
            wait_for_run(worker, "first-0001")
            producer = Producer(pusher, jobs)
            wait_until(lambda: producer.has_pushed(jobs // 2), "half of the jobs", 120)
            server.kill()
            killed = f"killed at {producer.acknowledged} pushed, {len(done())} done"
            assert producer.acknowledged < jobs, "the producer was through before the kill"
            time.sleep(0.3)
            server.start()
            producer.background.finish(120)
            expected = {jid_of(number) for number in range(jobs)}
            wait_until(lambda: expected <= done(), "all done", LOST_FETCH_SECONDS_MAX)
            again = len(worker.runs) - len(done())
            none_left = lambda: server.jobs_left("default") == 0  # noqa: E731
            wait_until(none_left, "none left", LOST_FETCH_SECONDS_MAX)
            return f"{jobs} done, {again} again; {killed}; {worker.restarts} restarts of the worker"


def jid_of(number):
    return f"stream-{number:05}"


class Producer:
    """Pushes so many jobs, each until it is acknowledged, in a thread of its own."""

    def __init__(self, pusher, jobs):
        self.pusher = pusher
        self.jobs = jobs
        self.acknowledged = 0
        self.background = Background(self.run)

    def has_pushed(self, count):
        self.background.check()
        return self.acknowledged >= count

    def run(self):
        for number in range(self.jobs):
            work = job(jid_of(number), args=[number], reserve_for=60)
            self.pusher.push_until_acknowledged(work)
            self.acknowledged += 1


CASES = {
    "push": push_now,
    "at": push_scheduled,
    "bulk": push_bulk,
    "queues": queues,
    "retry": retry,
    "dead": dead,
    "payload": payload,
    "password": password,
    "tls": tls,
    "quiet": quiet_and_terminate,
    "stop": stop,
    "restart": restart,
}
