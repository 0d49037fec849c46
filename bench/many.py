"""What many connections and many tubes cost: ./dev bench many

Ten thousand connections that say nothing, and as many that wait for a job: processor time per
second and memory for each. A hundred thousand tubes: the same cycles with them and without. Next to
beanstalkd where it has the like.
"""

import argparse
import os
import resource
import selectors
import socket
import time

import servers
from bystander import load
from size import resident_bytes

LOOK_S = 10
CYCLING_S = 4


def cpu_seconds(server):
    """What all threads of it have used."""
    total = 0
    for task in os.listdir(f"/proc/{server.pid}/task"):
        with open(f"/proc/{server.pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0]) / 1e9
    return total


def raise_descriptor_limit(needed):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, needed), most))


def connect(port, count, greeting=None):
    """So many connections, each through its handshake."""
    clients = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", port))
        if greeting:
            client.recv(4096)
            client.sendall(greeting)
            client.recv(4096)
        clients.append(client)
    return clients


def watch(server, seconds=LOOK_S):
    """Its share of a core while we only look on."""
    before = cpu_seconds(server)
    time.sleep(seconds)
    return (cpu_seconds(server) - before) / seconds


def fetch(server, clients, command):
    """Its share of a core while every client waits in its first FETCH, which takes two seconds; and
    while each fetches anew when nothing has come."""
    waiting = selectors.DefaultSelector()
    for client in clients:
        waiting.register(client, selectors.EVENT_READ)
        client.sendall(command)
    time.sleep(0.2)
    while_waiting = watch(server, 1)
    before = cpu_seconds(server)
    end = time.monotonic() + LOOK_S
    while (left := end - time.monotonic()) > 0:
        for key, _ in waiting.select(left):
            key.fileobj.recv(4096)
            key.fileobj.sendall(command)
    return while_waiting, (cpu_seconds(server) - before) / LOOK_S


def measure_connections(title, start, count, wait, greeting=None):
    with start() as server:
        empty = resident_bytes(server)
        clients = connect(server.port, count, greeting)
        time.sleep(2)
        each = (resident_bytes(server) - empty) / count
        print(f"{title}: {count:,} idle: {100 * watch(server):.2f} % of a core, "
              f"{each:,.0f} bytes each", flush=True)
        if greeting:
            share, anew = fetch(server, clients, wait)
            more = f"; {100 * anew:.2f} % while each begins anew every two seconds"
        else:
            for client in clients:
                client.sendall(wait)
            time.sleep(2)
            share, more = watch(server), ""
        each = (resident_bytes(server) - empty) / count
        print(f"{title}: {count:,} waiting for a job: {100 * share:.2f} % of a core, "
              f"{each:,.0f} bytes each{more}", flush=True)
        for client in clients:
            client.close()


def fill_tubes(port, count):
    """One job in each."""
    client = socket.create_connection(("127.0.0.1", port))
    replies = client.makefile("rb")
    for first in range(0, count, 1000):
        tubes = range(first, min(first + 1000, count))
        client.sendall(b"".join(b"use many-%d\r\nput 0 0 60 1\r\nx\r\n" % tube for tube in tubes))
        for _ in tubes:
            replies.readline()
            if not replies.readline().startswith(b"INSERTED"):
                raise RuntimeError("a job was not taken")


def cycle(server, connections=50, queues=1):
    return load(server.port, work="put-cycle", connections=connections, queues=queues,
                seconds=CYCLING_S, server_pid=server.pid)


def tell_cycles(title, reports):
    each = "; ".join(f"{what} {report['server_cpu_us']:.2f} µs, {report['per_second']:,.0f} a "
                     f"second, p99 {report['p99_us'] / 1000:.2f} ms" for what, report in reports)
    print(f"{title}: put + reserve + delete: {each}", flush=True)


def measure_tubes(title, start, count):
    """Two servers in turn, one of which has so many tubes with a job each."""
    with start() as alone, start() as full:
        fill_tubes(full.port, count)
        for _ in range(2):  # the first warms up
            reports = [("50 connections alone", cycle(alone)),
                       (f"beside {count:,} tubes with a job each", cycle(full))]
        tell_cycles(title, reports)


def measure_spread(title, start):
    with start() as server:
        for _ in range(2):
            reports = [("1,000 connections on one tube", cycle(server, 1000, 1)),
                       ("on 1,000 tubes", cycle(server, 1000, 1000))]
        tell_cycles(title, reports)


def millrace():
    return servers.millrace("--volatile")


def millrace_for_workers():
    return servers.millrace("--volatile", door="faktory")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--tubes", type=int, default=100_000)
    options = parser.parse_args()
    raise_descriptor_limit(2 * options.connections + 1000)
    measure_connections("millrace, beanstalk door", millrace, options.connections, b"reserve\r\n")
    measure_connections("beanstalkd", servers.beanstalkd, options.connections, b"reserve\r\n")
    measure_connections("millrace, Faktory door", millrace_for_workers, options.connections,
                        b"FETCH default\r\n", b'HELLO {"v":2}\r\n')
    measure_tubes("millrace", millrace, options.tubes)
    # It looks for a tube among all: to make a hundred thousand of them takes it minutes.
    measure_tubes("beanstalkd", servers.beanstalkd, options.tubes // 10)
    measure_spread("millrace", millrace)
    measure_spread("beanstalkd", servers.beanstalkd)


if __name__ == "__main__":
    main()
