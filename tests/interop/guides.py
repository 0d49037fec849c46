"""The applications of docs/guides: their files, commands and jobs are the blocks of code on the
page, and nothing else but what a framework's own generator writes. Only ports are changed."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from functools import partial

from examples import DOCS, SECONDS_MAX, Example, total
from programs import STOP_SECONDS_MAX
from servers import serving, wait_until

FOLDER = "guides"
WORDS_MAX = 350
FENCE = re.compile(r"^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The first line of a file names it; `, at the end` and ", in `LINE`" say where its rest belongs.
PLACE = re.compile(r"(?:#|//|<\?php //) ([\w./-]*\.\w+)(?:, (at the end|in `(.+)`))?\n")
# A command with what it is: `go run . # worker`.
RUN = re.compile(r"(\S.*?) +# (worker|push)\b")


class Guide:
    """What a page says: `files` by path, commands to install and build, and those to run."""

    def __init__(self, guide):
        with open(os.path.join(DOCS, FOLDER, guide.file), encoding="utf-8") as file:
            text = file.read()
        if guide.section:
            text = re.search(rf"^## {guide.section}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
        self.files, self.install, self.build, self.worker, self.pushes = [], [], [], "", []
        for block in FENCE.findall(text):
            place = PLACE.match(block)
            if place:
                self.files.append((place, block))
            elif RUN.search(block):
                self.add_commands(block.splitlines())
            else:
                self.install += block.splitlines()

    def add_commands(self, lines):
        for line in lines:
            run = RUN.match(line)
            if not run:
                self.build.append(line)
            elif run[2] == "worker":
                self.worker = run[1]
            else:
                self.pushes.append(run[1])

    def write(self, folder, port):
        for place, block in self.files:
            path, how, line = os.path.join(folder, place[1]), place[2], place[3]
            block = block.replace("11300", str(port))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if how:
                add(path, block[place.end() :], line)
            else:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(block)

    @property
    def entered(self):
        """What each shell does first, to be in an environment that was installed."""
        return [line for line in self.install if line.startswith(". ")]


def add(path, block, line):
    """At the end, or after a line that has that text."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    at = len(text)
    if line:
        assert line in text, f"{path} has no {line}"
        at = text.index("\n", text.index(line)) + 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:at] + block + text[at:])


def run_guide(guide):
    """Push and work; a failing job is retried; SIGTERM ends the worker, which holds no job."""
    page = Guide(guide)
    with (
        serving() as server,
        tempfile.TemporaryDirectory(prefix="millrace-guide-") as parent,
    ):
        folder = os.path.join(parent, "greeter")
        environment = {**server.environment(), **guide.environment_of(os.environ)}
        if guide.skeleton:
            shutil.copytree(os.path.join(guide.language.folder, guide.skeleton), folder)
        else:
            os.makedirs(folder)
            shell(page.install, folder, environment)
        page.write(folder, server.server.beanstalk_address[1])
        shell(page.entered + page.build, folder, environment)
        worker = Example(command(page, f"exec {page.worker}"), folder, environment)
        try:
            check(page, server, worker, partial(push, page, folder, environment))
            assert worker.process.returncode == guide.status, worker.process.returncode
        finally:
            worker.end()


def push(page, folder, environment, line):
    shell(page.entered + [line], folder, environment)


def check(page, server, worker, pushed):
    well, failing = page.pushes
    pushed(well)
    wait_until(lambda: worker.has_said("hello world"), "the first job", SECONDS_MAX)
    wait_until(lambda: total(server) == 0, "its end", 60)
    pushed(failing)
    wait_until(lambda: is_tried_again(server, worker), "a second try of the failing job", 60)
    wait_until(lambda: server.api("/overview")["jobs"]["reserved"] == 0, "its second failure", 60)
    worker.process.send_signal(signal.SIGTERM)
    worker.process.wait(STOP_SECONDS_MAX)
    assert server.api("/overview")["jobs"]["reserved"] == 0


def is_tried_again(server, worker):
    """Where the server waits with a retry, it is told not to."""
    for job in server.api("/jobs?state=retrying")["jobs"]:
        assert "nobody is there" in str(job["error"]), job
        server.change(f"/jobs/{job['id']}/retry")
    return worker.lines.count("hello nobody") > 1


def command(page, line):
    return ["sh", "-c", "\n".join(["set -e", *page.entered, line])]


def shell(lines, folder, environment):
    done = subprocess.run(
        ["sh", "-c", "\n".join(["set -e", *lines])],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
    )
    assert done.returncode == 0, f"{lines}\n{done.stdout[-4000:]}"


def check_guides(languages):
    """Each page is tried, and short."""
    tried = {guide.file for language in languages for guide in language.guides}
    pages = set(os.listdir(os.path.join(DOCS, FOLDER)))
    assert pages == tried, pages ^ tried
    for page in sorted(pages):
        with open(os.path.join(DOCS, FOLDER, page), encoding="utf-8") as file:
            words = len(file.read().split())
        assert words <= WORDS_MAX, f"{page} has {words} words"
