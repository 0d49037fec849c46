"""What many connections and many tubes cost.

Connections that say nothing, and as many that wait for a job: processor time per second and memory
for each. Many tubes: the same cycles and commands with them and without, in turn. Next to
beanstalkd where it has the like. Shown are medians, with the range in brackets.
"""

import selectors
import statistics
import sys
import time
from dataclasses import dataclass

import arguments
import heading
import results
import servers
from client import Client
from loading import load

LOOK_S = 10
SETTLING_S = 2
CYCLING_S = 4
CYCLING = 50  # connections, where not their number is measured
SPREAD = 1000  # connections, and tubes
SHARE_PERCENT_MAX = 1
BYTES_MAX = 4096
# Of one tube: listing all of them, as `list-tubes` and INFO do, takes longer for more.
COMMANDS = ("stats-tube default", "pause-tube default 0", "use default", "peek-ready")
COMMANDS_AT_ONCE = 100  # of each
BATCHES = 50


@dataclass
class Cost:
    """What connections take."""

    share: float  # of a core
    bytes_each: float

    def show(self):
        return f"{100 * self.share:.2f} % of a core, {self.bytes_each:,.0f} bytes each"

    def verdict(self):
        is_met = 100 * self.share <= SHARE_PERCENT_MAX and self.bytes_each <= BYTES_MAX
        return "floor" if is_met else "**missed**"


def watch(server, seconds=LOOK_S):
    """Its share of a core while we only look on."""
    before = server.cpu_seconds()
    time.sleep(seconds)
    return (server.cpu_seconds() - before) / seconds


def fetch_anew(server, clients):
    """Its share of a core while each fetches again when nothing has come."""
    waiting = selectors.DefaultSelector()
    for client in clients:
        waiting.register(client.socket, selectors.EVENT_READ)
    before = server.cpu_seconds()
    end = time.monotonic() + LOOK_S
    while (left := end - time.monotonic()) > 0:
        for key, _ in waiting.select(left):
            key.fileobj.recv(4096)
            key.fileobj.sendall(b"FETCH default\r\n")
    return (server.cpu_seconds() - before) / LOOK_S


def measure_connections(start, protocol, count):
    """What idle ones, waiting ones, and ones that fetch again and again take."""
    with start(protocol=protocol) as server:
        empty = server.resident_bytes()

        def cost(share):
            return Cost(share, (server.resident_bytes() - empty) / count)

        clients = [Client(server.port, protocol) for _ in range(count)]
        time.sleep(SETTLING_S)
        found = [cost(watch(server))]
        command = b"FETCH default\r\n" if protocol == "faktory" else b"reserve\r\n"
        for client in clients:
            client.say(command)
        # The first FETCH ends after two seconds.
        time.sleep(0.2 if protocol == "faktory" else SETTLING_S)
        found.append(cost(watch(server, 1 if protocol == "faktory" else LOOK_S)))
        if protocol == "faktory":
            found.append(cost(fetch_anew(server, clients)))
        for client in clients:
            client.close()
    shown = "; ".join(each.show() for each in found)
    print(f"  {count:,} connections, {protocol}: {shown}", file=sys.stderr)
    return found


def cycle(server, connections=CYCLING, queues=1, work="put-cycle"):
    return load(server.port, work=work, connections=connections, queues=queues,
                seconds=CYCLING_S, server_pid=server.pid)


def command(server):
    """A report with the server's processor time for each of COMMANDS, pipelined."""
    client = Client(server.ports["beanstalk"])
    end = b"UNKNOWN_COMMAND\r\n"
    text = "".join(f"{each}\r\n" for each in COMMANDS * COMMANDS_AT_ONCE) + "the-end\r\n"
    before = server.cpu_seconds()
    for _ in range(BATCHES):
        client.say(text.encode())
        while client.file.readline() != end:
            pass
    took = server.cpu_seconds() - before
    client.close()
    return {"server_cpu_us": took * 1e6 / (BATCHES * COMMANDS_AT_ONCE * len(COMMANDS))}


def alternate(rounds, ways):
    """The reports of each way, which are done in turn, A B B A, after one of each to warm up."""
    reports = [[] for _ in ways]
    for way in ways:
        way()
    for number in range(rounds):
        order = range(len(ways)) if number % 2 == 0 else reversed(range(len(ways)))
        for place in order:
            reports[place].append(ways[place]())
    return [show_cycles(each) for each in reports]


def show_cycles(reports):
    def show(name, digits, scale=1):
        values = [report[name] * scale for report in reports]
        text = f"{statistics.median(values):,.{digits}f}"
        if len(values) > 1:
            text += f" ({min(values):,.{digits}f} to {max(values):,.{digits}f})"
        return text

    text = f"{show('server_cpu_us', 1)} µs"
    if "per_second" in reports[0]:
        text += f", {show('per_second', 0)} a second, p99 {show('p99_us', 2, 1e-3)} ms"
    print(f"  {text}", file=sys.stderr)
    return text


def measure_tubes(start, count, rounds, way=cycle, protocol="beanstalk"):
    """Two servers, one of which has so many tubes with a job each: without those, and with them."""
    with start(protocol=protocol) as alone, start(protocol=protocol) as full:
        Client(full.ports["beanstalk"]).fill_tubes("many-", count)
        return alternate(rounds, [lambda: way(alone), lambda: way(full)])


def push_cycle(server):
    return cycle(server, work="push-cycle")


def measure_spread(start, rounds):
    """On one tube, and on as many as there are connections."""
    with start() as server:
        return alternate(rounds, [lambda: cycle(server, SPREAD, 1),
                                  lambda: cycle(server, SPREAD, SPREAD)])


def millrace(protocol="beanstalk"):
    """Tubes are filled over the beanstalk protocol."""
    others = () if protocol == "beanstalk" else ("beanstalk",)
    return servers.millrace("--volatile", protocol=protocol, others=others)


def beanstalkd(protocol="beanstalk"):
    return servers.beanstalkd()


def measure(options):
    """Rows of the table."""
    count = options.connections
    ours, theirs = (measure_connections(start, "beanstalk", count)
                    for start in (millrace, beanstalkd))
    workers = measure_connections(millrace, "faktory", count)
    rows = [
        connections_row(f"{count:,} idle connections", ours[0], theirs[0]),
        connections_row(f"{count:,} waiting in `reserve`", ours[1], theirs[1]),
        connections_row(f"{count:,} idle Faktory connections", workers[0]),
        connections_row(f"{count:,} waiting in FETCH", workers[1]),
        connections_row(f"{count:,} repeating FETCH every two seconds", workers[2]),
    ]
    # It looks for a tube among all: to make a hundred thousand of them takes it minutes.
    fewer = max(1, options.tubes // 10)
    crowded = f"the same with {options.tubes:,} other tubes of one job"
    for title, way, protocol in (
            (f"a cycle of {CYCLING} connections, alone", cycle, "beanstalk"),
            ("a command about one tube, many in flight, alone", command, "beanstalk"),
            (f"a cycle of PUSH, FETCH and ACK of {CYCLING} connections, alone", push_cycle,
             "faktory")):
        tubes = measure_tubes(millrace, options.tubes, options.rounds, way, protocol)
        their_tubes = ["", ""]
        if protocol == "beanstalk":
            their_tubes = measure_tubes(beanstalkd, fewer, options.rounds, way)
        rows += [(title, tubes[0], their_tubes[0], ""),
                 (f"{crowded} (beanstalkd {fewer:,})" if protocol == "beanstalk" else crowded,
                  tubes[1],
                  their_tubes[1], "")]
    spread, their_spread = (measure_spread(start, options.rounds)
                            for start in (millrace, beanstalkd))
    return rows + [
        (f"a cycle of {SPREAD:,} connections on one tube", spread[0], their_spread[0], ""),
        (f"the same on {SPREAD:,} tubes", spread[1], their_spread[1], ""),
    ]


def connections_row(title, ours, theirs=None):
    return title, ours.show(), theirs.show() if theirs else "", ours.verdict()


def main():
    parser = arguments.Parser("many", __doc__)
    parser.add_argument("--connections", type=arguments.positive, default=10_000,
                        help="default: 10000")
    parser.add_argument("--tubes", type=arguments.positive, default=100_000,
                        help="default: 100000; beanstalkd gets a tenth of them")
    parser.add_argument("--rounds", type=arguments.positive, default=3,
                        help="of cycles; default: 3")
    options = results.read_options(parser)
    arguments.build("millrace", "load")
    servers.raise_descriptor_limit(2 * options.connections + 1000)
    lines = [heading.heading(f"`--volatile`; {options.rounds} rounds of cycles; a cycle is put, "
                             "reserve and delete; µs are processor time of the server. The "
                             f"floor is {SHARE_PERCENT_MAX} % of a core for all connections, and "
                             f"{BYTES_MAX:,} bytes for each"),
             "", "| what | Millrace | beanstalkd | verdict |", "|---|---|---|---|"]
    text = "\n".join(lines + [f"| {' | '.join(row)} |" for row in measure(options)])
    print(text)
    if options.write:
        results.write("many", text)


if __name__ == "__main__":
    main()
