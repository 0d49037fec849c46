"""Measures servers that share a log: what the log costs, and how long a takeover takes.

Everything runs on this machine, on loopback and not pinned to cores: three nats-servers, or a
PostgreSQL primary with a synchronous standby, the nodes, and the load. Ratios are of servers that
are loaded in turn, A B B A. Shown are medians, with the range of the rounds in brackets.
"""

import os
import shutil
import statistics
import sys
from dataclasses import dataclass

import setting
import costs
import takeovers
from engines import POSTGRES, nats_program

# Those of bench.
import arguments
import heading
import results
import servers
from goal import GOAL_JOBS, Goal, at_least, at_most
from loading import load
from rows import DURABLE, STRICT, Row
from run import details, measure, ratios_to_peer, show_ratio

TIMES, TIMES_WRITTEN = 10, 50
JOBS = 100_000
PAIRS_MAX = 5  # takeovers with many jobs and with none: each waits for a replay
ENGINE_TIMES_MAX = 20  # takeovers with the engine: an election takes seconds
RELAY_ROUNDS = 10
NODES = 2  # of a log that is loaded: the leader, and the standby that makes it one of several
KILLED = at_most(2500, 1500)
WITH_ENGINE = at_most(2500, 500)
TERMINATED = at_most(500, 100)
WITH_JOBS = at_most(200, 20)
SHARE = at_most(0.5, 0.25)
RELAYED = at_most(100, 40)


@dataclass
class Line:
    """Of the table. `figure` is what the goal is for; without a goal it only explains."""

    what: str
    shown: str
    figure: float = 0
    goal: Goal = None
    unit: str = ""

    def text(self):
        goal = self.goal.columns(self.figure, self.unit) if self.goal else "| |"
        return f"| {self.what} | {self.shown} | {goal} |"


# ---- ratios


def nats_title():
    return "three synced servers" if setting.nats_syncs() else "three servers that do not sync"


def put_row(name, running, ours, goal, depth=1):
    """200 connections that put at the leader of a log, and at a server with a file."""
    flight = f", {depth} in flight on each" if depth > 1 else ""

    def start(protocol):
        del protocol  # a node speaks both
        return running.nodes(NODES)

    return Row(name, f"put, 200 connections{flight}", (ours, start), DURABLE,
               {"work": "put", "connections": 200, "depth": depth, "seconds": 4},
               "per_second", goal)


def fetch_row(before):
    """The program before, or what it did about FETCH."""
    peer = STRICT
    if before:
        peer = ("millrace before", lambda **options: servers.millrace(
            "--sync", "always", program=before, **options))
    return Row("fetch", "PUSH + FETCH + ACK, 50 connections", DURABLE, peer,
               {"work": "push-cycle", "connections": 50, "seconds": 4},
               "per_second", at_least(1.2, 1.4), protocol="faktory")


def measure_row(row, rounds):
    """Lines of the table, and those of the details."""
    # To take half a million jobs out again, one by one, a log needs minutes.
    reports = measure(row, rounds, drains=row.load["work"] != "put")
    ratio, each = ratios_to_peer(row, reports, row.ours[0])
    what = f"{row.title}: `{row.ours[0]}` / `{row.peer[0]}`"
    shown = show_ratio(row, statistics.median(each), each)
    return [Line(what, shown, statistics.median(each), row.goal)], details(row, reports)


def part_puts(options):
    lines, more = [], []
    with setting.nats() as running:
        ours = f"millrace --log nats ({nats_title()})"
        for depth, floor in ((1, 0.25), (32, 0.2)):
            row = put_row("nats", running, ours, at_least(floor, 0.6), depth)
            found = measure_row(row, options.rounds)
            lines += found[0]
            more += found[1]
    with setting.postgres() as running:
        ours = "millrace --log postgresql (synchronous standby)"
        row = put_row("postgres", running, ours, at_least(0.25, 0.6))
        found = measure_row(row, options.rounds)
    return lines + found[0], more + found[1]


def part_fetch(options):
    return measure_row(fetch_row(options.before), options.rounds)


# ---- takeovers


def repeated(times, measure_once):
    """In milliseconds."""
    found = []
    for _ in range(times):
        found.append(1000 * measure_once())
        print(f"  {found[-1]:,.0f} ms", file=sys.stderr)
    return found


def spread_line(what, found, goal):
    """Judged by the p99: with fewer than 100 values that is the longest."""
    longest = takeovers.percentile(found, 0.99)
    return Line(f"{what}, p99 of {len(found)}",
                f"**{longest:,.0f} ms**; p50 {takeovers.percentile(found, 0.5):,.0f} ms",
                longest, goal, " ms")


def part_takeover(options):
    with setting.nats() as running, running.nodes(3) as serving:
        killed = repeated(options.times, lambda: takeovers.killed(serving))
        ended = repeated(options.times, lambda: takeovers.terminated(serving))
    return [
        spread_line("takeover after `kill -9` of the leader, lease 1 s", killed, KILLED),
        spread_line("takeover by SIGTERM", ended, TERMINATED),
    ], []


def part_engine(options):
    elections = []

    def beyond(serving):
        gap, election = takeovers.killed_with_engine(serving)
        elections.append(1000 * election)
        return gap - election

    with setting.nats() as running, running.nodes(3) as serving:
        found = repeated(min(options.times, ENGINE_TIMES_MAX), lambda: beyond(serving))
    return [
        spread_line("the same when the engine's leader is killed too, beyond its election", found,
                    WITH_ENGINE),
        Line("the election of the engine", f"{min(elections):,.0f} to {max(elections):,.0f} ms"),
    ], []


def alternate(times, empty, full, measure_once):
    """The median with jobs minus the one with none, in milliseconds."""
    found = {id(empty): [], id(full): []}
    for number in range(times):
        for serving in (empty, full) if number % 2 == 0 else (full, empty):
            found[id(serving)].append(1000 * measure_once(serving))
    print(f"  none {found[id(empty)]}\n  many {found[id(full)]}", file=sys.stderr)
    return statistics.median(found[id(full)]) - statistics.median(found[id(empty)])


def part_jobs(options):
    times = min(options.times, PAIRS_MAX)
    lines = []
    with setting.nats() as running, running.nodes(2) as empty, running.nodes(2) as full:
        load(full.port, work="put", connections=4, depth=500, operations=options.jobs)
        full.wait_for_standbys()
        for how, measure_once in (("SIGTERM", takeovers.terminated),
                                  ("`kill -9`", takeovers.killed)):
            more = alternate(times, empty, full, measure_once)
            lines.append(Line(f"takeover with {options.jobs:,} jobs minus with none, {how}, "
                              f"medians of {times}", f"**{more:,.0f} ms**", more, WITH_JOBS, " ms"))
    return lines, []


# ---- costs


def part_standby(options):
    lines = []
    with setting.nats() as running:
        for depth in (1, 32):
            shares = [costs.standby_share(running.nodes, depth) for _ in range(options.rounds)]
            middle = statistics.median(shares)
            what = f"a standby's processor time per put / the leader's, 200 connections, {depth} " \
                "in flight"
            lines.append(Line(what, f"**{middle:.2f}** ({min(shares):.2f} to {max(shares):.2f})",
                              middle, SHARE))
    return lines, []


def part_relay(options):
    with setting.quick_nats() as running:
        found = costs.relay_differences(running.nodes, RELAY_ROUNDS)
    middle = statistics.median(found)
    return [Line(f"relayed put, p50 added ({RELAY_ROUNDS} rounds of {costs.RELAYED_PUTS:,} puts "
                 "each, in turn with direct ones; one unsynced server keeps the log)",
                 f"**{middle:.0f} µs** ({min(found):.0f} to {max(found):.0f})", middle, RELAYED,
                 " µs")], []


PARTS = {
    "puts": part_puts,
    "fetch": part_fetch,
    "takeover": part_takeover,
    "engine": part_engine,
    "jobs": part_jobs,
    "standby": part_standby,
    "relay": part_relay,
}


def read_options():
    parser = arguments.Parser("cluster", __doc__)
    parser.add_argument("part", nargs="*", default=[],
                        help=f"{', '.join(PARTS)}; without: all of them")
    parser.add_argument("--rounds", type=arguments.positive, default=3,
                        help="of ratios and of processor time; default: 3")
    parser.add_argument("--times", type=arguments.positive,
                        help=f"takeovers of each kind, {ENGINE_TIMES_MAX} at most with the "
                        f"engine's leader and {PAIRS_MAX} with many jobs; default: {TIMES}, "
                        f"with --write {TIMES_WRITTEN}")
    parser.add_argument("--jobs", type=arguments.positive,
                        help=f"of the takeover with many; default: {JOBS}, with --write "
                        f"{GOAL_JOBS}")
    parser.add_argument("--before", metavar="PATH",
                        help="an earlier program that `fetch` compares with; default: this one "
                        "with --strict-fetch")
    options = results.read_options(parser, free=("before",))
    if unknown := set(options.part) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if options.before and not shutil.which(options.before):
        parser.error(f"--before names no program: {options.before}")
    options.times = options.times or (TIMES_WRITTEN if options.write else TIMES)
    options.jobs = options.jobs or (GOAL_JOBS if options.write else JOBS)
    options.part = options.part or list(PARTS)
    refuse_absent(parser, options)
    return options


def refuse_absent(parser, options):
    if set(options.part) - {"fetch"} and not shutil.which(nats_program()):
        parser.error("NATS_SERVER names no nats-server, and none is installed: ./dev setup")
    if "puts" in options.part and not os.path.exists(POSTGRES):
        parser.error("PostgreSQL 15 is not installed: ./dev setup")
    if options.write and not setting.nats_syncs():
        parser.error("--write is for servers that sync: have NATS_SERVER name one since 2.10")
    heading.refuse_memory(parser)


def settings(options):
    """What the heading tells besides."""
    programs = [[nats_program()], [POSTGRES + "postgres"]]
    versions = [heading.version(*each, "--version") for each in programs if shutil.which(each[0])]
    return (*versions, f"{options.rounds} rounds", "bodies of 128 bytes", "nothing is pinned to a "
            f"core; {NODES} nodes where a log is loaded, 3 where the leader is killed")


def main():
    options = read_options()
    arguments.build("millrace", "load")
    lines = [heading.heading(*settings(options))]
    table = ["", "| what | measured | floor | aim | verdict |", "|---|---|---|---|---|"]
    more = []
    for name in options.part:
        print(name, file=sys.stderr)
        found, explained = PARTS[name](options)
        for line in found:
            print(f"  {line.text()}", file=sys.stderr)
        table += [line.text() for line in found]
        more += explained
    text = "\n".join(lines + table + more)
    print(text)
    if options.write:
        results.write("cluster", text)


if __name__ == "__main__":
    main()
