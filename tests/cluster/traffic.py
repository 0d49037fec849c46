"""Producers and workers of both protocols, that go on whatever happens to the servers."""

import json
import os
import random
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "end_to_end"))

from clients import Beanstalk, Faktory, Gone  # noqa: E402
from history import MISSING, NOTHING, OK, UNKNOWN, Operation, now  # noqa: E402

ANSWER_SECONDS_MAX = 3  # then a client gives up its connection; a FETCH waits for two by itself
TTR = 8  # s
RESERVE_FOR = 60  # s; a server takes no less
BACKLOG_MAX = 500  # jobs; then producers wait for the workers, so that the end is not far
QUEUE = "pushed"
LIBRARY_QUEUE = "pushed-by-libraries"
TUBE = "put"


class Connection:
    """To any node that accepts. It says when it was opened and closed, and what was answered."""

    def __init__(self, history, client, node):
        self.history = history
        self.client = client
        self.node = node
        self.number = history.next_connection()
        self.opened = now()

    def close(self):
        self.history.add(Operation("close", now(), now(), OK, self.number))
        self.client.close()

    def do(self, kind, call, job="", hold=0.0, lasts=False):
        """`call` answers (outcome, job), which is noted. Answers the job. Raises `Gone` after
        noting that."""
        begin = now()
        try:
            outcome, found = call()
        except Gone:
            outcome, found = UNKNOWN, None
        job = job or found or ""
        self.history.add(
            Operation(
                kind,
                begin,
                now(),
                outcome,
                self.number,
                opened=self.opened,
                job=job,
                hold=hold,
                lasts=lasts,
                node=self.node,
            )
        )
        if outcome == UNKNOWN:
            raise Gone(kind)
        return found


class Player(threading.Thread):
    """A thread with a connection, and a new one when that is lost."""

    def __init__(self, name, cluster, history, seed):
        super().__init__(name=name, daemon=True)
        self.cluster = cluster
        self.history = history
        self.random = random.Random(seed)
        self.is_over = threading.Event()
        self.count = 0
        self.surprises = []

    def open(self, node):
        raise NotImplementedError

    def play(self, connection):
        raise NotImplementedError

    def connect(self):
        """None when it is over."""
        while not self.is_over.is_set():
            nodes = list(self.cluster.nodes)
            self.random.shuffle(nodes)
            for node in nodes:
                try:
                    client = self.open(node)
                    return Connection(self.history, client, node.host.name)
                except (Gone, ValueError, IndexError):
                    continue
            time.sleep(0.02)
        return None

    def run(self):
        while (connection := self.connect()) is not None:
            try:
                while not self.is_over.is_set():
                    self.play(connection)
                    time.sleep(self.random.uniform(0, 0.03))
            except Gone:
                pass
            except Exception as error:  # the test shows it
                self.surprises.append(f"{self.name}: {error!r}")
            connection.close()

    def name_of_next(self):
        self.count += 1
        return f"{self.name}-{self.count:06}"

    def waits(self):
        """Of a producer: whether there are jobs enough."""
        return self.history.backlog > BACKLOG_MAX


class TubeClient(Beanstalk):
    def release(self, job):
        return self.command(f"release {job} 0 0")


class BeanstalkPlayer(Player):
    def open(self, node):
        client = TubeClient(node.beanstalk, ANSWER_SECONDS_MAX)
        try:
            for line in (f"use {TUBE}", f"watch {TUBE}", "ignore default"):
                client.command(line)
        except Gone:
            client.close()
            raise
        return client


def put_outcome(reply):
    if not isinstance(reply, int):
        raise ValueError(reply)
    return OK, None


def change_outcome(reply, ok):
    if reply == "NOT_FOUND":
        return MISSING, None
    if reply != ok:
        raise ValueError(reply)
    return OK, None


class Putter(BeanstalkPlayer):
    def play(self, connection):
        if self.waits() and self.random.random() < 0.9:
            return
        name = self.name_of_next()
        delay = 1 if self.random.random() < 0.1 else 0
        connection.do(
            "put",
            lambda: put_outcome(connection.client.put(name.encode(), delay=delay, ttr=TTR)),
            name,
        )


class Reserver(BeanstalkPlayer):
    def take(self, connection, timeout=1):
        """(id, name) or None."""
        found = []

        def call():
            reply = connection.client.reserve(timeout)
            if reply is None:
                return NOTHING, None
            found.append(reply[0])
            return OK, reply[1].decode()

        name = connection.do("take", call, hold=TTR)
        return (found[0], name) if name else None

    def play(self, connection):
        taken = self.take(connection)
        if taken is None:
            return
        number, name = taken
        drawn = self.random.random()
        if drawn < 0.02:
            raise Gone("closed with a job")
        time.sleep(self.random.uniform(0, 3 if drawn < 0.1 else 0.05))
        client = connection.client
        if drawn > 0.95:
            call = lambda: change_outcome(client.release(number), "RELEASED")
            connection.do("give_back", call, name)
        else:
            call = lambda: change_outcome(client.delete(number), "DELETED")
            connection.do("finish", call, name)


class FaktoryPlayer(Player):
    def wid(self):
        return None

    def open(self, node):
        client = Faktory(node.faktory, self.wid(), timeout=ANSWER_SECONDS_MAX + 2)
        if client.hello_reply != "+OK":
            client.close()
            raise Gone(client.hello_reply)
        return client


def simple_outcome(reply):
    if reply == "+OK":
        return OK, None
    if reply is not None and "not found" in reply:
        return MISSING, None
    raise ValueError(reply)


class Pusher(FaktoryPlayer):
    def play(self, connection):
        if self.waits() and self.random.random() < 0.9:
            return
        name = self.name_of_next()
        push = lambda: connection.client.push(name, QUEUE, reserve_for=RESERVE_FOR, retry=25)
        connection.do("put", lambda: simple_outcome(push()), name)


class Fetcher(FaktoryPlayer):
    """Its holds outlast its connections, so it goes on with a job on the next one."""

    held = None

    def wid(self):
        return self.name

    def take(self, connection):
        def call():
            job = connection.client.fetch(QUEUE, LIBRARY_QUEUE)
            return (NOTHING, None) if job is None else (OK, job["jid"])

        return connection.do("take", call, hold=RESERVE_FOR, lasts=True)

    def play(self, connection):
        if self.held is None:
            self.held = self.take(connection)
            if self.held is None:
                return
            time.sleep(self.random.uniform(0, 3 if self.random.random() < 0.1 else 0.05))
        name, client = self.held, connection.client
        if self.random.random() < 0.03:
            # Without an answer it is over too: the server says OK to the ACK of any job, so an ACK
            # of one that has failed would prove nothing.
            self.held = None
            line = "FAIL " + json.dumps({"jid": name, "errtype": "E", "message": "m"})
            connection.do("give_back", lambda: simple_outcome(client.command(line)), name)
        else:
            connection.do("finish", lambda: simple_outcome(client.ack(name)), name)
        self.held = None


class Drainer:
    """Takes what is left, after all others have ended."""

    def __init__(self, cluster, history, seconds):
        self.cluster = cluster
        self.history = history
        self.reserver = Reserver("drain", cluster, history, 0)
        self.fetcher = Fetcher("drain", cluster, history, 0)
        self.end = time.monotonic() + seconds

    def again(self, player, work):
        """On a new connection after each one that is lost, until `work` answers True."""
        while time.monotonic() < self.end:
            connection = player.connect()
            try:
                if work(connection):
                    return
            except Gone:
                pass
            finally:
                connection.close()
        raise RuntimeError(f"{type(player).__name__} cannot drain within the time")

    def drain(self):
        self.again(self.reserver, self.drain_tube)
        self.again(self.fetcher, self.drain_queue)

    def drain_tube(self, connection):
        while True:
            taken = self.reserver.take(connection, 0)
            if taken is None:
                stats = connection.client.stats(f"stats-tube {TUBE}")
                waiting = ("current-jobs-delayed", "current-jobs-reserved", "current-jobs-ready")
                if stats is None or all(stats[each] == "0" for each in waiting):
                    return True
                time.sleep(0.2)
                continue
            call = lambda: change_outcome(connection.client.delete(taken[0]), "DELETED")
            connection.do("finish", call, taken[1])

    def drain_queue(self, connection):
        """Workers that are gone hold jobs whose answer they never read. An operator gives those
        back."""
        client = connection.client
        while True:
            client.command('MUTATE {"cmd":"requeue","target":"retries"}')
            name = self.fetcher.take(connection)
            if name is not None:
                connection.do("finish", lambda: simple_outcome(client.ack(name)), name)
            elif self.release_reserved() == 0:
                return True

    def release_reserved(self):
        """How many there were."""
        for node in self.cluster.nodes:
            at = f"http://{node.web[0]}:{node.web[1]}/api/v1/jobs"
            try:
                with urllib.request.urlopen(f"{at}?state=reserved&limit=200", timeout=3) as answer:
                    rows = json.load(answer)["jobs"]
                for row in rows:
                    number = self.history.next_connection()
                    self.history.add(
                        Operation("give_back", now(), now(), OK, number, now(), row["jid"])
                    )
                    request = urllib.request.Request(
                        f"{at}/{row['id']}/retry",
                        data=b'{"state": "reserved"}',
                        headers={"Content-Type": "application/json"},
                    )
                    urllib.request.urlopen(request, timeout=3).close()
                return len(rows)
            except OSError:
                continue
        return -1


class Traffic:
    """All of them together, until `stop`."""

    def __init__(self, cluster, history, seed):
        self.cluster = cluster
        self.history = history
        kinds = [Putter, Putter, Reserver, Reserver, Reserver]
        kinds += [Pusher, Pusher, Fetcher, Fetcher, Fetcher]
        self.players = [
            kind(f"{kind.__name__.lower()}{number}", cluster, history, f"{seed}-{number}")
            for number, kind in enumerate(kinds)
        ]

    def start(self):
        for player in self.players:
            player.start()

    def stop(self):
        for player in self.players:
            player.is_over.set()
        for player in self.players:
            player.join(60)

    def surprises(self):
        return [each for player in self.players for each in player.surprises]
