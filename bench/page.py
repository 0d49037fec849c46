"""The parts of docs/performance.md that a command writes: between `<!-- NAME: begin -->` and
`<!-- NAME: end -->`.
"""

import os

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(os.path.dirname(HERE), "docs", "performance.md")


def split(name):
    """What stands before the part, the part, and what stands behind it."""
    with open(PAGE) as file:
        before, rest = file.read().split(f"<!-- {name}: begin -->\n")
    part, after = rest.split(f"<!-- {name}: end -->")
    return before, part, after


def read(name):
    return split(name)[1]


def write(name, text):
    """The page is the old one or the new one, whatever interrupts this."""
    before, _, after = split(name)
    new = PAGE + ".new"
    with open(new, "w") as file:
        file.write(f"{before}<!-- {name}: begin -->\n{text}\n<!-- {name}: end -->{after}")
    os.replace(new, PAGE)
