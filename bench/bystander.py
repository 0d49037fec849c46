"""How long a client waits while others make the server work hard.

Twenty bystanders put, reserve and delete jobs of their own tube, 2,000 cycles a second (200 where
each reply waits for the disk) whether or not earlier ones are done, so that a pause counts for all
that would have begun in it. Shown is the wait for a reply, counted from when the command was due,
during an event and 0.3 s after its end. The machine has pauses of its own, which a witness tells
(witness.py): a time in which a core stood still for longer than 2 ms does not count, if there is
another, and the event is done again, up to twice as often, but not when it takes longer than a
minute with what is prepared for it. The tables grow in parts, each of which is such a time. Shown
are the longest wait of all times; of those that count the longest, the median of the longest and
that of the p99; and how long a core stood still in them. What is wanted is compared with those that
count, or with all, where fewer than half count. beanstalkd is measured where it has the operation.
"""

import datetime
import json
import signal
import statistics
import sys
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Callable, Optional

import arguments
import heading
import results
import servers
from client import Client
from bystanders.features import BATCHES, Features, UNIQUE_ARGS_BYTES
from goal import GOAL_JOBS, at_most
from loading import CONNECTING_S, finish_load, load, start_load
from witness import Witness

LONGEST_MS = at_most(10, 5)
RATE = 2000
SYNCED_RATE = 200
GROWTH_RATE = 75_000
GROWTH_PARTS = 10
AFTERMATH_S = 0.3
MINUTE_S = 60
STILL_MS_MAX = 2
DUE_S = 25
DROPPED = 5000
CLEANED_SEGMENTS = 10


@dataclass
class Wait:
    """Of one time that an event was done."""

    longest_ms: float
    p99_ms: float
    still_ms: Optional[float]  # the machine's own

    def is_ours(self):
        return self.still_ms is None or self.still_ms <= STILL_MS_MAX


class Bystander:
    """Measures while it is open; `report` afterwards."""

    def __init__(self, port, rate):
        self.process = start_load(port, work="put-cycle", connections=20, rate=rate, seconds=36000,
                                  prefix="bystander")
        time.sleep(CONNECTING_S)

    def __enter__(self):
        self.process.send_signal(signal.SIGUSR1)
        return self

    def __exit__(self, *_):
        time.sleep(AFTERMATH_S)
        self.process.terminate()
        self.report = finish_load(self.process)


class World(Features):
    """A server filled with jobs, and what can be done to it."""

    def __init__(self, server, jobs):
        self.server = server
        self.jobs = jobs
        self.million = min(jobs, 1_000_000)
        self.turns = 0

    def put(self, count, **settings):
        load(self.server.port, work="put", connections=4, depth=50, operations=count, **settings)

    def push(self, count, **settings):
        load(self.server.ports["faktory"], work="push", connections=4, depth=50, operations=count,
             **settings)

    def faktory(self):
        return Client(self.server.ports["faktory"], "faktory")

    def ask_web(self, target):
        url = f"http://127.0.0.1:{self.server.ports['web']}{target}"
        with urllib.request.urlopen(url) as answer:
            return answer.read().decode()

    # Each event: what is prepared without the bystander, and what happens while it is served.

    def nothing(self):
        time.sleep(3)

    def grow(self):
        """Not at full speed: then load, server and bystanders would wait for one another's
        turns on the two cores, which are longer than what is looked for."""
        self.put(max(1, self.jobs // GROWTH_PARTS), queues=4, rate=GROWTH_RATE)

    def prepare_kick(self):
        self.put(self.million, prefix="kicked", delay=36000)

    def kick(self):
        client = Client(self.server.port)
        client.demand("use kicked0", "USING kicked0")
        client.demand(f"kick {self.million}", f"KICKED {self.million}")

    def prepare_due(self):
        """The same second for all, where the protocol can say one; with seconds from now they come
        due as fast as they were put."""
        began = time.time()
        self.turns += 1
        self.tube = f"due{self.turns}-"
        if "faktory" not in self.server.ports:
            self.put(self.million, prefix=self.tube, delay=DUE_S)
        else:
            due = datetime.datetime.fromtimestamp(began + DUE_S, datetime.timezone.utc)
            self.push(self.million, prefix=self.tube, at=due.strftime("%Y-%m-%dT%H:%M:%SZ"))
        self.due, took = began + DUE_S, time.time() - began
        if took > DUE_S - 1:
            raise RuntimeError("the jobs were due before all of them were there")
        time.sleep(self.due - time.time() - 1)

    def become_due(self):
        client = Client(self.server.port)
        while client.ready_jobs(f"{self.tube}0") < self.million:
            if time.time() > self.due + 2 * DUE_S:
                raise RuntimeError("the jobs are not ready")
            time.sleep(1)

    def prepare_mutate(self):
        self.faktory().demand('MUTATE {"cmd":"clear","target":"dead"}', "+OK")
        self.push(self.million, prefix="mutated", at="2100-01-01T00:00:00Z")

    def mutate(self):
        self.faktory().demand(
            'MUTATE {"cmd":"kill","target":"scheduled","filter":{"jobtype":"SomeJob"}}', "+OK")

    def prepare_remove(self):
        self.push(self.million, prefix="removed")

    def remove(self):
        self.faktory().demand("QUEUE REMOVE removed0", "+OK")

    def prepare_remove_members(self):
        client = self.faktory()
        client.say(b'BATCH NEW {"complete":{"jobtype":"Done","args":[]}}\r\n')
        client.line()
        bid = client.line()
        client.push_all(self.million, lambda number: {
            "jid": f"member-{number:07}", "jobtype": "Some", "args": [], "queue": "members",
            "custom": {"bid": bid}})
        client.demand(f"BATCH COMMIT {bid}", "+OK")

    def remove_members(self):
        self.faktory().demand("QUEUE REMOVE members", "+OK")

    def search(self):
        cursor = ""
        while cursor is not None:
            found = json.loads(self.ask_web("/api/v1/jobs/count?state=ready&text=nowhere"
                                            f"&cursor={urllib.parse.quote(cursor)}"))
            cursor = found["next"]

    def prepare_drop(self):
        self.dropped = []
        for _ in range(DROPPED):
            client = Client(self.server.port)
            client.say(b"put 0 0 60 1\r\nx\r\nreserve\r\n")
            self.dropped.append(client)
        time.sleep(1)

    def drop(self):
        for client in self.dropped:
            client.close()
        time.sleep(1)

    def prepare_flush(self):
        """The same jobs for each."""
        self.flush()
        self.put(self.jobs, queues=4)

    def flush(self):
        self.faktory().demand("FLUSH", "+OK")

    # Of a server with a journal.

    def fill(self):
        self.put(self.jobs)

    def churn(self):
        """40 MB a second become obsolete, which the disk can follow."""
        load(self.server.port, work="put-cycle", connections=10, operations=10_000, rate=2_000,
             body_bytes=20_000, prefix="churn")

    def churn_on(self):
        """Until the log has been cleaned, whatever it holds."""
        before = self.segments_removed()
        while self.segments_removed() < before + CLEANED_SEGMENTS:
            self.churn()

    def segments_removed(self):
        return self.server.metric("millrace_journal_segments_removed_total")


@dataclass
class Event:
    title: str  # {million} and {jobs} are their numbers
    prepare: Optional[Callable]  # without the bystanders
    happen: Callable  # while they are served
    has_peer: bool = True  # beanstalkd can do it
    times: Optional[int] = None  # exactly; None: as often as is asked for
    rate: int = RATE  # of the bystanders
    has_goal: bool = True  # what the machine does by itself has none


EVENTS = [
    Event("nothing", None, World.nothing, has_goal=False),
    Event(f"{{jobs}} jobs are put, {GROWTH_RATE:,} a second, in {GROWTH_PARTS} parts", None,
          World.grow, times=GROWTH_PARTS),
    Event("`kick` of {million}", World.prepare_kick, World.kick),
    Event("{million} come due in one second (beanstalkd: as fast as they were put)",
          World.prepare_due, World.become_due),
    Event("MUTATE over {million}", World.prepare_mutate, World.mutate, has_peer=False),
    Event("QUEUE REMOVE of {million}", World.prepare_remove, World.remove, has_peer=False),
    Event("QUEUE REMOVE of {million} members of a batch", World.prepare_remove_members,
          World.remove_members, has_peer=False),
    Event("a web search of all ready jobs", None, World.search, has_peer=False),
    Event(f"{DROPPED:,} connections drop at once, each with a job", World.prepare_drop, World.drop),
    Event("the locks of {million} unique jobs end in one second", World.prepare_locks,
          World.end_of_time, has_peer=False),
    Event("{million} jobs expire in one second", World.prepare_expiry, World.end_of_time,
          has_peer=False),
    Event("QUEUE REMOVE of {million} unique, tracked members of a batch", World.prepare_members,
          World.remove_members, has_peer=False),
    Event("FLUSH of {million} unique, tracked members of a batch", World.prepare_members,
          World.flush, has_peer=False),
    Event(f"{BATCHES:,} batches are committed, one callback each", World.prepare_batches,
          World.commit_batches, has_peer=False),
    Event(f"a client pushes unique jobs with {UNIQUE_ARGS_BYTES:,} bytes of arguments", None,
          World.push_long_unique, has_peer=False),
    Event("a client sends TRACK SET as fast as it can", None, World.set_track, has_peer=False),
    Event("FLUSH of {jobs}", World.prepare_flush, World.flush, has_peer=False),
]

JOURNAL_EVENTS = [
    Event("`--sync always`: nothing", World.fill, World.nothing,
          times=1, rate=SYNCED_RATE, has_goal=False),
    Event("`--sync always`: 2,000 cycles of 20 kB a second", None, World.churn, rate=SYNCED_RATE),
    Event(f"`--sync always`: the same until {CLEANED_SEGMENTS} segments were compacted", None,
          World.churn_on, rate=SYNCED_RATE),
]


def show_ms(longest):
    """Two digits may hide on which side of a limit it is."""
    return f"{longest:.2f}" if LONGEST_MS.is_near(longest) else f"{longest:.1f}"


class Waits:
    """Of an event: all of them, and those that count."""

    def __init__(self, waits, has_goal=False):
        self.all = waits
        self.ours = [wait for wait in waits if wait.is_ours()]
        self.counted = self.ours or waits
        self.has_goal = has_goal

    def times(self):
        done = len(self.all)
        return f"{done}" if len(self.ours) == done else f"{len(self.ours)} of {done}"

    def show(self):
        """Four columns."""
        longest = statistics.median(wait.longest_ms for wait in self.counted)
        p99 = statistics.median(wait.p99_ms for wait in self.counted)
        still = [wait.still_ms for wait in self.counted if wait.still_ms is not None]
        own = f"{max(still):.1f}" if still else ""
        return (f"{self.longest_ms(self.all)} | {self.longest_ms(self.counted)} ({longest:.1f}) "
                f"| {p99:.2f} | {own}")

    @staticmethod
    def longest_ms(waits):
        return show_ms(max(wait.longest_ms for wait in waits))

    def goal(self):
        """Three columns."""
        if not self.has_goal:
            return "| |"
        judged = self.ours if 2 * len(self.ours) >= len(self.all) else self.all
        return LONGEST_MS.columns(max(wait.longest_ms for wait in judged))


def measure_once(world, event):
    with Witness() as witness, Bystander(world.server.port, event.rate) as bystander:
        event.happen(world)
    return Wait(bystander.report["reply_max_us"] / 1000, bystander.report["reply_p99_us"] / 1000,
                witness.longest_ms)


def measure_event(world, event, times):
    waits = []
    wanted = event.times or times
    tries = event.times or 2 * times
    while len(waits) < tries and sum(wait.is_ours() for wait in waits) < wanted:
        began = time.monotonic()
        if event.prepare:
            event.prepare(world)
        waits.append(measure_once(world, event))
        if event.times is None and time.monotonic() - began > MINUTE_S:
            break
    return Waits(waits, event.has_goal and world.jobs == GOAL_JOBS)


def measure(server, events, options):
    """The waits by the events' titles."""
    found = {}
    events = [event for event in events if options.only in event.title]
    if not events:
        return found
    with server:
        world = World(server, options.jobs)
        for event in events:
            title = event.title.format(jobs=f"{world.jobs:,}", million=f"{world.million:,}")
            found[title] = measure_event(world, event, options.times)
            each = ", ".join(f"{wait.longest_ms:.1f}" + ("" if wait.is_ours() else " (machine: "
                             f"{wait.still_ms:.1f})") for wait in found[title].all)
            print(f"  {title}: {each}", file=sys.stderr)
    return found


def table(ours, theirs):
    columns = "longest ms | counted (median) | p99 | machine"
    lines = [f"| while | times | Millrace {columns.replace('| ', '| Millrace ')} "
             f"| beanstalkd {columns.replace('| ', '| beanstalkd ')} | floor | aim | verdict |",
             f"|{'---|' * 13}"]
    for title, waits in ours.items():
        peer = theirs[title].show() if title in theirs else "| | |"
        lines.append(f"| {title} | {waits.times()} | {waits.show()} | {peer} | {waits.goal()} |")
    return lines


def main():
    parser = arguments.Parser("bystander", __doc__)
    parser.add_argument("--jobs", type=arguments.positive, default=GOAL_JOBS,
                        help=f"default: {GOAL_JOBS}")
    parser.add_argument("--times", type=arguments.positive, default=3,
                        help="that an event counts, where it can be repeated; default: 3")
    parser.add_argument("--only", metavar="TEXT", default="",
                        help="only events with this text; not with --write")
    options = results.read_options(parser)
    if options.only and options.write:
        parser.error("--only leaves out rows that --write needs")
    heading.refuse_memory(parser)
    arguments.build("millrace", "load")
    servers.raise_descriptor_limit(2 * DROPPED)
    lines = [heading.heading(f"{options.jobs:,} jobs", f"{RATE:,} cycles a second, "
                             f"{SYNCED_RATE} with a sync", "`--volatile` where no sync is named"),
             ""]
    print("millrace", file=sys.stderr)
    ours = measure(servers.millrace("--volatile", others=("faktory", "web")), EVENTS, options)
    ours |= measure(servers.millrace(others=("web",)), JOURNAL_EVENTS, options)
    print("beanstalkd", file=sys.stderr)
    theirs = measure(servers.beanstalkd(), [each for each in EVENTS if each.has_peer], options)
    text = "\n".join(lines + table(ours, theirs))
    print(text)
    if options.write:
        results.write("bystander", text)


if __name__ == "__main__":
    main()
