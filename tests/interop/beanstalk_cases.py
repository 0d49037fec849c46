"""What each library of the beanstalk protocol must do."""

import threading
import time
from contextlib import contextmanager
from functools import partial

from programs import Background, Refused
from servers import Millrace, serving, wait_until

BODY_BYTES_MAX = 65535
# The server's timers are within 50 ms; the rest is for a busy machine.
LATE_SECONDS_MAX = 1.5
# A long job is so much longer than a silent Faktory worker is waited for.
MARGIN_S = 15


@contextmanager
def driving(library, server):
    driver = library.driver(server)
    try:
        yield driver
    finally:
        driver.end()


def on_a_server(case):
    """A case that needs one driver on a server of its own."""

    def run(library):
        with serving() as server, driving(library, server) as driver:
            return case(driver, server, library)

    run.__doc__ = case.__doc__
    return run


LOOKS_LIKE_REPLIES = b"\r\n\r\nINSERTED 1\r\n"
BODIES = {
    "any": bytes(range(256)) + LOOKS_LIKE_REPLIES,
    "text": "grüße".encode() + LOOKS_LIKE_REPLIES,
    "line": bytes(range(256)),
}


def is_same(reserved, job, body):
    """Whether that is the job that was put; one library does not tell its number (`?`)."""
    return reserved[1] == body and job in (reserved[0], "?")


@on_a_server
def put(driver, _server, library):
    """put, reserve, delete, with bytes of every kind."""
    body = BODIES[library.bodies]
    job = driver.put(body)
    reserved = driver.reserve(1)
    assert is_same(reserved, job, body)
    driver.do("delete", reserved[0])
    assert driver.reserve() is None
    assert "not" in refused(driver, "delete", reserved[0]).lower()


def refused(driver, *words):
    try:
        driver.do(*words)
    except Refused as error:
        return str(error)
    raise AssertionError(f"{words} was not refused")


@on_a_server
def priorities(driver, _server, _library):
    for pri in (7, 0, 4294967295, 3):
        driver.put(str(pri).encode(), pri=pri)
    assert [driver.reserve(1)[1] for _ in range(4)] == [b"0", b"3", b"7", b"4294967295"]


@on_a_server
def delays(driver, _server, _library):
    began = time.monotonic()
    job = driver.put(b"later", delay=2)
    assert driver.reserve() is None
    assert is_same(driver.reserve(5), job, b"later")
    assert_about(time.monotonic() - began, 2)


def assert_about(seconds, expected):
    assert expected - 0.1 < seconds < expected + LATE_SECONDS_MAX, f"{seconds} s, not {expected}"


@on_a_server
def ttr(driver, server, library):
    """A reserved job comes back when its time is over; touch gives it its time again."""
    with driving(library, server) as other:
        job = driver.put(b"x", ttr=3)
        driver.reserve(1)
        time.sleep(2)
        touched = time.monotonic()
        driver.do("touch", job)
        time.sleep(1.5)
        assert other.reserve() is None, "it came back although it was touched"
        assert is_same(other.reserve(5), job, b"x")
        assert_about(time.monotonic() - touched, 3)
        assert int(other.stats("stats-job", job)["timeouts"]) == 1
        assert "not" in refused(driver, "delete", job).lower()


@on_a_server
def bury(driver, _server, _library):
    job = driver.put(b"broken", tube="mail")
    driver.do("watch", "mail")
    driver.reserve(1)
    driver.do("bury", job, 5)
    assert driver.reserve() is None
    assert driver.stats("stats-tube", "mail")["current-jobs-buried"] == "1"
    stats = driver.stats("stats-job", job)
    assert (stats["state"], stats["pri"]) == ("buried", "5"), stats
    driver.do("kick", "mail", 10)
    assert is_same(driver.reserve(1), job, b"broken")


@on_a_server
def release(driver, _server, _library):
    first = driver.put(b"first")
    second = driver.put(b"second")
    assert driver.reserve(1)[0] == first
    driver.do("release", first, 200, 0)
    assert [driver.reserve(1)[0] for _ in range(2)] == [second, first]
    stats = driver.stats("stats-job", first)
    assert (stats["releases"], stats["pri"]) == ("1", "200"), stats
    began = time.monotonic()
    driver.do("release", first, 100, 1)
    assert driver.reserve() is None
    assert driver.reserve(5)[0] == first
    assert_about(time.monotonic() - began, 1)


@on_a_server
def tubes(driver, _server, _library):
    for tube in ("a", "b", "c"):
        driver.put(tube.encode(), tube=tube)
    assert set(driver.do("tubes")[1:]) >= {"default", "a", "b", "c"}
    driver.do("watch", "a")
    driver.do("watch", "b")
    driver.do("ignore", "default")
    assert {driver.reserve(1)[1] for _ in range(2)} == {b"a", b"b"}
    assert driver.reserve() is None


@on_a_server
def pause(driver, _server, _library):
    job = driver.put(b"wait", tube="slow")
    driver.do("watch", "slow")
    began = time.monotonic()
    driver.do("pause", "slow", 2)
    assert driver.reserve() is None
    assert driver.reserve(5)[0] == job
    assert_about(time.monotonic() - began, 2)


JOB_KEYS = "id tube state pri age delay ttr time-left file reserves timeouts releases buries kicks"
TUBE_KEYS = (
    "name current-jobs-urgent current-jobs-ready current-jobs-reserved current-jobs-delayed "
    "current-jobs-buried total-jobs current-using current-watching current-waiting cmd-delete "
    "cmd-pause-tube pause pause-time-left"
)
SERVER_KEYS = (
    "current-jobs-urgent current-jobs-ready current-jobs-reserved current-jobs-delayed "
    "current-jobs-buried cmd-put cmd-peek cmd-peek-ready cmd-peek-delayed cmd-peek-buried "
    "cmd-reserve cmd-reserve-with-timeout cmd-delete cmd-release cmd-use cmd-watch cmd-ignore "
    "cmd-bury cmd-kick cmd-touch cmd-stats cmd-stats-job cmd-stats-tube cmd-list-tubes "
    "cmd-list-tube-used cmd-list-tubes-watched cmd-pause-tube job-timeouts total-jobs "
    "max-job-size current-tubes current-connections current-producers current-workers "
    "current-waiting total-connections pid version rusage-utime rusage-stime uptime "
    "binlog-oldest-index binlog-current-index binlog-records-migrated binlog-records-written "
    "binlog-max-size draining id hostname os platform"
)


@on_a_server
def statistics(driver, server, _library):
    """Every statistic of all three kinds, as the library parses it."""
    job = driver.put(b"x", tube="mail", pri=12, ttr=34)
    assert_keys(driver.stats("stats-job", job), JOB_KEYS)
    assert_keys(driver.stats("stats-tube", "mail"), TUBE_KEYS)
    stats = driver.stats("stats")
    assert_keys(stats, SERVER_KEYS)
    found = driver.stats("stats-job", job)
    wanted = {"id": job, "tube": "mail", "state": "ready", "pri": "12", "ttr": "34"}
    assert {name: bare(found[name]) for name in wanted} == wanted, found
    assert driver.stats("stats-tube", "mail")["current-jobs-ready"] == "1"
    assert stats["current-jobs-ready"] == "1" and stats["cmd-put"] == "1", stats
    assert stats["pid"] == str(server.server.process.pid), stats["pid"]
    assert bare(stats["version"]) == "1.13", stats["version"]
    assert bare(stats["draining"]).lower() == "false", stats["draining"]


def bare(value):
    """Some libraries leave the quotes of YAML to their users."""
    return value.strip("\"'")


def assert_keys(stats, names):
    found, wanted = set(stats), set(names.split())
    assert found == wanted, f"missing {wanted - found}, beyond {found - wanted}"


@on_a_server
def timeout(driver, server, library):
    """reserve with a timeout ends when it is over, and when somebody else puts a job."""
    began = time.monotonic()
    assert driver.reserve(1) is None
    assert_about(time.monotonic() - began, 1)
    with driving(library, server) as other:
        later = threading.Timer(1, lambda: other.put(b"woken"))
        began = time.monotonic()
        later.start()
        assert driver.reserve(10)[1] == b"woken"
        assert_about(time.monotonic() - began, 1)
        later.join()


@on_a_server
def largest(driver, _server, _library):
    body = bytes(32 + number % 95 for number in range(BODY_BYTES_MAX))
    job = driver.put(body)
    assert is_same(driver.reserve(1), job, body)
    text = refused(driver, "put", "default", 0, 0, 60, body + b"x").lower()
    assert "big" in text, text


# Done and not yet known to be done when the server goes: the put and the delete under way.
AGAIN_MAX = 2


def restart(library, jobs=300, end_server=Millrace.kill):
    """The server goes and comes again half-way through what one puts and another works off; every
    job that was acknowledged is done, and no more is done twice than was under way."""
    with (
        serving() as server,
        driving(library, server) as worker,
        driving(library, server) as putter,
    ):
        assert worker.reserve() is None and putter.reserve() is None  # both are there
        flow = Flow(putter, worker, jobs)
        wait_until(lambda: flow.is_half_way(), "half of the jobs", 120)
        end_server(server)
        ended = f"ended at {len(flow.put)} put, {len(flow.done)} done"
        assert len(flow.put) < jobs, "the producer was through before"
        time.sleep(0.3)
        server.start()
        flow.finish()
        wait_until(lambda: server.jobs_left("default") == 0, "none left")
        again = flow.runs - jobs
        assert again <= AGAIN_MAX, f"{again} jobs were done again"
        return f"{jobs} done, {again} again; {ended}"


upgrade = partial(restart, end_server=Millrace.terminate)


def through(**kind):
    """A job there and back, by a server with another kind of port."""

    def run(library):
        with serving(**kind) as server, driving(library, server) as driver:
            body = BODIES[library.bodies] * 200
            job = driver.put(body)
            assert is_same(driver.reserve(1), job, body)
            driver.do("delete", job)
            assert driver.stats("stats")["current-jobs-ready"] == "0"

    return run


def lost(library):
    """A worker is killed: its connection closes, and its job is at once another's."""
    with (
        serving() as server,
        driving(library, server) as worker,
        driving(library, server) as other,
    ):
        job = worker.put(b"held", ttr=600)
        assert is_same(worker.reserve(1), job, b"held")
        assert other.reserve() is None
        began = time.monotonic()
        worker.kill()
        reserved = other.reserve(5)
        seconds = time.monotonic() - began
        assert is_same(reserved, job, b"held")
        assert seconds < LATE_SECONDS_MAX, f"back after {seconds} s"
        other.do("delete", reserved[0])
        wait_until(lambda: server.jobs_left("default") == 0, "none left")
    return f"another's after {seconds:.2f} s, with 600 s of its TTR left; done"


def long(library, timeout):
    """A worker says nothing until its job is done: its TTR counts, and no other time."""
    with (
        serving(config=f"worker-timeout = {timeout}\n") as server,
        driving(library, server) as worker,
        driving(library, server) as other,
    ):
        seconds = timeout + MARGIN_S
        end = time.monotonic() + seconds
        job = worker.put(b"long", ttr=seconds + MARGIN_S)
        reserved = worker.reserve(1)
        assert is_same(reserved, job, b"long")
        while time.monotonic() < end:
            assert other.reserve(5) is None
        worker.do("delete", reserved[0])
        assert other.reserve() is None and server.jobs_left("default") == 0
    return f"ran {seconds} s, had by no other; done"


def long_over_restart(library):
    """The server's death closes the connection: the job is at once another's, who ends it."""
    with (
        serving() as server,
        driving(library, server) as worker,
        driving(library, server) as other,
    ):
        job = worker.put(b"long", ttr=600)
        reserved = worker.reserve(1)
        assert is_same(reserved, job, b"long")
        assert other.reserve() is None
        server.kill()
        server.start()
        began = time.monotonic()
        found = steadily(other, lambda: other.reserve(5))
        seconds = time.monotonic() - began
        assert is_same(found, job, b"long")
        assert seconds < LATE_SECONDS_MAX, f"back after {seconds} s"
        refused(worker, "delete", reserved[0])
        assert server.jobs_left("default") == 1
        other.do("delete", found[0])
        wait_until(lambda: server.jobs_left("default") == 0, "none left")
    return f"another's {seconds:.2f} s after the start; done"


class Flow:
    """One driver puts so many jobs, another reserves and deletes, each in a thread of its own. They
    connect again when the server is gone."""

    def __init__(self, putter, worker, jobs):
        self.jobs = jobs
        self.put, self.done = [], set()
        self.runs = 0
        self.sides = [
            Background(lambda: self.run_putter(putter)),
            Background(lambda: self.run_worker(worker)),
        ]

    def is_half_way(self):
        for side in self.sides:
            side.check()
        return len(self.put) >= self.jobs // 2 and self.done

    def run_putter(self, driver):
        for number in range(self.jobs):
            steadily(driver, partial(driver.put, str(number).encode()))
            self.put.append(number)

    def run_worker(self, driver):
        while len(self.done) < self.jobs:
            steadily(driver, partial(self.work, driver))

    def work(self, driver):
        reserved = driver.reserve(1)
        if reserved is None:
            return
        job, body = reserved
        self.runs += 1
        self.done.add(int(body))
        driver.do("delete", job)

    def finish(self):
        for side in self.sides:
            side.finish(120)


def steadily(driver, call, seconds=60):
    """As a program does whose server may be away for a moment."""
    end = time.monotonic() + seconds
    while True:
        try:
            return call()
        except Refused:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
            connect_again(driver)


def connect_again(driver):
    try:
        driver.do("connect")
    except Refused:
        pass  # not there yet; the call that follows says so


CASES = {
    "put": put,
    "priorities": priorities,
    "delays": delays,
    "ttr": ttr,
    "bury": bury,
    "release": release,
    "tubes": tubes,
    "pause": pause,
    "stats": statistics,
    "timeout": timeout,
    "largest": largest,
    "restart": restart,
    "upgrade": upgrade,
    "lost": lost,
    "long": long,
    "long-restart": long_over_restart,
}
# Only where the library offers it.
OFFERED = {"tls": through(tls=True), "unix": through(unix=True)}
