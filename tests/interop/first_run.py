"""The programs that the web UI shows on a new server, as they stand there. Libraries are those that
are installed for the other cases."""

import json
import os
import subprocess
import tempfile

from examples import SECONDS_MAX, Example, total
from languages import ROOT
from servers import serving, wait_until

PROGRAMS = os.path.join(ROOT, "web", "pages", "first_programs.js")
PRINT = """
const [url, address] = process.argv.slice(2);
const programs = CLIENTS.map(([name, , program]) => [name, program(url, address)]);
console.log(JSON.stringify({ job: TEST_JOB, programs: Object.fromEntries(programs) }));
"""


def shown(url, address):
    """The test job, and each program by the name of its language, for a server that is there."""
    with open(PROGRAMS, encoding="utf-8") as file:
        script = file.read() + PRINT
    command = ["node", "--input-type=module", "-", url, address]
    return json.loads(subprocess.check_output(command, input=script, text=True))


def run_first(language):
    """Starts the program by the command in its first line; it does the test job."""
    first = language.first_run
    with serving() as server, tempfile.TemporaryDirectory(prefix="millrace-first-") as folder:
        environment = server.environment()
        page = shown(environment["FAKTORY_URL"], environment["BEANSTALKD_URL"])
        program = page["programs"][first.name]
        command = program.splitlines()[0].lstrip("#/ ")
        with open(os.path.join(folder, command.split()[-1]), "w", encoding="utf-8") as file:
            file.write(program)
        if first.is_pushed:
            server.change("/jobs", page["job"])
        example = Example(["sh", "-c", command], first.prepared(folder), first.environment)
        try:
            wait_until(lambda: example.has_said("hello world"), "hello world", SECONDS_MAX)
            wait_until(lambda: total(server) == 0, "the job is done", 60)
        finally:
            example.end()


def check_all_run(languages):
    """Each program is one of a language here."""
    run = {language.first_run.name for language in languages if language.first_run}
    programs = shown("tcp://127.0.0.1:1", "127.0.0.1:1")["programs"]
    assert set(programs) == run, set(programs) ^ run
