"""Locks and times of expiry of the real program: many clients at once, crashes, both protocols, and
a wall clock that somebody sets."""

import json
import threading
import time
import unittest

from clients import Beanstalk, Faktory
from clocks import ClockTest
from program import ServerTest, free_port, wait_until
from web import Web

CLIENTS = 64
NOT_UNIQUE = "NOTUNIQUE Job not unique"


def unique(jid, **custom):
    return {"jid": jid, "jobtype": "T", "args": [1], "queue": "q",
            "custom": {"unique_for": 60, **custom}}


class LocksTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.running = self.server()
        self.running.web_address = ("127.0.0.1", free_port())
        self.running.start()

    def faktory(self):
        return self.open(Faktory(self.running.faktory_address))

    def replies_at_once(self, line_of):
        """What all clients are told whose lines arrive together."""
        clients = [self.faktory() for _ in range(CLIENTS)]
        replies = [None] * CLIENTS
        starts = threading.Barrier(CLIENTS)

        def push(number):
            starts.wait()
            replies[number] = clients[number].command(line_of(number))

        threads = [threading.Thread(target=push, args=(n,), daemon=True) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        return replies

    def test_of_64_clients_at_once_one_has_the_lock(self):
        replies = self.replies_at_once(lambda n: "PUSH " + json.dumps(unique(f"client-{n:03}")))
        self.assertEqual(replies.count("+OK"), 1)
        self.assertEqual(replies.count("-" + NOT_UNIQUE), CLIENTS - 1)

    def test_of_64_clients_at_once_one_has_the_lock_with_pushb(self):
        replies = self.replies_at_once(
            lambda n: "PUSHB " + json.dumps([unique(f"client-{n:03}")]))
        refused = [json.loads(reply) for reply in replies]
        self.assertEqual(refused.count({}), 1)
        for number, reply in enumerate(refused):
            if reply:
                self.assertEqual(reply, {f"client-{number:03}": NOT_UNIQUE})

    def test_what_a_beanstalk_client_puts_is_no_unique_job(self):
        client = self.faktory()
        self.assertEqual(client.command("PUSH " + json.dumps(unique("first-one"))), "+OK")
        tube = self.open(Beanstalk(self.running.beanstalk_address))
        tube.command("use q")
        self.assertIsInstance(tube.put(json.dumps(unique("second-one")).encode()), int)
        again = client.command("PUSH " + json.dumps(unique("third-one")))
        self.assertEqual(again, "-" + NOT_UNIQUE)


    def test_dead_jobs_whose_retries_are_spread_have_their_locks(self):
        client = self.faktory()
        jobs = [unique(f"first-one-{n}", unique_for=600) | {"args": [n]} for n in range(3)]
        for job in jobs:
            self.assertEqual(client.command("PUSH " + json.dumps(job)), "+OK")
        web = Web(self.running.web_address)
        for state, action in (("ready", "kill"), ("dead", "retry")):
            wanted = {"action": action, "states": [state]}
            if action == "retry":
                wanted["spread_s"] = 3600
            _, begun = web.post("/api/v1/operations", wanted)
            wait_until(lambda at=f"/api/v1/operations/{begun['id']}":
                       web.read(at)["phase"] == "done", "the end of the operation")
        for job in jobs:
            again = client.command("PUSH " + json.dumps(job | {"jid": "second-one"}))
            self.assertEqual(again, "-" + NOT_UNIQUE)

    def test_a_dead_job_stays_while_another_one_has_its_lock(self):
        client = self.faktory()
        self.assertEqual(client.command("PUSH " + json.dumps(unique("first-one"))), "+OK")
        web = Web(self.running.web_address)
        self.assertEqual(web.post("/api/v1/jobs/1/kill")[0], 200)
        self.assertEqual(client.command("PUSH " + json.dumps(unique("second-one"))), "+OK")
        status, refused = web.post("/api/v1/jobs/1/retry")
        self.assertEqual((status, refused["code"]), (409, "not_unique"))
        self.assertEqual(web.read("/api/v1/jobs/1")["state"], "dead")


class TimesTest(ClockTest):
    """The server's wall clock is that of the test."""

    def setUp(self):
        super().setUp()
        self.running = self.server(env=self.clock_env)
        self.running.start()
        self.client = None
        self.connect()

    def connect(self):
        self.client = self.open(Faktory(self.running.faktory_address, wid="worker-1"))

    def crash(self, seconds):
        """The server is killed, and starts again so much later."""
        self.running.kill()
        self.set_ahead(seconds)
        self.running.start()
        self.connect()

    def push(self, jid, **custom):
        return self.client.command("PUSH " + json.dumps(
            {"jid": jid, "jobtype": "T", "args": [], "queue": "q", "custom": custom}))

    def waiting(self):
        return self.client.info()["faktory"]["queues"].get("q", 0)

    def test_a_lock_is_there_after_a_crash_until_its_time_is_over(self):
        self.assertEqual(self.push("first-one", unique_for=600), "+OK")
        self.crash(500)
        self.assertEqual(self.push("second-one", unique_for=600), "-" + NOT_UNIQUE)
        self.crash(601)
        self.assertEqual(self.push("second-one", unique_for=600), "+OK")
        self.assertEqual(self.push("third-one", unique_for=600), "-" + NOT_UNIQUE)

    def test_what_expired_while_the_server_was_down_is_not_handed_out(self):
        self.assertEqual(self.push("expired-1", expires_in=600), "+OK")
        self.assertEqual(self.push("lives-long", expires_in=6000), "+OK")
        self.crash(601)
        self.assertEqual(self.client.fetch("q")["jid"], "lives-long")
        self.assertEqual(self.waiting(), 0)

    def test_what_was_dropped_stays_dropped(self):
        self.assertEqual(self.push("expired-1", expires_in=600), "+OK")
        self.crash(601)
        wait_until(lambda: self.waiting() == 0, "the end of the job")
        self.crash(0)
        self.assertEqual(self.waiting(), 0)
        self.assertIsNone(self.client.fetch("q"))

    def test_a_clock_that_is_set_back_lets_a_job_live_longer(self):
        self.assertEqual(self.push("lives-long", expires_in=5), "+OK")
        self.set_ahead(-3600)
        time.sleep(6)
        self.assertEqual(self.client.fetch("q")["jid"], "lives-long")


if __name__ == "__main__":
    unittest.main()
