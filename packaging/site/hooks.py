"""Where each page is in the navigation of the site, and what its Markdown needs for Python."""

import re
from pathlib import PurePosixPath

# Within a section, pages are in this order. A name goes before a pattern, wherever that is.
SECTIONS = {
    "Start": [
        "README.md",
        "docs/README.md",
        "docs/quick-start.md",
        "docs/first-session.md",
        "docs/comparison.md",
        "CHANGELOG.md",
    ],
    "Concepts": [
        "docs/concepts/life-of-a-job.md",
        "docs/concepts/*.md",
    ],
    "Guides": [
        "docs/guides/*.md",
        "docs/clients.md",
        "docs/migrating-from-*.md",
        "docs/features/*.md",
    ],
    "Operate": [
        "docs/operations/production.md",
        "docs/operations/install.md",
        "docs/operations/packages.md",
        "docs/operations/running.md",
        "docs/operations/troubleshooting.md",
        "docs/operations/*.md",
        "SECURITY.md",
    ],
    "Reference": [
        "docs/operations/command-line.md",
        "docs/operations/options.md",
        "docs/operations/limits.md",
        "docs/api.md",
        "docs/*.md",
        "docs/compatibility/*.md",
    ],
    "Internals": [
        "CONTRIBUTING.md",
        "docs/internals/architecture.md",
        "docs/internals/*.md",
        "docs/internals/*/*.md",
        "bench/README.md",
        "tests/*/README.md",
    ],
}
# Python's Markdown takes no more than a language.
FENCE = re.compile(r"^``` ?(\w+) .*")
LIST_ITEM = re.compile(r"([*-]|\d+\.) +")
INDENT = 4


def on_files(files, config):
    """A page that no pattern matches is one that mkdocs complains of."""
    named = {name for patterns in SECTIONS.values() for name in patterns}
    others = sorted(file.src_uri for file in files.documentation_pages())
    others = [page for page in others if page not in named]
    config.nav = []
    for section, patterns in SECTIONS.items():
        pages = []
        for pattern in patterns:
            if "*" not in pattern:
                pages.append(pattern)
            found = [page for page in others if PurePosixPath(page).match(pattern)]
            pages += found
            others = [page for page in others if page not in found]
        config.nav.append({section: pages})
    return files


def on_page_markdown(markdown, **_):
    """What belongs to an item of a list is indented as far as GitHub wants it. Python wants four
    columns."""
    lines = []
    width = 0
    for line in markdown.split("\n"):
        line = FENCE.sub(r"```\1", line)
        item = LIST_ITEM.match(line)
        if item:
            width = item.end()
        elif line and not line.startswith(" "):
            width = 0
        elif width and line.startswith(" " * width):
            line = " " * INDENT + line[width:]
        lines.append(line)
    return "\n".join(lines)
