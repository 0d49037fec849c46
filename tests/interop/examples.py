"""The programs of docs/clients and docs/features, started as they say; only ports are changed."""

import os
import re
import tempfile

from languages import ROOT
from programs import Process
from servers import serving, wait_until

DOCS = os.path.join(ROOT, "docs")
FOLDERS = ("clients", "features")
NO_PROGRAMS = (".md", ".toml")
# The first run of one may have to compile its libraries.
SECONDS_MAX = 300
# The limit in throttles.toml. No other program has more jobs.
AT_A_TIME_MAX = 2


class Example(Process):
    """A program that says what its header promises."""

    def __init__(self, *arguments):
        self.lines = []
        super().__init__(*arguments)

    def take(self, line):
        if line is not None:
            self.lines.append(line)

    def has_said(self, text):
        assert self.process.poll() in (None, 0), self.error_tail()
        # Maven leaves a colour behind, in front of it.
        return any(line.endswith(text) for line in self.lines)

    def most_at_a_time(self):
        """How many of its jobs had begun and not ended."""
        running = most = 0
        for line in self.lines:
            running += line.startswith("begin ") - line.startswith("end ")
            most = max(most, running)
        return most


def run_example(language, path):
    """Does what its header says, in an empty folder. A config file of its name is the server's."""
    more = language.examples.environment
    more = dict(zip(more, language.filled(more.values())))
    with (
        serving(config=config_of(path)) as server,
        tempfile.TemporaryDirectory(prefix="millrace-example-") as folder,
    ):
        text = read(path).replace("11300", str(server.server.beanstalk_address[1]))
        with open(os.path.join(folder, os.path.basename(path)), "w", encoding="utf-8") as file:
            file.write(text)
        shell = ["sh", "-c", " && ".join(commands(language, text))]
        example = Example(shell, folder, {**server.environment(), **more})
        said, unsaid = promised(text)
        try:
            for line in said:
                wait_until(lambda: example.has_said(line), f"the line {line}", SECONDS_MAX)
            wait_until(lambda: total(server) == 0, "the jobs are done", 60)
            assert not any(example.has_said(line) for line in unsaid), example.lines
            assert example.most_at_a_time() <= AT_A_TIME_MAX, example.lines
        finally:
            example.end()


def config_of(path):
    config = os.path.splitext(path)[0] + ".toml"
    return read(config) if os.path.exists(os.path.join(DOCS, config)) else ""


def promised(text):
    """The lines that its header says it prints, and those that it says it does not."""
    said = re.search(r"It prints (.*?)(, and not (.*?))?[.]", " ".join(header(text)))
    if not said:
        return ["hello world"], []
    return [re.findall("`(.*?)`", part or "") for part in said.group(1, 3)]


def read(path):
    with open(os.path.join(DOCS, path), encoding="utf-8") as file:
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


def programs():
    """All that there are in the folders."""
    names = [f"{folder}/{name}" for folder in FOLDERS for name in os.listdir(f"{DOCS}/{folder}")]
    return {name for name in names if not name.endswith(NO_PROGRAMS)}


def check_complete(languages):
    """Every example belongs to a language, so that none is left untried; it and the table name the
    versions that are tried."""
    tried = {name for language in languages for name in language.examples.files}
    assert programs() == tried, programs() ^ tried
    table = read("clients.md")
    for language in languages:
        for library in language.faktory + language.beanstalk:
            assert library.number in table, f"{library.name} {library.number} is not in the table"
        for path in language.examples.files:
            is_beanstalk = os.path.basename(path).lower().startswith("beanstalk.")
            protocol = language.beanstalk if is_beanstalk else language.faktory
            said = " ".join(header(read(path)))
            is_named = any(library.number in said for library in protocol)
            assert is_named or "apt-get install" in said, f"{path} names no version that is tried"


def total(server):
    return sum(server.api("/overview")["jobs"].values())
