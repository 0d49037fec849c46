"""The table: what is done to which servers, and what the figures must be.

A row measures several servers by the same load and compares the first with the second.
"""

from dataclasses import dataclass, field

import servers
from goal import Goal, at_least, at_most

VOLATILE = ("millrace --volatile", lambda **options: servers.millrace("--volatile", **options))
DURABLE = ("millrace --sync always",
           lambda **options: servers.millrace("--sync", "always", **options))
BEANSTALKD = ("beanstalkd", servers.beanstalkd)
BEANSTALKD_BINLOG = ("beanstalkd -b", lambda: servers.beanstalkd(binlog=True))
BEANSTALKD_SYNC = ("beanstalkd -b -f 0", lambda: servers.beanstalkd("-f", "0", binlog=True))
SYNCED = (DURABLE, BEANSTALKD_SYNC)
BUFFERED = ("millrace --sync off", lambda **options: servers.millrace("--sync", "off", **options))
STRICT = ("millrace --strict-fetch",
          lambda **options: servers.millrace("--sync", "always", "--strict-fetch", **options))
LEAST = ("a minimal server", servers.least)
LEAST_BEANSTALK = ("a minimal server of put", lambda: servers.least("beanstalk"))
FAKTORY = ("faktory as it ships", servers.official_faktory)


@dataclass
class Row:
    name: str
    title: str
    ours: tuple
    peer: tuple
    load: dict
    figure: str  # of the load's report: per_second or server_cpu_us
    goal: Goal  # of the ratio
    others: list = field(default_factory=list)  # measured and shown too, not compared
    protocol: str = "beanstalk"


ROWS = [
    Row("put-cpu", "put, 50 connections: processor time each", VOLATILE, BEANSTALKD,
        {"work": "put", "connections": 50, "operations": 300_000},
        "server_cpu_us", at_most(0.75, 0.6)),
    # Few clients, so each turn of the main loop has few commands: shows what a turn costs.
    Row("put-8", "put, 8 connections, compared with a minimal server: processor time each",
        VOLATILE, LEAST_BEANSTALK,
        {"work": "put", "connections": 8, "operations": 300_000},
        "server_cpu_us", at_most(1.25, 1.1), others=[BUFFERED, BEANSTALKD]),
    Row("put-50", "put, 50 connections: throughput", DURABLE, BEANSTALKD,
        {"work": "put", "connections": 50, "operations": 200_000},
        "per_second", at_least(0.5, 1.0), others=[VOLATILE, BEANSTALKD_BINLOG]),
    Row("put-200", "put, 200 connections: throughput", DURABLE, BEANSTALKD,
        {"work": "put", "connections": 200, "operations": 300_000},
        "per_second", at_least(0.75, 1.2)),
    # What is wanted of a synced put does not name the connections: it is shown with either number.
    Row("put-50-synced", "put, 50 connections, both synced: throughput", DURABLE, BEANSTALKD_SYNC,
        {"work": "put", "connections": 50, "seconds": 4},
        "per_second", at_least(10, 20)),
    Row("put-200-synced", "put, 200 connections, both synced: throughput", DURABLE, BEANSTALKD_SYNC,
        {"work": "put", "connections": 200, "seconds": 4},
        "per_second", at_least(10, 20)),
    Row("put-pipelined", "put, 50 connections, 32 in flight on each: throughput", VOLATILE,
        BEANSTALKD, {"work": "put", "connections": 50, "depth": 32, "operations": 800_000},
        "per_second", at_least(8, 12)),
    Row("cycle-1000", "put + reserve + delete, 1,000 connections on 1,000 tubes: throughput",
        VOLATILE, BEANSTALKD,
        {"work": "put-cycle", "connections": 1000, "queues": 1000, "operations": 100_000},
        "per_second", at_least(2, 5), others=[DURABLE]),
    # Nor does what is wanted of a cycle name the commands in flight.
    Row("fwp-cycle", "PUSH + FETCH + ACK, 50 connections: throughput", DURABLE, FAKTORY,
        {"work": "push-cycle", "connections": 50, "operations": 50_000},
        "per_second", at_least(10, 20), others=[VOLATILE, LEAST], protocol="faktory"),
    # With --strict-fetch a FETCH waits for its own reservation, like all other replies.
    Row("fwp-fetch", "PUSH + FETCH + ACK, 50 connections, both synced: throughput", DURABLE, STRICT,
        {"work": "push-cycle", "connections": 50, "seconds": 4},
        "per_second", at_least(1.2, 1.4), protocol="faktory"),
    Row("fwp-pipelined", "PUSH + FETCH + ACK, 50 connections, 32 in flight on each: throughput",
        DURABLE, FAKTORY,
        {"work": "push-cycle", "connections": 50, "depth": 32, "seconds": 4},
        "per_second", at_least(10, 20), others=[VOLATILE, LEAST], protocol="faktory"),
]
