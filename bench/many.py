"""What many connections and many tubes cost.

Connections that say nothing, and as many that wait for a job: processor time per second and memory
for each. Many tubes: the same cycles with them and without, in turn. Next to beanstalkd where it
has the like. Shown are medians, with the range in brackets.
"""

import selectors
import statistics
import sys
import time

import arguments
import heading
import page
import servers
from client import Client
from loading import load

LOOK_S = 10
SETTLING_S = 2
CYCLING_S = 4
CYCLING = 50  # connections, where not their number is measured
SPREAD = 1000  # connections, and tubes


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


def measure_connections(start, door, count):
    """What idle ones, waiting ones, and ones that fetch again and again take."""
    with start(door=door) as server:
        empty = server.resident_bytes()

        def show(share):
            each = (server.resident_bytes() - empty) / count
            return f"{100 * share:.2f} % of a core, {each:,.0f} bytes each"

        clients = [Client(server.port, door) for _ in range(count)]
        time.sleep(SETTLING_S)
        found = [show(watch(server))]
        command = b"FETCH default\r\n" if door == "faktory" else b"reserve\r\n"
        for client in clients:
            client.say(command)
        # The first FETCH ends after two seconds.
        time.sleep(0.2 if door == "faktory" else SETTLING_S)
        found.append(show(watch(server, 1 if door == "faktory" else LOOK_S)))
        if door == "faktory":
            found.append(f"{100 * fetch_anew(server, clients):.2f} % of a core")
        for client in clients:
            client.close()
    print(f"  {count:,} connections, {door}: {'; '.join(found)}", file=sys.stderr)
    return found


def cycle(server, connections=CYCLING, queues=1):
    return load(server.port, work="put-cycle", connections=connections, queues=queues,
                seconds=CYCLING_S, server_pid=server.pid)


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

    text = (f"{show('server_cpu_us', 1)} µs, {show('per_second', 0)} a second, "
            f"p99 {show('p99_us', 2, 1e-3)} ms")
    print(f"  cycles: {text}", file=sys.stderr)
    return text


def measure_tubes(start, count, rounds):
    """Two servers, one of which has so many tubes with a job each: alone, and beside them."""
    with start() as alone, start() as full:
        Client(full.port).fill_tubes("many-", count)
        return alternate(rounds, [lambda: cycle(alone), lambda: cycle(full)])


def measure_spread(start, rounds):
    """On one tube, and on as many as there are connections."""
    with start() as server:
        return alternate(rounds, [lambda: cycle(server, SPREAD, 1),
                                  lambda: cycle(server, SPREAD, SPREAD)])


def millrace(door="beanstalk"):
    return servers.millrace("--volatile", door=door)


def beanstalkd(door="beanstalk"):
    return servers.beanstalkd()


def measure(options):
    """Rows of the table."""
    count = options.connections
    ours, theirs = (measure_connections(start, "beanstalk", count)
                    for start in (millrace, beanstalkd))
    workers = measure_connections(millrace, "faktory", count)
    # It looks for a tube among all: to make a hundred thousand of them takes it minutes.
    fewer = max(1, options.tubes // 10)
    tubes = measure_tubes(millrace, options.tubes, options.rounds)
    their_tubes = measure_tubes(beanstalkd, fewer, options.rounds)
    spread, their_spread = (measure_spread(start, options.rounds)
                            for start in (millrace, beanstalkd))
    return [
        (f"{count:,} idle connections", ours[0], theirs[0]),
        (f"{count:,} waiting in `reserve`", ours[1], theirs[1]),
        (f"{count:,} idle connections, Faktory door", workers[0], ""),
        (f"{count:,} waiting in FETCH", workers[1], ""),
        (f"{count:,} that fetch anew every two seconds", workers[2], ""),
        (f"a cycle of {CYCLING} connections, alone", tubes[0], their_tubes[0]),
        (f"the same beside {options.tubes:,} tubes with a job each (beanstalkd {fewer:,})",
         tubes[1], their_tubes[1]),
        (f"a cycle of {SPREAD:,} connections on one tube", spread[0], their_spread[0]),
        (f"the same on {SPREAD:,} tubes", spread[1], their_spread[1]),
    ]


def main():
    parser = arguments.Parser("many", __doc__)
    parser.add_argument("--connections", type=arguments.positive, default=10_000,
                        help="default: 10000")
    parser.add_argument("--tubes", type=arguments.positive, default=100_000,
                        help="default: 100000; beanstalkd gets a tenth of them")
    parser.add_argument("--rounds", type=arguments.positive, default=3,
                        help="of cycles; default: 3")
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    options = parser.parse_args()
    arguments.build("millrace", "load")
    servers.raise_descriptor_limit(2 * options.connections + 1000)
    lines = [heading.heading(f"`--volatile`; {options.rounds} rounds of cycles; a cycle is put, "
                             "reserve and delete, and its time that of the server's processor"),
             "", "| what | Millrace | beanstalkd |", "|---|---|---|"]
    text = "\n".join(lines + [f"| {' | '.join(row)} |" for row in measure(options)])
    print(text)
    if options.write:
        page.write("many", text)


if __name__ == "__main__":
    main()
