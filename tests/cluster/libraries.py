"""Producers and workers that are real client libraries, driven by the programs of tests/interop.

What they do is noted like what the other clients do, so the checker judges it too.
"""

import json
import os
import queue
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "interop"))

from history import OK, UNKNOWN, Operation, now  # noqa: E402
from languages import Language  # noqa: E402
from programs import BeanstalkDriver, Pusher, Refused, Worker  # noqa: E402
from traffic import LIBRARY_QUEUE, RESERVE_FOR, TUBE, Gone, Player, Putter, Reserver  # noqa: E402

ANSWER_SECONDS_MAX = 5
WORK_SECONDS = 0.02  # that a job takes
# faktory_worker_go tries for 30 s to tell that a job is done. When it begins another one sooner,
# it was told so.
ACK_SECONDS_MAX = 25


class Place:
    """Where a library finds the server."""

    def __init__(self, node):
        self.node = node

    def environment(self):
        (host, port), (faktory_host, faktory_port) = self.node.beanstalk, self.node.faktory
        return {
            "BEANSTALKD_URL": f"{host}:{port}",
            "FAKTORY_URL": f"tcp://{faktory_host}:{faktory_port}",
        }


class Driver(BeanstalkDriver):
    answer_seconds_max = ANSWER_SECONDS_MAX


class LibraryPusher(Pusher):
    answer_seconds_max = ANSWER_SECONDS_MAX


class BeanstalkLibrary:
    """A connection of a library, with those calls of `Beanstalk` that players make."""

    def __init__(self, library, node):
        self.driver = library.start(Driver, Place(node))
        try:
            self.do("watch", TUBE)
            self.do("ignore", "default")
            self.do("tubes")  # now a leader has answered
        except Gone:
            self.close()
            raise

    def close(self):
        self.driver.end()

    def do(self, *words):
        """The words of the answer, or `NOT_FOUND`."""
        try:
            return self.driver.do(*words)
        except Refused as error:
            if "notfound" in str(error).lower().replace(" ", ""):
                return "NOT_FOUND"
            raise Gone(str(error)) from error
        except (queue.Empty, AssertionError) as error:
            raise Gone(f"no answer {error}") from error

    def put(self, body, delay, ttr):
        return int(self.do("put", TUBE, 0, delay, ttr, body)[1])

    def reserve(self, timeout):
        answer = self.do("reserve", timeout)
        return None if answer == ["none"] else (int(answer[1]), bytes.fromhex(answer[2]))

    def delete(self, job):
        return self.changed(self.do("delete", job), "DELETED")

    def release(self, job):
        return self.changed(self.do("release", job, 0, 0), "RELEASED")

    @staticmethod
    def changed(answer, ok):
        return ok if answer == ["ok"] else answer


class OfLibrary:
    """Of a player: its connections are those of a library."""

    def __init__(self, library, *player_arguments):
        super().__init__(*player_arguments)
        self.library = library

    def open(self, node):
        return BeanstalkLibrary(self.library, node)


class LibraryPutter(OfLibrary, Putter):
    pass


class LibraryReserver(OfLibrary, Reserver):
    pass


class LibraryProducer(OfLibrary, Player):
    """Pushes jobs of the Faktory protocol."""

    def open(self, node):
        return FaktoryLibrary(self.library, node)

    def play(self, connection):
        if self.waits() and self.random.random() < 0.9:
            return
        name = self.name_of_next()

        def push():
            connection.client.push(name)
            # The library connects when it has to, so nobody else knows since when it is connected.
            connection.opened = now()
            return OK, None

        connection.do("put", push, name)


class FaktoryLibrary:
    def __init__(self, library, node):
        self.pusher = library.start(LibraryPusher, Place(node), "push")

    def close(self):
        self.pusher.end()

    def push(self, name):
        job = {"jid": name, "jobtype": "Slow", "args": [WORK_SECONDS], "queue": LIBRARY_QUEUE}
        try:
            self.pusher.push({**job, "retry": 25, "reserve_for": RESERVE_FOR})
        except (Refused, queue.Empty, AssertionError) as error:
            raise Gone(str(error)) from error


class LibraryWorker(Worker):
    """A worker of the Faktory protocol, one job at a time. It finds its way by itself: its server
    is one node, which is away now and then. Nobody tells us what it is answered. But it takes a job
    before it says that the job begins, and it begins another one only when the one before is
    finished."""

    def __init__(self, library, history, node):
        self.history = history
        self.last = now()
        self.done = None  # (name, since when), and whether the server knows is not known yet
        self.surprises = []
        environment = {
            **Place(node).environment(),
            "INTEROP_QUEUES": LIBRARY_QUEUE,
            "INTEROP_CONCURRENCY": "1",
        }
        super().__init__([*library.command, "work"], library.language.folder, environment)

    def take(self, line):
        if line is None:
            self.finish(UNKNOWN)
        elif line.startswith("{"):
            said = json.loads(line)
            (self.begin if said["jobtype"] == "Slow" else self.note_done)(said["jid"])
            self.last = now()
        super().take(line)

    def begin(self, name):
        is_told = self.done and now() - self.done[1] < ACK_SECONDS_MAX
        self.finish(OK if is_told else UNKNOWN)
        self.note("take", self.last, OK, name)

    def note_done(self, name):
        self.done = (name, now())

    def finish(self, outcome):
        if self.done:
            self.note("finish", self.done[1], outcome, self.done[0])
        self.done = None

    def note(self, kind, since, outcome, name):
        number = self.history.next_connection()
        self.history.add(
            Operation(
                kind,
                since,
                now(),
                outcome,
                number,
                opened=now(),
                job=name,
                hold=RESERVE_FOR,
                lasts=True,
            )
        )


def installed(name):
    """The library of that name, or None where `./dev interop` has not installed it."""
    for language in (Language("python"), Language("go")):
        for library in language.beanstalk + language.faktory:
            if library.name == name and os.path.exists(library.command[0]):
                return library
    return None


PLAYERS = (
    (LibraryPutter, "greenstalk"),
    (LibraryReserver, "greenstalk"),
    (LibraryReserver, "go-beanstalk"),
    (LibraryProducer, "faktory"),
    (LibraryProducer, "faktory_worker_go"),
)
WORKER = "faktory_worker_go"


class Libraries:
    """All of them together, until `stop`."""

    def __init__(self, cluster, history, seed):
        self.cluster = cluster
        self.history = history
        self.workers = []
        self.players = [
            kind(library, f"{name}{number}", cluster, history, f"{seed}-{name}-{number}")
            for number, (kind, name) in enumerate(PLAYERS)
            if (library := installed(name))
        ]

    def text(self):
        """Which there are, for people."""
        found = {each.library.name: each.library.number for each in self.players}
        if not found:
            return "no real clients: `./dev interop python go` installs them"
        return "real clients: " + ", ".join(f"{name} {found[name]}" for name in sorted(found))

    def start(self):
        for player in self.players:
            player.start()
        library = installed(WORKER)
        if library:
            nodes = self.cluster.nodes
            self.workers = [LibraryWorker(library, self.history, node) for node in nodes[:2]]

    def stop(self):
        for player in self.players:
            player.is_over.set()
        for worker in self.workers:
            worker.end()
        for player in self.players:
            player.join(60)

    def surprises(self):
        return [each for player in self.players for each in player.surprises]
