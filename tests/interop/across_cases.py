"""One job, two protocols: what a library of one sends, a library of the other works off."""

import json

from beanstalk_cases import driving
from faktory_steps import job, pushing, working
from servers import serving, wait_until

BYTES = b"\xff\xfe\x00"


def faktory_from_beanstalk(library, others):
    """Each beanstalk client puts a plain body, a work unit and bytes; the worker does them all."""
    with serving() as server, working(library, server, "across") as worker:
        expected = []
        for number, other in enumerate(others):
            with driving(other, server) as driver:
                expected += put_three(driver, number, other.bodies)
        wait_until(lambda: len(worker.runs) >= len(expected), "all jobs done", 60)
        done = [[run["jid"], run["jobtype"], run["args"]] for run in worker.runs]
        assert sorted(done) == sorted(expected), done
        for run in worker.runs:
            if run["args"] == ["//4A"] and "custom" in run:
                assert run["custom"]["encoding"] == "base64", run
        wait_until(lambda: server.jobs_left("across") == 0, "none left")
        return f"{len(expected)} jobs"


def put_three(driver, number, bodies):
    """What a worker is to see of them: jid, jobtype and arguments."""
    plain, unit = f"plöin {number}", {"jobtype": "Record", "args": ["unit", number]}
    seen = []
    for body, jobtype, args in (
        (plain.encode(), "beanstalk", [plain]),
        (json.dumps(unit).encode(), "Record", unit["args"]),
        (BYTES, "beanstalk", ["//4A"]),
    ):
        if body != BYTES or bodies != "text":
            seen.append([f"beanstalk-{driver.put(body, tube='across')}", jobtype, args])
    return seen


def faktory_from_faktory(library, others):
    """Each Faktory library pushes, the worker does; jobs without `reserve_for` only where it can
    read them."""
    with serving() as server:
        expected = []
        for other in others:
            with pushing(other, server) as pusher:
                name = f"{other.language.name}-{other.name}"
                pusher.push(job(f"given-{name}", queue="ring", args=["grüße"], reserve_for=600))
                expected.append(f"given-{name}")
                if library.reads_all_jobs:
                    pusher.push(job(f"plain-{name}", queue="ring", args=["grüße"]))
                    expected.append(f"plain-{name}")
        with working(library, server, "ring") as worker:
            wait_until(lambda: len(worker.runs) >= len(expected), "all jobs done", 60)
            assert sorted(run["jid"] for run in worker.runs) == sorted(expected), worker.runs
            assert all(run["args"] == ["grüße"] for run in worker.runs), worker.runs
            wait_until(lambda: server.jobs_left("ring") == 0, "none left")
        if not library.reads_all_jobs:
            ends_of_a_job_that_it_cannot_read(library, server)
        return f"{len(expected)} jobs of {len(others)} libraries"


def ends_of_a_job_that_it_cannot_read(library, server):
    server.change("/jobs", job("unread-001", queue="ring"))
    with working(library, server, "ring", restarts=range(1, 3)) as worker:
        wait_until(lambda: worker.restarts > 0, "the end of the worker", 30)
        assert not worker.runs, worker.runs
    assert server.job("unread-001")["state"] == "reserved"


def beanstalk_from_faktory(library, others):
    """Each Faktory library pushes a job; the client reserves it as JSON and deletes it, which is an
    ACK."""
    with serving() as server, driving(library, server) as driver:
        for number, other in enumerate(others):
            with pushing(other, server) as pusher:
                pusher.push(job(f"across-{number:03}", queue="across", args=["grüße", number]))
        driver.do("watch", "across")
        for number in range(len(others)):
            reserved, body = driver.reserve(5)
            unit = json.loads(body)
            assert unit["jid"] == f"across-{number:03}" and unit["queue"] == "across", unit
            assert unit["jobtype"] == "Record" and unit["args"] == ["grüße", number], unit
            driver.do("delete", reserved)
        assert server.jobs_left("across") == 0
        assert server.api("/overview")["totals"]["processed"] == len(others)
        return f"{len(others)} jobs"
