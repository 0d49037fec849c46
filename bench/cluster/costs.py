"""What standbys cost: processor time for each put, and time of a relayed put."""

import contextlib
import statistics
import time

from client import Client
from loading import load
from servers import cpu_seconds

CONNECTIONS = 200
SECONDS = 4
SETTLING_S = 1
RELAYED_PUTS = 1000  # in a round
PUT = b"put 0 0 60 128\r\n" + 128 * b"x" + b"\r\n"


def standby_share(nodes, depth):
    """The standby's processor time for the puts of a load, of the leader's. The time of a beat now
    and then is in both."""
    with nodes(2) as serving:
        processes = [serving.pid, serving.standbys()[0].process.pid]
        before = [cpu_seconds(each) for each in processes]
        load(serving.port, work="put", connections=CONNECTIONS, depth=depth, seconds=SECONDS)
        time.sleep(SETTLING_S)
        leader, standby = (cpu_seconds(each) - old for each, old in zip(processes, before))
        return standby / leader


def put_seconds(client):
    began = time.perf_counter()
    client.say(PUT)
    if not client.line().startswith("INSERTED"):
        raise RuntimeError("a job was not taken")
    return time.perf_counter() - began


def relay_differences(nodes, rounds):
    """Microseconds at p50 of a put at the standby beyond those of one at the leader, in each round.
    A client at each puts in turn, A B B A, so that both meet the same machine and engine."""
    with nodes(2) as serving:
        ports = [serving.port, serving.standbys()[0].beanstalk[1]]
        direct, relayed = (Client(port) for port in ports)
        with contextlib.closing(direct), contextlib.closing(relayed):
            return [relay_difference(direct, relayed) for _ in range(rounds + 1)][1:]


def relay_difference(direct, relayed):
    took = {direct: [], relayed: []}
    for number in range(RELAYED_PUTS):
        for client in (direct, relayed) if number % 2 == 0 else (relayed, direct):
            took[client].append(put_seconds(client))
    return 1e6 * (statistics.median(took[relayed]) - statistics.median(took[direct]))
