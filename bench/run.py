"""Measures Millrace beside its peers: ./dev bench [ROW...] [--rounds N] [--write]

The servers of a row are loaded in turn, A B B A, so that what else the machine does falls on all of
them. Shown are medians, with the range in brackets, and the longest of all waits; ratios are those
of the medians. --write puts the table into docs/performance.md.
"""

import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys

import page
import servers
from rows import FAKTORY, LEAST, ROWS


def load(server, settings):
    command = [os.environ["LOAD"], "--port", str(server.port), "--server-pid", str(server.pid)]
    for name, value in settings.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def measure(row, rounds):
    """The reports of each server by its title."""
    contestants = [row.ours, row.peer, *row.others]
    reports = {title: [] for title, _ in contestants}
    for number in range(rounds):
        # There and back, so that what drifts does not always fall on the same.
        for title, start in contestants if number % 2 == 0 else reversed(contestants):
            is_millrace = title.startswith("millrace")
            with start(**({"door": row.door} if is_millrace else {})) as server:
                reports[title].append(load(server, row.load))
            print(f"  {title}: {show([reports[title][-1]], row.figure)}", file=sys.stderr)
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


def ratio_to_peer(row, reports, title):
    """Of the medians."""
    return (statistics.median(figures(reports[title], row.figure))
            / statistics.median(figures(reports[row.peer[0]], row.figure)))


def verdict(row, ratio):
    floor, aim = row.goal
    if row.is_met(ratio, aim):
        return "aim"
    return "floor" if row.is_met(ratio, floor) else "**missed**"


def summary(measured):
    """A line for each row: (row, reports)."""
    lines = ["", "| work | ratio | | floor | aim | |", "|---|---|---|---|---|---|"]
    for row, reports in measured:
        ratio = ratio_to_peer(row, reports, row.ours[0])
        sign = "≤" if row.less_is_better else "≥"
        lines.append(f"| {row.title} | `{row.ours[0]}` / `{row.peer[0]}` | **{ratio:.2f}** "
                     f"| {sign} {row.goal[0]} | {sign} {row.goal[1]} | {verdict(row, ratio)} |")
        if LEAST in row.others:
            most = ratio_to_peer(row, reports, LEAST[0])
            lines.append(f"| the same, as far as the machine and the load go | {LEAST[0]} / "
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


def version(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.strip().splitlines()[0]


def cpu_model():
    with open("/proc/cpuinfo") as file:
        found = re.search(r"model name\s*: (.*)", file.read())
    return found.group(1) if found else platform.machine()


def heading(rounds):
    peers = [version([os.environ["MILLRACE"], "--version"]), version(["beanstalkd", "-v"])]
    if servers.has_official_faktory():
        peers.append(version([os.environ["FAKTORY_BIN"], "-v"]))
    return [f"{datetime.date.today()}; {cpu_model()}, {os.cpu_count()} cores; Linux "
            f"{platform.release()}; {rounds} rounds; load average before "
            f"{os.getloadavg()[0]:.1f}; {'; '.join(peers)}; bodies of 128 bytes; the load comes "
            "from one thread of the same machine. A latency is that of an operation: of a whole "
            "cycle, and of a bundle of 32 where so many are in flight."]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("row", nargs="*", help=", ".join(row.name for row in ROWS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    options = parser.parse_args()
    unknown = set(options.row) - {row.name for row in ROWS}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    if options.write and (options.row or not servers.has_official_faktory()):
        parser.error("--write replaces the whole table: name no rows, and have FAKTORY_BIN name "
                     "the official Faktory")
    lines = heading(options.rounds)
    measured = []
    for row in ROWS:
        if options.row and row.name not in options.row:
            continue
        if row.peer is FAKTORY and not servers.has_official_faktory():
            print(f"{row.title}: not measured, FAKTORY_BIN names no program", file=sys.stderr)
            continue
        print(row.title, file=sys.stderr)
        measured.append((row, measure(row, options.rounds)))
    lines += summary(measured)
    for row, reports in measured:
        lines += details(row, reports)
    text = "\n".join(lines)
    print(text)
    if options.write:
        page.write("bench", text)


if __name__ == "__main__":
    main()
