"""What many jobs take: memory for each while they wait and after they are gone, and the time until
a restart serves again.

What counts is how much memory a job takes beyond its payload, which is what the client gave: the
body of a put; of a PUSH all its JSON, in which the argument has the --body-bytes. The first size is
measured with all jobs, the others, which tell what the allocator's classes of sizes cost, with a
tenth of them.
"""

import shutil
import sys
import tempfile
import time
from dataclasses import dataclass

import arguments
import heading
import results
import servers
from client import Client
from goal import GOAL_JOBS, at_most
from loading import load

KEPT = 16
SETTLING_S = 10
BODY_BYTES = 128
BEYOND = at_most(160, 100)
RESTART_S = at_most(15, 5)


@dataclass
class Memory:
    """Of a server, in bytes."""

    beyond: float  # the payload, for each job
    payload: float  # of each job
    empty: int
    full: int
    thinned: int = 0  # after all but every 16th were deleted
    drained: int = 0  # after the last was


def millrace(protocol):
    """Jobs are deleted over beanstalk, by their numbers: from 1 on, whichever protocol they came
    by."""
    others = () if protocol == "beanstalk" else ("beanstalk",)
    return servers.millrace("--volatile", protocol=protocol, others=others)


def beanstalkd(_):
    return servers.beanstalkd()


def fill(server, work, jobs, body_bytes):
    """The load's report."""
    return load(server.port, work=work, connections=4, depth=50, operations=jobs,
                body_bytes=body_bytes)


def measure_memory(start, work, jobs, body_bytes, has_drain):
    with start("beanstalk" if work == "put" else "faktory") as server:
        empty = server.resident_bytes()
        payload = fill(server, work, jobs, body_bytes)["payload_bytes"]
        full = server.resident_bytes()
        memory = Memory((full - empty) / jobs - payload, payload, empty, full)
        if has_drain:
            client = Client(server.ports["beanstalk"])
            client.delete([number for number in range(1, jobs + 1) if number % KEPT != 0])
            time.sleep(SETTLING_S)
            memory.thinned = server.resident_bytes()
            client.delete(range(KEPT, jobs + 1, KEPT))
            time.sleep(SETTLING_S)
            memory.drained = server.resident_bytes()
    print(f"  {work}, {jobs:,} jobs of {body_bytes}: {memory.beyond:.0f} bytes each beyond the "
          f"payload of {payload:.0f}", file=sys.stderr)
    return memory


def goal(jobs, body_bytes, beyond):
    """The columns after the figure. The goals are for bodies of 128 bytes."""
    is_wanted = jobs == GOAL_JOBS and body_bytes == BODY_BYTES
    return BEYOND.columns(beyond) if is_wanted else "| |"


def measure_size(jobs, body_bytes, has_drain):
    """Rows of the table."""
    put, push, theirs = (measure_memory(start, work, jobs, body_bytes, has_drain)
                         for start, work in ((millrace, "put"), (millrace, "push"),
                                             (beanstalkd, "put")))
    rows = [f"bytes beyond a body of {put.payload:.0f} | {put.beyond:.0f} | {theirs.beyond:.0f} "
            f"| {goal(jobs, body_bytes, put.beyond)}",
            f"the same pushed, beyond its JSON of {push.payload:.0f} | {push.beyond:.0f} | "
            f"| {goal(jobs, body_bytes, push.beyond)}"]
    if has_drain:
        rows += [show_drain("put", put, theirs), show_drain("pushed", push)]
    return [f"{jobs:,} jobs: {row}" for row in rows]


def show_drain(what, ours, theirs=None):
    def show(memory):
        sizes = (memory.empty, memory.full, memory.thinned, memory.drained)
        return ", ".join(f"{size / 1e6:,.0f}" for size in sizes)

    return (f"MB empty, with all {what}, {SETTLING_S} s after {KEPT - 1} of {KEPT} were deleted, "
            f"{SETTLING_S} s after all were | {show(ours)} "
            f"| {show(theirs) if theirs else ''} | | |")


def measure_restart(jobs, body_bytes):
    folder = tempfile.mkdtemp(prefix="millrace-bench-")
    try:
        server = servers.millrace("--sync", "off", folder=folder)
        try:
            fill(server, "put", jobs, body_bytes)
        finally:
            server.stop()
        size = server.journal_bytes()
        began = time.monotonic()
        server = servers.millrace(folder=folder)
        took = time.monotonic() - began
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    wanted = RESTART_S.columns(took) if jobs == GOAL_JOBS else "| |"
    return (f"restart with {jobs:,} jobs, s; a journal of {size / 1e9:.2f} GB in the page "
            f"cache | {took:.1f} | | {wanted}")


def main():
    parser = arguments.Parser("size", __doc__)
    parser.add_argument("--jobs", type=arguments.positive, default=GOAL_JOBS,
                        help=f"default: {GOAL_JOBS}")
    parser.add_argument("--body-bytes", type=arguments.positive, nargs="+",
                        default=[BODY_BYTES, 129, 200],
                        help="the first with all jobs, the others with a tenth of them; "
                        "default: 128 129 200")
    options = results.read_options(parser)
    arguments.build("millrace", "load")
    lines = [heading.heading("`--volatile`; restart with a journal"), "",
             "| what | Millrace | beanstalkd | floor | aim | verdict |",
             "|---|---|---|---|---|---|"]
    first, *others = options.body_bytes
    rows = measure_size(options.jobs, first, True)
    rows.append(measure_restart(options.jobs, first))
    for body_bytes in others:
        rows += measure_size(max(1, options.jobs // 10), body_bytes, False)
    text = "\n".join(lines + [f"| {row} |" for row in rows])
    print(text)
    if options.write:
        results.write("size", text)


if __name__ == "__main__":
    main()
