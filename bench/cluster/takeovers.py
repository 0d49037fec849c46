"""Takeovers as clients see them: one client at each node puts one job after the other, and connects
again at once when its connection is closed. A takeover takes the longest time in which none of them
is answered: from the last reply of the old leader to the first one of the new.
"""

import contextlib
import random
import signal
import threading
import time

import setting  # noqa: F401, it makes the other folders known
from client import Client
from election import Asker, Election
from engines import wait_for

PUT = b"put 0 0 60 8\r\n12345678\r\n"
RETRY_S = 0.001
CALM_S = (0.3, 0.6)  # before each, so that it comes at any time of a beat
AFTER_S = 0.2
ANSWER_S_MAX = 60


class Putter(threading.Thread):
    def __init__(self, node, answered):
        super().__init__(daemon=True)
        self.port = node.beanstalk[1]
        self.answered = answered
        self.is_over = False

    def run(self):
        while not self.is_over:
            with contextlib.suppress(OSError):
                self.work()
            time.sleep(RETRY_S)

    def work(self):
        with contextlib.closing(Client(self.port)) as client:
            client.socket.settimeout(ANSWER_S_MAX)
            while not self.is_over:
                client.say(PUT)
                if not client.line().startswith("INSERTED"):
                    return
                self.answered.append(time.monotonic())


class Putters:
    """One at each node. `answered` is when."""

    def __init__(self, nodes):
        self.answered = []
        self.threads = [Putter(node, self.answered) for node in nodes]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        self.wait_for_answer(0)
        return self

    def __exit__(self, *_):
        for thread in self.threads:
            thread.is_over = True
        for thread in self.threads:
            thread.join()

    def wait_for_answer(self, after):
        """One that came later."""
        wait_for(lambda: self.answered and self.answered[-1] > after, "a client is answered",
                 ANSWER_S_MAX)


def longest_gap(moments, since):
    """Between two of these, of those gaps that end after `since`."""
    ordered = sorted(moments)
    pairs = zip(ordered, ordered[1:])
    return max(after - before for before, after in pairs if after > since)


def percentile(values, share):
    """The smallest of them that so large a share does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 100) * len(ordered) // 100) - 1)]


def take_over(serving, strike):
    """Seconds without an answer. `strike` ends the leader. The node is there again afterwards."""
    leader, before = serving.leader(), len(serving.takeovers())
    with Putters(serving.nodes) as putters:
        time.sleep(random.uniform(*CALM_S))
        began = time.monotonic()
        strike(leader)
        wait_for(lambda: len(serving.takeovers()) > before, "another node leads")
        putters.wait_for_answer(time.monotonic())
        time.sleep(AFTER_S)
    leader.process.wait()
    leader.start()
    serving.wait_for_standbys()
    return longest_gap(putters.answered, began)


def killed(serving):
    return take_over(serving, lambda leader: leader.process.kill())


def terminated(serving):
    return take_over(serving, lambda leader: leader.process.send_signal(signal.SIGTERM))


def killed_with_engine(serving):
    """(seconds without an answer, those that the engine's own election took)."""
    stream, engine = serving.log_name, serving.engine
    with contextlib.closing(Asker(engine.members[0])) as asker:
        name = asker.leader(stream)
    member = next(each for each in engine.members if each.host.name == name)
    other = next(each for each in engine.members if each is not member)
    election = Election(other, stream)

    def strike(leader):
        member.signal(signal.SIGKILL)
        leader.process.kill()
        election.start()

    try:
        gap = take_over(serving, strike)
    finally:
        member.kill()
        member.start()
        member.wait_until_well()
    election.join()
    return gap, election.seconds
