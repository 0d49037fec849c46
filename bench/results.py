"""The data files in docs/internals/performance. `--write` puts what a command measured into its
own: comment lines with the command and with when, where and what was measured, then CSV.
"""

import csv
import os
import re

import arguments
import heading

FOLDER = os.path.join(arguments.ROOT, "docs", "internals", "performance")


def path(name):
    return os.path.join(FOLDER, f"{name}.csv")


def lines(name):
    with open(path(name), encoding="utf-8", newline="") as file:
        return file.read().splitlines()


def about(name):
    """When, where and what was measured."""
    return lines(name)[1].removeprefix("# ")


def rows(name):
    """Dictionaries by column."""
    return list(csv.DictReader(line for line in lines(name) if not line.startswith("# ")))


def read_options(parser, free=()):
    """Those of a command that writes a file: with `--write`, which takes the command as it is
    without other options, but those that are `free`, of a program that a commit names."""
    parser.add_argument("--write", action="store_true", help="into docs/internals/performance")
    options = parser.parse_args()
    if not options.write:
        return options
    for name, value in vars(options).items():
        if name not in ("write", *free) and value != parser.get_default(name):
            parser.error(f"--write is for the whole table: leave {name} as it is by default")
    if heading.has_changes():
        parser.error("--write names the commit that was measured: what is measured has changes")
    for name in arguments.PROGRAMS:
        if name.upper() in os.environ:
            parser.error(f"--write measures what it builds itself: unset {name.upper()}")
    return options


def cells(line):
    """Those of a row of Markdown, without what is there for people."""
    first, *others = (re.sub(r"\*\*|`", "", cell).strip() for cell in line[1:-1].split("|"))
    return [first, *(re.sub(r"(?<=\d),(?=\d{3}\b)", "", cell) for cell in others)]


def tables(text):
    """(title, rows) of each table in the Markdown; the first has no title."""
    for part in re.split(r"^### ", text, flags=re.MULTILINE):
        title = part.split("\n", 1)[0]
        found = [line for line in part.split("\n") if line.startswith("|")]
        yield title, [cells(line) for line in found if not line.startswith("|---")]


def save(name, text, table):
    """The file is the old one or the new one, whatever interrupts this."""
    part = name.removesuffix("-servers")
    command = "./dev bench" if part == "bench" else f"./dev bench {part}"
    heading_line = " ".join(text.split("\n|")[0].replace("`", "").split())
    with open(path(name) + ".new", "w", encoding="utf-8", newline="") as file:
        file.write(f"# {command} --write\n# {heading_line}\n")
        csv.writer(file, lineterminator="\n").writerows(table)
    os.replace(path(name) + ".new", path(name))


def write(name, text):
    """The first table into NAME.csv, those with titles into NAME-servers.csv."""
    (_, first), *titled = tables(text)
    save(name, text, first)
    if titled:
        header = ["work", *titled[0][1][0]]
        save(f"{name}-servers", text,
             [header] + [[title, *row] for title, (_, *found) in titled for row in found])
