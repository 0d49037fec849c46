"""Delays of retries in the real program: the config file, SIGHUP, crashes, and a job's own."""

import json
import signal
import subprocess
import time
import unittest

from clients import Faktory
from program import PROGRAM, ServerTest, free_port, wait_until
from web import Web

MAIL = '[[retry]]\ntype = "Mail*"\ndelays = ["1s", "2s", "10m"]\n'


class RetryTest(ServerTest):
    def start(self, text):
        self.config = self.path("config.toml")
        self.write(text)
        server = self.server(f"--config={self.config}")
        server.web_address = ("127.0.0.1", free_port())
        return server.start()

    def write(self, text):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text)

    def reload(self, server, text, event="reloaded"):
        self.write(text)
        before = len(server.error_text())
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: event in server.error_text()[before:], event)
        return server.error_text()[before:]

    def worker(self, server):
        return self.open(Faktory(server.faktory_address, "w"))

    def push(self, worker, jid, jobtype="MailUser", **more):
        job = {"jid": jid, "jobtype": jobtype, "queue": "q", "args": [], **more}
        self.assertEqual(worker.command("PUSH " + json.dumps(job)), "+OK")

    def fail(self, worker, jid):
        """Fetches the job, and lets it fail."""
        # A FETCH waits for two seconds, and a delay may be as long.
        unit = worker.fetch("q") or worker.fetch("q")
        self.assertEqual(unit["jid"], jid)
        failure = {"jid": jid, "errtype": "E", "message": "m", "backtrace": []}
        self.assertEqual(worker.command("FAIL " + json.dumps(failure)), "+OK")

    def error(self, server):
        web = Web(server.web_address)
        (row,) = web.read("/api/v1/jobs?state=retrying")["jobs"]
        return web.read(f"/api/v1/jobs/{row['id']}")["error"]

    def test_the_delays_of_the_file_and_the_reason(self):
        server = self.start(MAIL)
        worker = self.worker(server)
        self.push(worker, "job-number-1")
        begin = time.monotonic()
        self.fail(worker, "job-number-1")
        why = f"retry 1 of 25, 1 s after the failure: [[retry]] at {self.config}:1"
        self.assertEqual(self.error(server)["next_why"], why)
        self.fail(worker, "job-number-1")
        self.assertGreater(time.monotonic() - begin, 1)
        address = f"http://127.0.0.1:{server.web_address[1]}"
        shown = subprocess.run(
            [PROGRAM, "peek", "job-number-1", "--url", address], capture_output=True, text=True
        )
        self.assertIn("retry 2 of 25, 2 s after the failure", shown.stdout, shown.stderr)
        self.fail(worker, "job-number-1")
        self.assertGreater(time.monotonic() - begin, 3)
        self.assertIn("retry 3 of 25, 600 s", self.error(server)["next_why"])

    def test_what_was_decided_outlives_a_reload_and_a_crash(self):
        server = self.start(MAIL.replace('"1s", ', ""))
        worker = self.worker(server)
        self.push(worker, "job-number-1")
        self.fail(worker, "job-number-1")
        planned = self.error(server)["next_at"]
        self.reload(server, MAIL.replace('"1s"', '"1h"'))
        self.assertEqual(self.error(server)["next_at"], planned)
        self.assertEqual(self.error(server)["next_why"], "retry 1 of 25, 2 s after the failure")
        server.kill()
        server.start()
        worker = self.worker(server)
        self.fail(worker, "job-number-1")
        self.assertIn("retry 2 of 25, 2 s", self.error(server)["next_why"])

    def test_the_delays_of_a_job_win(self):
        server = self.start(MAIL)
        worker = self.worker(server)
        self.push(worker, "job-number-1", custom={"retry_delays": ["1h", 60]})
        self.fail(worker, "job-number-1")
        why = "retry 1 of 25, 3600 s after the failure: custom.retry_delays"
        self.assertEqual(self.error(server)["next_why"], why)

    def test_a_mistake_changes_nothing(self):
        server = self.start(MAIL)
        wrong = self.reload(server, MAIL + "x = 1\n", "reload_failed")
        self.assertIn(f"{self.config}:4: unknown key 'x' in retry", wrong)
        worker = self.worker(server)
        self.push(worker, "job-number-1")
        self.fail(worker, "job-number-1")
        self.assertIn("1 s after the failure", self.error(server)["next_why"])
        server.terminate()
        self.assert_refused(server.arguments(), "config.toml:4: unknown key 'x' in retry")


if __name__ == "__main__":
    unittest.main()
