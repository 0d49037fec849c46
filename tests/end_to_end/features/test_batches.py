"""Batches of the real program at full size."""

import json
import unittest

from clients import Faktory
from program import ServerTest

PUSHED = 1000
REFUSED = {
    "member-0007": "NOTUNIQUE Job not unique",  # a job outside of the batch holds the lock
    "member-0500": "NOTUNIQUE Job not unique",  # an earlier member does
    "member-0999": "jobs must have an args parameter",
}
TAKEN = PUSHED - len(REFUSED)


class BulkTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.running = self.server()
        self.running.start()
        self.client = None
        self.connect()
        self.bid = self.client.command("BATCH NEW " + json.dumps({
            "complete": {"jid": "complete-1", "jobtype": "C", "args": [], "queue": "callbacks"},
            "success": {"jid": "success-1", "jobtype": "S", "args": [], "queue": "callbacks"}}))

    def connect(self):
        self.client = self.open(Faktory(self.running.faktory_address, wid="worker-1"))

    def status(self):
        return json.loads(self.client.command("BATCH STATUS " + self.bid))

    def counters(self):
        status = self.status()
        return status["total"], status["pending"], status["failed"]

    def job(self, number, **custom):
        return {"jid": f"member-{number:04}", "jobtype": "T", "args": [number], "queue": "q",
                "custom": {"bid": self.bid, **custom}}

    def bulk(self):
        """The jobs, of which three are refused."""
        jobs = [self.job(number) for number in range(PUSHED)]
        jobs[7] = self.job(7, unique_for=600)
        jobs[400] = self.job(400, unique_for=600)
        jobs[500] = {**self.job(500, unique_for=600), "args": [400]}
        del jobs[999]["args"]
        return jobs

    def push_bulk(self):
        outside = {**self.job(7, unique_for=600), "jid": "no-member"}
        del outside["custom"]["bid"]
        self.assertEqual(self.client.command("PUSH " + json.dumps(outside)), "+OK")
        return json.loads(self.client.command("PUSHB " + json.dumps(self.bulk())))

    def run_all(self, queue):
        """The jids of the jobs that it had."""
        jids = []
        while self.client.info()["faktory"]["queues"].get(queue, 0) > 0:
            jids.append(self.client.fetch(queue)["jid"])
            self.client.ack(jids[-1])
        return jids

    def test_of_a_pushb_of_1000_the_3_that_are_refused_are_not_counted(self):
        self.assertEqual(self.push_bulk(), REFUSED)
        self.assertEqual(self.counters(), (TAKEN, TAKEN, 0))

    def test_the_batch_succeeds_without_them_also_after_a_crash(self):
        self.push_bulk()
        self.running.kill()
        self.running.start()
        self.connect()
        self.assertEqual(self.counters(), (TAKEN, TAKEN, 0))
        self.assertEqual(self.client.command("BATCH COMMIT " + self.bid), "+OK")
        ran = self.run_all("q")
        self.assertEqual(len(ran), TAKEN + 1)
        self.assertFalse(set(ran) & set(REFUSED))
        self.assertEqual(self.counters(), (TAKEN, 0, 0))
        self.assertEqual(self.run_all("callbacks"), ["complete-1", "success-1"])
        status = self.status()
        self.assertEqual((status["complete_st"], status["success_st"]), ("2", "2"))


if __name__ == "__main__":
    unittest.main()
