"""The examples of the README and of docs/quick-start.md work as they are pasted."""

import json
import os
import re
import subprocess
import sys
import unittest

from clients import Faktory
from program import ServerTest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The beginning of the second example in bash of the quick start.
BOTH_PROTOCOLS = "exec 3<>/dev/tcp/127.0.0.1/11300\n"


class ExampleTest(ServerTest):
    page = None

    def snippet(self, language, start=""):
        """The first one in that language that begins like this."""
        with open(os.path.join(ROOT, self.page), encoding="utf-8") as file:
            for found in re.findall(rf"```{language}\n(.*?)```", file.read(), re.DOTALL):
                if found.startswith(start):
                    return found
        self.fail(f"{self.page} has no such example in {language}")

    def check_is_program(self, language, path):
        """It is that program of docs/clients, which the interop tests run, without its header."""
        with open(os.path.join(ROOT, "docs/clients", path), encoding="utf-8") as file:
            program = re.sub(r"^((//|#).*\n)+", "", file.read())
        self.assertEqual(self.snippet(language), program)

    def run_snippet(self, language, server, *command, start=""):
        """Runs the page's snippet in that language, on the test's own ports; its output."""
        snippet = self.snippet(language, start)
        snippet = snippet.replace("11300", str(server.beanstalk_address[1]))
        snippet = snippet.replace("7419", str(server.faktory_address[1]))
        done = subprocess.run(
            command, input=snippet, capture_output=True, text=True, timeout=30, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split("\n")[:-1]


class ReadmeTest(ExampleTest):
    page = "README.md"

    def test_python(self):
        self.check_is_program("python", "both.py")


class QuickStartTest(ExampleTest):
    page = "docs/quick-start.md"

    def busy_server(self):
        """The queue that nobody names has a job of somebody else's, which must stay."""
        server = self.server().start()
        pusher = self.open(Faktory(server.faktory_address))
        pusher.push(jid="of-others", jobtype="Mail")
        self.addCleanup(lambda: self.assertEqual(pusher.info()["faktory"]["queues"]["default"], 1))
        return server

    def test_python(self):
        said = self.run_snippet("python", self.busy_server(), sys.executable)
        self.assertEqual(said, ["INSERTED 2", "RESERVED 2 5", "hello", "DELETED"])

    def test_bash(self):
        server = self.busy_server()
        said = self.run_snippet("bash", server, "bash")
        self.assertEqual(said[:3], ['+HI {"v":2}', "+OK", "+OK"])
        self.assertEqual(json.loads(said[4])["jobtype"], "Greet")
        self.assertEqual(said[5:], ["+OK", "+OK"])
        info = self.open(Faktory(server.faktory_address)).info()
        self.assertEqual(info["faktory"]["total_processed"], 1)

    def test_ruby(self):
        said = self.run_snippet("ruby", self.busy_server(), "ruby")
        self.assertEqual(said, ['{"to": "you"}'])

    def test_javascript(self):
        self.check_is_program("javascript", "faktory.js")

    def test_a_job_is_put_by_one_protocol_and_fetched_by_the_other(self):
        server = self.server().start()
        for number in (1, 2):  # whoever tries it again has an older data directory
            said = self.run_snippet("bash", server, "bash", start=BOTH_PROTOCOLS)
            self.assertEqual(said[:4], ["USING mail", f"INSERTED {number}", '+HI {"v":2}', "+OK"])
            job = json.loads(said[-3])
            self.assertEqual((job["jobtype"], job["args"]), ("beanstalk", ["hello"]))
            self.assertEqual(said[-2:], ["+OK", "+OK"])
        info = self.open(Faktory(server.faktory_address)).info()
        self.assertEqual(info["faktory"]["total_processed"], 2)


if __name__ == "__main__":
    unittest.main()
