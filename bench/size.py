"""What many jobs take: memory for each while they wait and after they are gone, and the time until
a restart serves again. ./dev bench size [--jobs N]
"""

import argparse
import os
import shutil
import socket
import tempfile
import time

import servers
from bystander import load

BODY = 128
BATCH = 1000


def resident_bytes(server):
    with open(f"/proc/{server.pid}/status") as file:
        for line in file:
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("no VmRSS")


def drain(port, jobs):
    """Deletes the jobs, which have the numbers from 1 on."""
    client = socket.create_connection(("127.0.0.1", port))
    file = client.makefile("rb")
    for first in range(1, jobs + 1, BATCH):
        last = min(first + BATCH, jobs + 1)
        client.sendall(b"".join(b"delete %d\r\n" % job for job in range(first, last)))
        for _ in range(first, last):
            if file.readline() != b"DELETED\r\n":
                raise RuntimeError("a job was not there")


def fill(server, door, jobs):
    work = "put" if door == "beanstalk" else "push"
    load(server.port, work=work, connections=4, depth=50, operations=jobs, body_bytes=BODY)


def measure_memory(title, start, door, jobs):
    with start() as server:
        empty = resident_bytes(server)
        began = time.monotonic()
        fill(server, door, jobs)
        took = time.monotonic() - began
        full = resident_bytes(server)
        print(f"{title}: {(full - empty) / jobs - BODY:.0f} bytes a job beyond its body of {BODY}, "
              f"filled in {took:.0f} s", flush=True)
        if door == "beanstalk":
            drain(server.port, jobs)
            time.sleep(10)
            print(f"{title}: {resident_bytes(server) / 1e6:.0f} MB ten seconds after the last was "
                  f"deleted; {empty / 1e6:.0f} MB at the start", flush=True)


def measure_restart(jobs):
    folder = tempfile.mkdtemp(prefix="millrace-bench-")
    try:
        server = servers.millrace("--sync", "off", folder=folder)
        fill(server, "beanstalk", jobs)
        server.stop()
        size = sum(os.path.getsize(os.path.join(folder, "data", name))
                   for name in os.listdir(os.path.join(folder, "data")))
        began = time.monotonic()
        server = servers.millrace(folder=folder)
        print(f"restart: {time.monotonic() - began:.1f} s with {jobs:,} jobs, journal of "
              f"{size / 1e9:.1f} GB", flush=True)
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=10_000_000)
    jobs = parser.parse_args().jobs
    measure_memory("put, millrace", lambda: servers.millrace("--volatile"), "beanstalk", jobs)
    measure_memory("put, beanstalkd", servers.beanstalkd, "beanstalk", jobs)
    measure_memory("push, millrace", lambda: servers.millrace("--volatile", door="faktory"),
                   "faktory", jobs)
    measure_restart(jobs)


if __name__ == "__main__":
    main()
