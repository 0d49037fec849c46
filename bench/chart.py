"""Draws benchmark.svg in docs/internals/performance from the data file beside it."""

import html
import os
import re

import results
from rows import ROWS

CHART = os.path.join(results.FOLDER, "benchmark.svg")
# A million a second would leave nothing of the other bars to be seen. The chart shows peers.
LEFT_OUT = {"put-pipelined", "fwp-fetch"}

WIDTH = 760
BARS_X = 16
BARS_WIDTH = 500
BAR_HEIGHT = 18
ROW_HEIGHT = 76
TOP = 58
OURS, PEER, TEXT, FAINT = "#0b7285", "#adb5bd", "#212529", "#5c636a"


def figures():
    """(title, [(server, operations a second)]) of each row that is drawn, ours first."""
    measured = {(each["work"], each["server"]): int(each["operations/s"].split()[0])
                for each in results.rows("bench-servers")}
    return [(row.title.removesuffix(": throughput"),
             [(server, measured[row.title, server]) for server, _ in (row.ours, row.peer)])
            for row in ROWS if row.figure == "per_second" and row.name not in LEFT_OUT]


def label(x, y, text, size=13, colour=TEXT, weight="normal"):
    return (f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" font-weight="{weight}">'
            f"{html.escape(text)}</text>")


def bar(y, server, value, scale, colour):
    width = round(value * scale, 1)
    return [f'<rect x="{BARS_X}" y="{y}" width="{width}" height="{BAR_HEIGHT}" rx="2" '
            f'fill="{colour}"/>',
            label(BARS_X + width + 6, y + 14, f"{value:,}  {server}", 12)]


def measured_on():
    """Day, machine and versions."""
    parts = results.about("bench").split("; ")
    versions = [part for part in parts if re.match(r"(millrace|beanstalkd|Faktory) ", part)]
    return f"{parts[0]}, {parts[1]}: {', '.join(versions)}"


def draw():
    shown = figures()
    scale = BARS_WIDTH / max(value for _, bars in shown for _, value in bars)
    height = TOP + ROW_HEIGHT * len(shown) + 8
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
             f'viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif">',
             '<rect width="100%" height="100%" fill="#ffffff"/>',
             label(BARS_X, 26, "Operations per second (more is better)", 16, weight="bold"),
             label(BARS_X, 46, measured_on(), 12, FAINT)]
    for index, (title, bars) in enumerate(shown):
        y = TOP + ROW_HEIGHT * index + 18
        lines.append(label(BARS_X, y, title, 13, weight="bold"))
        for place, ((server, value), colour) in enumerate(zip(bars, (OURS, PEER))):
            lines += bar(y + 8 + place * (BAR_HEIGHT + 2), server, value, scale, colour)
    return "\n".join([*lines, "</svg>"]) + "\n"


def write():
    with open(CHART, "w", encoding="utf-8") as file:
        file.write(draw())


if __name__ == "__main__":
    write()
