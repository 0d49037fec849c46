"""Measures Millrace beside its peers: ./dev bench [ROW...] [--rounds N] [--write]

The servers of a row are loaded in turn, A B A B, so that what else the machine does falls on all of
them. Shown are medians, with the range in brackets; ratios are those of the medians. --write puts
the table into docs/performance.md.
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

import servers
from rows import FAKTORY, ROWS

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(os.path.dirname(HERE), "docs", "performance.md")
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def load(server, settings):
    command = [os.environ["LOAD"], "--port", str(server.port), "--server-pid", str(server.pid)]
    for name, value in settings.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def measure(row, rounds):
    """The reports of each server by its title."""
    reports = {}
    for _ in range(rounds):
        for title, start in [row.ours, row.peer, *row.others]:
            is_millrace = title.startswith("millrace")
            with start(**({"door": row.door} if is_millrace else {})) as server:
                reports.setdefault(title, []).append(load(server, row.load))
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


def verdict(row, ratio):
    floor, aim = row.goal
    if row.is_met(ratio, aim):
        return "aim"
    return "floor" if row.is_met(ratio, floor) else "**missed**"


def lines_of(row, reports):
    ratio = (statistics.median(figures(reports[row.ours[0]], row.figure))
             / statistics.median(figures(reports[row.peer[0]], row.figure)))
    sign = "≤" if row.less_is_better else "≥"
    lines = [f"\n### {row.title}\n",
             f"`{row.ours[0]}` / `{row.peer[0]}`: **{ratio:.2f}** "
             f"(floor {sign} {row.goal[0]}, aim {sign} {row.goal[1]}): {verdict(row, ratio)}\n",
             "| server | operations/s | CPU each, µs | p50 ms | p99 ms | p99.9 ms | max ms |",
             "|---|---|---|---|---|---|---|"]
    for title, each in reports.items():
        latencies = " | ".join(f"{statistics.median(figures(each, name)) / 1000:.2f}"
                               for name in ("p50_us", "p99_us", "p999_us", "max_us"))
        lines.append(f"| {title} | {show(each, 'per_second')} | {show(each, 'server_cpu_us')} "
                     f"| {latencies} |")
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
            "from one thread of the same machine."]


def write(text):
    with open(PAGE) as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    with open(PAGE, "w") as file:
        file.write(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("row", nargs="*", help=", ".join(row.name for row in ROWS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    options = parser.parse_args()
    unknown = set(options.row) - {row.name for row in ROWS}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    lines = heading(options.rounds)
    for row in ROWS:
        if options.row and row.name not in options.row:
            continue
        if row.peer is FAKTORY and not servers.has_official_faktory():
            lines.append(f"\n### {row.title}\n\nNot measured: FAKTORY_BIN names no program.")
            continue
        print(row.title, file=sys.stderr)
        lines += lines_of(row, measure(row, options.rounds))
    text = "\n".join(lines)
    print(text)
    if options.write:
        write(text)


if __name__ == "__main__":
    main()
