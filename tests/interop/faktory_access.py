"""Passwords and encryption over the Faktory protocol."""

from faktory_steps import job, pushing, wait_for_run, wait_until_gone, working
from programs import Refused
from servers import PASSWORD, serving, wait_until

# Nothing is said of a login that is refused but by the library, each in its own words.
WORDS_OF_REFUSAL = ("password", "authentication")
REFUSAL_SECONDS_MAX = 30


def password(library):
    """With the right one all is well; without it, and with a wrong one, nobody gets in."""
    with serving(password=PASSWORD) as server:
        push_and_work(library, server)
        with pushing(library, server) as pusher:
            pusher.push(job("waiting-01"))
        for wrong in ("wrong", None):
            server.password = wrong
            refused = push_is_refused(library, server)
            work_is_refused(library, server)
        server.password = PASSWORD
        assert server.job("waiting-01")["state"] == "ready"
        return refused


def push_is_refused(library, server):
    with pushing(library, server) as pusher:
        try:
            pusher.push(job("refused-01"))
        except Refused as error:
            return str(error)
    raise AssertionError(f"the password {server.password} was accepted")


def work_is_refused(library, server):
    """The worker says why, or ends and says why; a supervisor tries it again and again."""
    with working(library, server, restarts=range(1000)) as worker:
        wait_until(lambda: tells_of_refusal(worker), "a refused worker", REFUSAL_SECONDS_MAX)
        assert not worker.runs, worker.runs


def tells_of_refusal(worker):
    said = worker.said().lower()
    return any(word in said for word in WORDS_OF_REFUSAL)


def tls(library):
    with serving(tls=True) as server:
        push_and_work(library, server)


def password_over_tls(library):
    with serving(password=PASSWORD, tls=True) as server:
        push_and_work(library, server)
        server.password = "wrong"
        return push_is_refused(library, server)


def push_and_work(library, server):
    with pushing(library, server) as pusher, working(library, server) as worker:
        pusher.push(job("secret-001"))
        wait_for_run(worker, "secret-001")
        wait_until_gone(server, "secret-001")
