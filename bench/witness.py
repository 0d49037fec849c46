"""How long a core of the machine stood still for everybody: on each a process, which goes before
all others (SCHED_FIFO), sleeps for a millisecond at a time and notes how much later than it asked
for it went on. What holds it up is the machine, or a system call that cannot be interrupted: a
server's too. It takes the right to such a priority; without it nothing is known.
"""

import json
import os
import signal
import subprocess
import sys
import time

import servers

PERIOD_S = 0.001


def may_watch():
    policy, priority = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, policy, priority)
    return True


class Witness:
    """Watches while it is open; `longest_ms` afterwards, None where nothing is known."""

    def __init__(self):
        self.longest_ms = None

    def __enter__(self):
        cores = os.sched_getaffinity(0) if may_watch() else ()
        self.processes = [
            subprocess.Popen([sys.executable, os.path.abspath(__file__), str(core)],
                             stdout=subprocess.PIPE, text=True,
                             preexec_fn=servers.end_with_parent)
            for core in cores
        ]
        for process in self.processes:
            process.stdout.readline()
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        told = [json.loads(process.communicate()[0]) for process in self.processes]
        self.longest_ms = max(told, default=None)


def watch(core):
    """Until SIGTERM."""
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    longest = 0
    is_over = []
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: is_over.append(True))
    print("watching", flush=True)
    last = time.monotonic()
    while not is_over:
        time.sleep(PERIOD_S)
        now = time.monotonic()
        longest = max(longest, now - last - PERIOD_S)
        last = now
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    print(json.dumps(longest * 1000))


if __name__ == "__main__":
    watch(int(sys.argv[1]))
