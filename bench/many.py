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
CYCLES = 300_000


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


def watch(server):
    """Its share of a core while we only look on."""
    before = cpu_seconds(server)
    time.sleep(LOOK_S)
    return (cpu_seconds(server) - before) / LOOK_S


def fetch_again_and_again(server, clients, fetch):
    """Its share of a core while every client fetches, and fetches anew when nothing has come."""
    waiting = selectors.DefaultSelector()
    for client in clients:
        waiting.register(client, selectors.EVENT_READ)
        client.sendall(fetch)
    before = cpu_seconds(server)
    end = time.monotonic() + LOOK_S
    while (left := end - time.monotonic()) > 0:
        for key, _ in waiting.select(left):
            key.fileobj.recv(4096)
            key.fileobj.sendall(fetch)
    return (cpu_seconds(server) - before) / LOOK_S


def measure_connections(title, start, count, wait, greeting=None):
    with start() as server:
        empty = resident_bytes(server)
        clients = connect(server.port, count, greeting)
        time.sleep(2)
        each = (resident_bytes(server) - empty) / count
        print(f"{title}: {count:,} idle: {100 * watch(server):.2f} % of a core, "
              f"{each:,.0f} bytes each", flush=True)
        if greeting:
            share = fetch_again_and_again(server, clients, wait)
            what = "in FETCH, which each begins anew every two seconds"
        else:
            for client in clients:
                client.sendall(wait)
            time.sleep(2)
            share = watch(server)
            what = "in reserve"
        each = (resident_bytes(server) - empty) / count
        print(f"{title}: {count:,} {what}: {100 * share:.2f} % of a core, {each:,.0f} bytes each",
              flush=True)
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


def measure_tubes(title, start, count):
    with start() as server:
        def cycle():
            return load(server.port, work="put-cycle", connections=50, operations=CYCLES,
                        server_pid=server.pid)

        cycle()  # warms up
        alone = cycle()
        fill_tubes(server.port, count)
        among = cycle()
        print(f"{title}: put + reserve + delete, 50 connections: {alone['server_cpu_us']:.2f} µs "
              f"alone, {among['server_cpu_us']:.2f} µs beside {count:,} tubes with a job each; "
              f"p99 {alone['p99_us'] / 1000:.2f} and {among['p99_us'] / 1000:.2f} ms", flush=True)


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
    measure_tubes("beanstalkd", servers.beanstalkd, options.tubes)


if __name__ == "__main__":
    main()
