"""What the tests of `millrace import --faktory` share."""

import re
import subprocess

from clocks import ClockTest
from moving.redis_server import RedisServer
from program import PROGRAM, START_SECONDS_MAX, environment, free_port
from web import Web


class FaktoryImportTest(ClockTest):
    def redis(self, directory, *flags, **more):
        server = RedisServer(directory, *flags, **more)
        self.addCleanup(server.end)
        return server

    def run_import(self, source, *flags, into="data", env=None):
        return subprocess.run(
            [PROGRAM, "import", "--faktory", source, "--into", self.path(into), *flags],
            capture_output=True,
            env=environment({**self.clock_env, **(env or {})}),
            text=True,
            timeout=START_SECONDS_MAX,
        )

    def imported(self, source, *flags, status=0, **more):
        done = self.run_import(source, *flags, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def assert_not_imported(self, source, text, *flags, status=1, **more):
        """One line on stderr that matches `text`, and no directory."""
        done = self.run_import(source, *flags, **more)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertRegex(done.stderr, text)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def rows(self, report):
        """{(queue, state): [found, taken, why not]}"""
        lines = [re.split(r"  +", line) for line in report.splitlines()]
        return {(line[0], line[1]): line[2:] for line in lines if len(line) >= 4}

    def serving(self, data="data"):
        """A server on the data directory, and its web port."""
        server = self.server("--sync=off", env=self.clock_env, data=data)
        server.web_address = ("127.0.0.1", free_port())
        server.start()
        return server, Web(server.web_address)


def jobs_in(web, state):
    """The rows of all jobs in that state, in the order of the API."""
    found, cursor = [], ""
    while True:
        page = web.read(f"/api/v1/jobs?state={state}&limit=200{cursor}")
        found += page["jobs"]
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def body_of(web, row):
    """The bytes that a worker gets."""
    status, _, body = web.get(f"/api/v1/jobs/{row['id']}/body")
    assert status == 200, body
    return body
