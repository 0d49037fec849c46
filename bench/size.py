"""What many jobs take: memory for each while they wait and after they are gone, and the time until
a restart serves again. ./dev bench size [--jobs N]

What counts is how much memory a job takes beyond its payload, which is what the client gave: the
body of a put; of a PUSH all its JSON, in which the argument has the `BODY` bytes.
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
KEPT = 16


def resident_bytes(server):
    with open(f"/proc/{server.pid}/status") as file:
        for line in file:
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("no VmRSS")


def delete(port, numbers):
    client = socket.create_connection(("127.0.0.1", port))
    file = client.makefile("rb")
    for first in range(0, len(numbers), BATCH):
        batch = numbers[first:first + BATCH]
        client.sendall(b"".join(b"delete %d\r\n" % number for number in batch))
        for _ in batch:
            if file.readline() != b"DELETED\r\n":
                raise RuntimeError("a job was not there")


def fill(server, door, jobs):
    """The load's report."""
    work = "put" if door == "beanstalk" else "push"
    return load(server.port, work=work, connections=4, depth=50, operations=jobs, body_bytes=BODY)


def tell_size(title, door, each, payload):
    given = "body that was put" if door == "beanstalk" else "JSON that was pushed"
    text = (f"{title}: {each:.0f} bytes a job: {each - payload:.0f} beyond the {given} "
            f"({payload:.0f})")
    if door == "faktory":
        text += f", {each - BODY:.0f} beyond the argument in it ({BODY})"
    print(text, flush=True)


def tell_after(title, server, what, empty):
    time.sleep(10)
    print(f"{title}: {resident_bytes(server) / 1e6:.0f} MB ten seconds after {what}; "
          f"{empty / 1e6:.0f} MB at the start", flush=True)


def measure_memory(title, start, door, jobs):
    """Jobs are deleted at the beanstalk door, by their numbers: from 1 on, whichever door they came
    by."""
    with start() as server:
        empty = resident_bytes(server)
        report = fill(server, door, jobs)
        full = resident_bytes(server)
        tell_size(title, door, (full - empty) / jobs, report["payload_bytes"])
        print(f"{title}: filled in {report['seconds']:.0f} s", flush=True)
        port = server.port if door == "beanstalk" else server.delete_port
        delete(port, [number for number in range(1, jobs + 1) if number % KEPT != 0])
        tell_after(title, server, f"all but every {KEPT}th were deleted", empty)
        delete(port, range(KEPT, jobs + 1, KEPT))
        tell_after(title, server, "the last was deleted", empty)


def millrace_for_pushes():
    delete_port = servers.free_port()
    server = servers.millrace("--volatile", "--beanstalk", f"127.0.0.1:{delete_port}",
                              door="faktory")
    server.delete_port = delete_port
    return server


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
    measure_memory("push, millrace", millrace_for_pushes, "faktory", jobs)
    measure_restart(jobs)


if __name__ == "__main__":
    main()
