"""`millrace tail`: what happens to jobs is printed while it happens."""

import json
import queue
import signal
import subprocess
import threading
import time
import unittest

from clients import Beanstalk, Faktory
from program import PROGRAM, environment, forward, start_kept, wait_until
from terminal.test_cli import CliTest

SECONDS_MAX = 120


class TailTest(CliTest):
    def tail(self, *flags):
        process = start_kept(
            [PROGRAM, "tail", *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment({"MILLRACE_URL": self.url}),
            text=True,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.lines = queue.Queue()
        forwarding = (process.stdout, self.lines)
        threading.Thread(target=forward, args=forwarding, daemon=True).start()
        return process

    def until(self, *wanted):
        """The lines up to that with the last of these words."""
        lines, missing = [], set(wanted)
        while missing:
            lines.append(self.lines.get(timeout=SECONDS_MAX))
            self.assertIsNotNone(lines[-1], lines)
            missing -= {word for word in missing if word in lines[-1]}
        return lines

    def begin(self, server, *flags):
        """The first look tells nothing. A job that comes again and again shows that it is over."""
        process = self.tail(*flags)
        tube = self.open(Beanstalk(server.beanstalk_address))
        tube.command("use begin")

        def has_begun():
            tube.put(b"x")
            return not self.lines.empty()

        wait_until(has_begun, "it tells of jobs")
        return process

    def end(self, server_or_process):
        if not isinstance(server_or_process, subprocess.Popen):
            return super().end(server_or_process)
        server_or_process.send_signal(signal.SIGINT)
        self.assertEqual(server_or_process.wait(SECONDS_MAX), 0)

    def test_each_step_of_a_job_is_told(self):
        server = self.serve()
        self.push("Old", "[]", "--queue=old")
        process = self.begin(server)
        self.push("Mail", "[]", "--queue=mail")
        self.until("Mail  job")
        worker = self.open(Faktory(server.faktory_address, wid="worker-1"))
        jid = worker.fetch("mail")["jid"]
        (*_, begun) = self.until("begun")
        self.assertRegex(begun, r"^\d\d:\d\d:\d\d  begun      mail  Mail  job \d+  by worker-1$")
        worker.command("ACK " + json.dumps({"jid": jid}))
        (*_, done) = self.until("done")
        self.assertRegex(done, r"  done       mail  Mail  job \d+  by worker-1$")
        self.fail_job(server, "dies-0001", retry=-1)
        self.fail_job(server, "fails-001")
        self.push("Later", "[]", "--at=+1h")
        lines = self.until("dead", "failed", "scheduled")
        self.assertTrue(any("Net: timeout after 5 s" in line for line in lines))
        self.assertFalse(any("Old" in line for line in lines))
        self.end(process)

    def test_filters_and_json(self):
        server = self.serve()
        process = self.begin(server, "--json", "--queue=b*")
        self.push("Mail", "[]", "--queue=other")
        self.push("Mail", "[]", "--queue=both")
        (*_, line) = self.until('"both"')
        event = json.loads(line)
        self.assertEqual((event["event"], event["job"]["queue"]), ("ready", "both"))
        self.end(process)
        while (line := self.lines.get(timeout=SECONDS_MAX)) is not None:
            self.assertNotIn('"other"', line)

    def test_ctrl_c_ends_it_while_the_server_does_not_answer(self):
        server = self.serve()
        process = self.begin(server)
        server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(server.process.send_signal, signal.SIGCONT)
        time.sleep(1.5)  # it asks every second
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(5), 0)

    def test_a_server_that_ends_ends_it(self):
        server = self.serve()
        process = self.begin(server)
        server.terminate()
        self.assertEqual(process.wait(SECONDS_MAX), 3)
        self.assertEqual(len(process.stderr.read().splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
