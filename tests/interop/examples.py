"""The examples of docs/clients.md, run as they stand there but for the ports."""

import os

from languages import ROOT
from programs import Process
from servers import serving, wait_until

CLIENTS = os.path.join(ROOT, "docs", "clients")
# The first run of one may have to compile it.
SECONDS_MAX = 180


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
        return "hello world" in self.lines


def run_example(language, name, command):
    with serving() as server:
        file = with_ports_of(server, name, os.path.join(language.build, "examples"))
        command = language.filled([command])[0].replace("{file}", file)
        shell = ["sh", "-c", command]
        example = Example(shell, language.folder, server.environment())
        try:
            wait_until(example.has_greeted, "a greeting", SECONDS_MAX)
            wait_until(lambda: total(server) == 0, "the job is done")
        finally:
            example.end()


def check_complete(languages):
    """Every example belongs to a language, so that none is left untried."""
    tried = {name for language in languages for name in language.examples}
    assert set(os.listdir(CLIENTS)) == tried, set(os.listdir(CLIENTS)) ^ tried


def total(server):
    return sum(server.api("/overview")["jobs"].values())


def with_ports_of(server, name, folder):
    """A copy of the example in the folder, whose default ports are the server's."""
    with open(os.path.join(CLIENTS, name), encoding="utf-8") as file:
        text = file.read()
    text = text.replace("11300", str(server.server.beanstalk_address[1]))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
