"""Measures Millrace and its peers, all rows of the table or those named.

The servers of a row are loaded in turn, A B B A, so that what else the machine does falls on all of
them. Shown are medians, with the range in brackets, and the longest of all waits; ratios are those
of the medians, and their range is that of the rounds.
"""

import argparse
import os
import shutil
import statistics
import sys

import arguments
import chart
import heading
import results
import servers
from loading import load
from rows import FAKTORY, LEAST, ROWS, SYNCED

COMMANDS = """\
What else there is, each with its own --help:
  all           the rows, size, bystander and many, one after the other
  size          bytes for each job, memory after a drain, restart
  features      bytes for each lock and each open batch
  bystander     the longest wait of a client while others make the server work hard
  many          idle and waiting connections, and many tubes
  cluster       servers that share a log: its cost, takeovers, standbys
  churn         the journal's size under endless change
  full-disk     what a client waits on a full disk
  long-lines    the longest wait while one client sends a long line
  floods        the longest wait while many connections bring no work
  lateness      how late scheduled jobs are, of a server that runs
  timers        how late runs of cron entries and the removal of expired jobs are
  web           what the web pages cost the clients
  core          the core alone, by time (Google Benchmark's options)
  instructions  the core alone, by instructions
"""


def measure(row, rounds, drains=True):
    """The reports of each server by its title."""
    contestants = [row.ours, row.peer, *row.others]
    reports = {title: [] for title, _ in contestants}
    for number in range(rounds):
        # There and back, so that what drifts does not always fall on the same.
        for title, start in contestants if number % 2 == 0 else reversed(contestants):
            is_millrace = title.startswith("millrace")
            with start(**({"protocol": row.protocol} if is_millrace else {})) as server:
                # Once is enough to know that everything that was put is there.
                drain = {"drain": "true"} if drains and number == 0 else {}
                report = load(server.port, server_pid=server.pid, **drain, **row.load)
            reports[title].append(report)
            print(f"  {title}: {show([report], row.figure)}", file=sys.stderr)
    return reports


def figures(reports, name):
    return [report[name] for report in reports]


def show(reports, name):
    values = figures(reports, name)
    digits = 2 if name == "server_cpu_us" else 0
    text = f"{statistics.median(values):,.{digits}f}"
    if len(values) > 1:
        text += f" ({min(values):,.{digits}f} to {max(values):,.{digits}f})"
    return text


def ratios_to_peer(row, reports, title):
    """That of the medians, and those of the rounds."""
    ours, theirs = figures(reports[title], row.figure), figures(reports[row.peer[0]], row.figure)
    middle = statistics.median(ours) / statistics.median(theirs)
    return middle, [each / other for each, other in zip(ours, theirs)]


def show_ratio(row, middle, rounds):
    text = f"**{middle:.{3 if row.goal.is_near(middle) else 2}f}**"
    return f"{text} ({min(rounds):.2f} to {max(rounds):.2f})" if len(rounds) > 1 else text


def summary(measured):
    """A line for each row: (row, reports)."""
    lines = ["", "| work | servers | ratio | floor | aim | verdict |", "|---|---|---|---|---|---|"]
    for row, reports in measured:
        ratio, rounds = ratios_to_peer(row, reports, row.ours[0])
        lines.append(f"| {row.title} | `{row.ours[0]}` / `{row.peer[0]}` "
                     f"| {show_ratio(row, ratio, rounds)} | {row.goal.columns(ratio)} |")
        if LEAST in row.others:
            most, _ = ratios_to_peer(row, reports, LEAST[0])
            lines.append(f"| upper limit of this machine and load | {LEAST[0]} / "
                         f"`{row.peer[0]}` | {most:.2f} | | | |")
    return lines


def details(row, reports):
    lines = [f"\n### {row.title}\n",
             "| server | operations/s | CPU each, µs | p50 ms | p99 ms | p99.9 ms | max ms |",
             "|---|---|---|---|---|---|---|"]
    for title, each in reports.items():
        latencies = " | ".join(f"{statistics.median(figures(each, name)) / 1000:.2f}"
                               for name in ("p50_us", "p99_us", "p999_us"))
        longest = max(figures(each, "max_us")) / 1000
        lines.append(f"| {title} | {show(each, 'per_second')} | {show(each, 'server_cpu_us')} "
                     f"| {latencies} | {longest:.2f} |")
    return lines


def read_options():
    """The options, and the rows that they ask for."""
    parser = arguments.Parser("", __doc__, epilog=COMMANDS,
                              formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [row.name for row in ROWS]
    parser.add_argument("row", nargs="*", default=[],
                        help=f"{', '.join(names)}; without: all of them")
    parser.add_argument("--rounds", type=arguments.positive, default=3, help="default: 3")
    options = results.read_options(parser)
    if unknown := set(options.row) - set(names):
        parser.print_help(sys.stderr)
        print(file=sys.stderr)
        parser.error(f"no such row or command: {', '.join(sorted(unknown))}")
    has_faktory = servers.has_official_faktory()
    if has_faktory and not shutil.which(os.environ["FAKTORY_BIN"]):
        parser.error(f"FAKTORY_BIN names no program: {os.environ['FAKTORY_BIN']}")
    if options.write and not has_faktory:
        parser.error("--write is for the whole table: have FAKTORY_BIN name the official Faktory")
    rows = [row for row in ROWS if not options.row or row.name in options.row]
    absent = [row for row in rows if row.peer is FAKTORY and not has_faktory]
    if options.row and absent:
        parser.error(f"{absent[0].name} needs FAKTORY_BIN to name the official Faktory")
    for row in absent:
        print(f"{row.title}: not measured, FAKTORY_BIN names no program", file=sys.stderr)
    rows = [row for row in rows if row not in absent]
    if any(each in SYNCED for row in rows for each in (row.ours, row.peer, *row.others)):
        heading.refuse_memory(parser)
    return options, rows


def main():
    options, rows = read_options()
    arguments.build("millrace", "load", "least")
    lines = [heading.heading(
        f"{options.rounds} rounds", "bodies of 128 bytes", "the load is one thread of the same "
        "machine. A latency is that of one operation: a whole cycle, or a batch of 32 where 32 are "
        "in flight", has_faktory=any(row.peer is FAKTORY for row in rows))]
    measured = []
    for row in rows:
        print(row.title, file=sys.stderr)
        measured.append((row, measure(row, options.rounds)))
    lines += summary(measured)
    for row, reports in measured:
        lines += details(row, reports)
    text = "\n".join(lines)
    print(text)
    if options.write:
        results.write("bench", text)
        chart.write()


if __name__ == "__main__":
    main()
