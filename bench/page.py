"""The parts of docs/performance.md that a command writes: between `<!-- NAME: begin -->` and
`<!-- NAME: end -->`.
"""

import os
import textwrap

import arguments
import heading

HERE = os.path.dirname(os.path.abspath(__file__))
# As all text of the pages has at most.
COLUMNS = 110
PAGE = os.path.join(os.path.dirname(HERE), "docs", "performance.md")


def split(name):
    """The text before the part, the part, and the text after it."""
    with open(PAGE) as file:
        before, rest = file.read().split(f"<!-- {name}: begin -->\n")
    part, after = rest.split(f"<!-- {name}: end -->")
    return before, part, after


def read(name):
    return split(name)[1]


def read_options(parser, free=()):
    """Those of a command that writes a part: with `--write`, which takes the command as it is
    without other options, but those that are `free`, of a program that a commit names."""
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    options = parser.parse_args()
    if not options.write:
        return options
    for name, value in vars(options).items():
        if name not in ("write", *free) and value != parser.get_default(name):
            parser.error(f"--write is for the table of the page: leave {name} as it is by default")
    if heading.has_changes():
        parser.error("--write names the commit that was measured: what is measured has changes")
    for name in arguments.PROGRAMS:
        if name.upper() in os.environ:
            parser.error(f"--write measures what it builds itself: unset {name.upper()}")
    return options


def filled(text):
    """With long lines broken, except those of tables."""
    return "\n".join(line if line.startswith("|") else
                     textwrap.fill(line, COLUMNS, break_long_words=False, break_on_hyphens=False)
                     for line in text.split("\n"))


def write(name, text):
    """The page is the old one or the new one, whatever interrupts this."""
    before, _, after = split(name)
    new = PAGE + ".new"
    with open(new, "w") as file:
        file.write(f"{before}<!-- {name}: begin -->\n{filled(text)}\n<!-- {name}: end -->{after}")
    os.replace(new, PAGE)
