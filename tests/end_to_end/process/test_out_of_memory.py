"""Without memory the server ends at once, and its log has everything that it acknowledged."""

import json
import os
import resource
import subprocess
import unittest

from clients import Beanstalk, Faktory, Gone
from preloaded import Countdown
from program import PROGRAM, STOP_SECONDS_MAX, ServerTest

LINE = "millrace: out of memory\n"
MEBIBYTE = 1 << 20


class FailingAllocationTest(ServerTest):
    """Each allocation of a command fails once."""

    def setUp(self):
        super().setUp()
        self.allocations = Countdown(self, "failing_allocation")
        self.one = self.server()
        self.one.env = self.allocations.env

    def fail_each(self, prepare, command):
        """Runs the command with one allocation more each time, until all that it makes have failed
        once. It is given what `prepare` answers. Answers what came of each: None, or the reply."""
        replies = []
        while True:
            self.one.start()
            made = prepare(len(replies))
            self.allocations.let(len(replies) + 1)
            try:
                replies.append(command(made))
            except Gone:
                replies.append(None)
                self.allocations.let(0)
                # Not after a while, in which it could go on with half of a change.
                self.assertEqual(self.one.process.wait(STOP_SECONDS_MAX), 1)
                self.assertEqual(self.one.error_text().splitlines()[-1:], [LINE.strip()])
                continue
            if self.allocations.let(0) > 0:
                break
            # It failed behind the reply.
            self.one.process.wait(STOP_SECONDS_MAX)
        self.one.kill()
        self.assertGreater(len(replies), 2)
        check = subprocess.run([PROGRAM, "check", self.one.data], capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        self.one.start()
        return replies

    def beanstalk(self):
        return self.open(Beanstalk(self.one.beanstalk_address))

    def faktory(self, wid=None):
        return self.open(Faktory(self.one.faktory_address, wid))

    def reserved(self):
        """The bodies of all jobs that are ready."""
        client = self.beanstalk()
        bodies = []
        while job := client.reserve():
            bodies.append(job[1])
        return bodies

    def test_put(self):
        body = b"b" * 3000

        def put(client):
            return client.put(body + str(len(body)).encode())

        replies = self.fail_each(lambda _: self.beanstalk(), put)
        bodies = self.reserved()
        self.assertGreaterEqual(len(bodies), sum(reply is not None for reply in replies))
        self.assertLessEqual(len(bodies), len(replies))

    def test_push(self):
        def push(made):
            client, number = made
            return client.push(f"job-{number:04}", args=["a" * 3000], custom={"track": 1})

        replies = self.fail_each(lambda number: (self.faktory(), number), push)
        jids = {json.loads(body)["jid"] for body in self.reserved()}
        for number, reply in enumerate(replies):
            self.assertIn(reply, (None, "+OK"))
            if reply:
                self.assertIn(f"job-{number:04}", jids)

    def test_ack(self):
        def fetch(number):
            jid = f"job-{number:04}"
            client = self.faktory("worker")
            self.assertEqual(client.push(jid, queue=jid), "+OK")
            self.assertEqual(json.loads(client.command(f"FETCH {jid}"))["jid"], jid)
            return client, jid

        def ack(made):
            client, jid = made
            return client.command("ACK " + json.dumps({"jid": jid}))

        replies = self.fail_each(fetch, ack)
        info = json.loads(self.faktory().command("INFO"))
        acknowledged = sum(reply == "+OK" for reply in replies)
        self.assertGreaterEqual(info["faktory"]["total_processed"], acknowledged)
        self.assertLessEqual(info["faktory"]["total_processed"], len(replies))

    def test_batch_commit(self):
        def fill(number):
            client = self.faktory("worker")
            callback = {"jid": f"callback-{number:04}", "jobtype": "Callback", "args": []}
            bid = client.command("BATCH NEW " + json.dumps({"success": callback}))
            # In a queue of its own: callbacks of former runs are in `default`.
            jid = f"member-{number:04}"
            self.assertEqual(client.push(jid, queue=jid, custom={"bid": bid}), "+OK")
            self.assertEqual(json.loads(client.command(f"FETCH {jid}"))["jid"], jid)
            self.assertEqual(client.command("ACK " + json.dumps({"jid": jid})), "+OK")
            return client, bid

        def commit(made):
            client, bid = made
            return client.command(f"BATCH COMMIT {bid}")

        replies = self.fail_each(fill, commit)
        jids = {json.loads(body)["jid"] for body in self.reserved()}
        for number, reply in enumerate(replies):
            self.assertIn(reply, (None, "+OK"))
            if reply:
                self.assertIn(f"callback-{number:04}", jids)


class LittleMemoryTest(ServerTest):
    """The system gives a running server only so many bytes more."""

    def limit(self, server, more):
        with open(f"/proc/{server.process.pid}/statm") as file:
            pages = int(file.read().split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + more
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, (limit, limit))

    def test_the_server_ends_with_one_line_and_keeps_what_it_acknowledged(self):
        server = self.server("--max-job-size=1000000").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        self.limit(server, 64 * MEBIBYTE)
        acknowledged = 0
        with self.assertRaises(Gone):
            while client.put(b"b" * 100_000):
                acknowledged += 1
        self.assertEqual(server.process.wait(STOP_SECONDS_MAX), 1)
        self.assertTrue(server.error_text().endswith(LINE), server.error_text())
        self.assertGreater(acknowledged, 100)
        server.start()
        client = self.open(Beanstalk(server.beanstalk_address))
        self.assertGreaterEqual(int(client.stats()["current-jobs-ready"]), acknowledged)

    def test_a_put_longer_than_the_memory_is_refused(self):
        size = 256 * MEBIBYTE
        server = self.server(f"--max-job-size={size}").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        self.limit(server, 64 * MEBIBYTE)
        self.assertEqual(client.put(bytes(size)), "OUT_OF_MEMORY")
        self.assertEqual(client.put(b"short"), 1)
        self.assertEqual(server.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
