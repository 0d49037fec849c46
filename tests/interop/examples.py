"""The examples of docs/clients.md, started as they say; nothing is changed but ports."""

import os
import re
import tempfile

from languages import ROOT
from programs import Process
from servers import serving, wait_until

CLIENTS = os.path.join(ROOT, "docs", "clients")
# The first run of one may have to compile its libraries.
SECONDS_MAX = 300


class Example(Process):
    """A program that is to say `hello world`."""

    def __init__(self, *arguments):
        self.lines = []
        super().__init__(*arguments)

    def take(self, line):
        if line is not None:
            self.lines.append(line)

    def has_greeted(self):
        assert self.process.poll() in (None, 0), self.error_tail()
        # Maven leaves a colour behind, in front of it.
        return any(line.endswith("hello world") for line in self.lines)


def run_example(language, name):
    """Does what its header says, in an empty folder."""
    more = language.examples.environment
    more = dict(zip(more, language.filled(more.values())))
    with serving() as server, tempfile.TemporaryDirectory(prefix="millrace-example-") as folder:
        text = read(name).replace("11300", str(server.server.beanstalk_address[1]))
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        shell = ["sh", "-c", " && ".join(commands(language, text))]
        example = Example(shell, folder, {**server.environment(), **more})
        try:
            wait_until(example.has_greeted, "a greeting", SECONDS_MAX)
            wait_until(lambda: total(server) == 0, "the job is done")
        finally:
            example.end()


def read(name):
    with open(os.path.join(CLIENTS, name), encoding="utf-8") as file:
        return file.read()


def header(text):
    """The lines of the comment that a program begins with, without what makes them one."""
    comment = re.search(r"^((?://|#).*\n)+", text, re.MULTILINE).group()
    return [re.sub(r"^(//|#) ?", "", line) for line in comment.splitlines()]


def commands(language, text):
    """Those lines that are indented. Debian's packages are here already."""
    lines = [line.strip() for line in header(text) if line.startswith("  ")]
    for line in lines:
        if line.startswith("apt-get install "):
            unknown = set(line.split()[2:]) - set(language.said["packages"])
            assert not unknown, f"not in interop.toml: {unknown}"
    return [line for line in lines if not line.startswith("apt-get ")]


def check_complete(languages):
    """Every example belongs to a language, so that none is left untried; it and the table name the
    versions that are tried."""
    tried = {name for language in languages for name in language.examples.files}
    assert set(os.listdir(CLIENTS)) == tried, set(os.listdir(CLIENTS)) ^ tried
    with open(CLIENTS + ".md", encoding="utf-8") as file:
        table = file.read()
    for language in languages:
        for library in language.faktory + language.beanstalk:
            assert library.number in table, f"{library.name} {library.number} is not in the table"
        for name in language.examples.files:
            protocol = language.faktory if name.startswith("faktory.") else language.beanstalk
            said = " ".join(header(read(name)))
            is_named = any(library.number in said for library in protocol)
            assert is_named or "apt-get install" in said, f"{name} names no version that is tried"


def total(server):
    return sum(server.api("/overview")["jobs"].values())
