"""What the features of Faktory's commercial edition take: memory for each lock beyond a plain job,
and for each open batch beyond what its client sent; and for each finished job that is remembered.

A lock is measured against as many jobs of the same length that ask for none, a finished job against
a server that remembers none.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import arguments  # noqa: E402
import heading  # noqa: E402
import results  # noqa: E402
import servers  # noqa: E402
from client import Client  # noqa: E402
from goal import at_most  # noqa: E402
from loading import load  # noqa: E402

LOCK = at_most(64, 64)
OPEN_BATCH = at_most(300, 300)
JOBS = 1_000_000
BATCHES = 100_000
FINISHED = 100_000  # as many as a server remembers


def job_with(member):
    """Makes jobs whose `custom` has this member, of ten letters."""
    return lambda number: {"jid": f"job-{number:08}", "jobtype": "Sync", "args": [number],
                           "custom": {member: 600}}


def batch_of(number):
    return {"description": f"import {number:08}",
            "success": {"jid": f"done{number:08}", "jobtype": "Done", "args": []}}


def grown(fill):
    """The bytes that a server grows by, and what `fill` answers."""
    with servers.millrace("--volatile", protocol="faktory") as server:
        client = Client(server.port, "faktory")
        before = server.resident_bytes()
        answer = fill(client)
        after = server.resident_bytes()
        client.close()
    return after - before, answer


def after_cycles(kept):
    """The bytes of a server that has pushed, fetched and acknowledged as many jobs as it may keep,
    and keeps so many of them."""
    flags = ("--volatile", f"--keep-finished={kept}")
    with servers.millrace(*flags, protocol="faktory") as server:
        load(server.port, work="push-cycle", connections=4, depth=50, operations=FINISHED,
             body_bytes=128)
        return server.resident_bytes()


def main():
    parser = arguments.Parser("features", __doc__)
    parser.add_argument("--jobs", type=arguments.positive, default=JOBS, help=f"default: {JOBS}")
    parser.add_argument("--batches", type=arguments.positive, default=BATCHES,
                        help=f"default: {BATCHES}")
    options = results.read_options(parser)
    arguments.build("millrace", "load")
    plain, _ = grown(lambda client: client.push_all(options.jobs, job_with("other_for1")))
    unique, _ = grown(lambda client: client.push_all(options.jobs, job_with("unique_for")))
    size, length = grown(lambda client: client.add_batches(options.batches, batch_of))
    finished = (after_cycles(FINISHED) - after_cycles(0)) / FINISHED
    lock = (unique - plain) / options.jobs
    batch = (size - length) / options.batches
    text = "\n".join([
        heading.heading("`--volatile`"), "", "| what | bytes | floor | aim | verdict |",
        "|---|---|---|---|---|",
        f"| {options.jobs:,} locks: each, beyond a plain job | {lock:.0f} "
        f"| {LOCK.columns(lock)} |",
        f"| {options.batches:,} open batches: each, beyond its JSON of "
        f"{length / options.batches:.0f} | {batch:.0f} | {OPEN_BATCH.columns(batch)} |",
        f"| {FINISHED:,} finished jobs: each | {finished:.0f} | | | |"])
    print(text)
    if options.write:
        results.write("features", text)


if __name__ == "__main__":
    main()
