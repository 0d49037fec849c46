"""Somebody sets the wall clock under a running server. It is the clock of that process alone."""

import time
import unittest
from datetime import datetime, timedelta, timezone

from clients import Beanstalk, Faktory
from clocks import ClockTest
from program import free_port, wait_until
from web import Web

HOURS_5 = 5 * 3600


class WallClockTest(ClockTest):
    def setUp(self):
        super().setUp()
        self.running = self.server(env=self.clock_env)
        self.running.web_address = ("127.0.0.1", free_port())

    def step(self, seconds):
        """Sets it, and returns when the server has noticed."""
        logged = self.running.error_text().count("clock_step")
        begun = time.monotonic()
        self.set_ahead(seconds)
        wait_until(
            lambda: self.running.error_text().count("clock_step") > logged, "a look at the clock"
        )
        return time.monotonic() - begun

    def metric(self, name):
        text = Web(self.running.web_address).get("/metrics")[2].decode()
        return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(name))

    def push_in(self, client, jid, seconds, queue="default"):
        at = datetime.now(timezone.utc) + timedelta(seconds=seconds)
        self.assertEqual(client.push(jid, queue, at=at.isoformat()), "+OK")

    def clients(self):
        worker = self.open(Faktory(self.running.faktory_address, wid="worker-1"))
        return worker, self.open(Beanstalk(self.running.beanstalk_address))

    def hold(self, worker, producer):
        """A reservation and a delay, both of 600 s."""
        worker.push("jid-held", "held", reserve_for=600)
        self.assertEqual(worker.fetch("held")["jid"], "jid-held")
        return producer.put(b"later", delay=600)

    def assert_held(self, worker, producer, delayed):
        self.assertEqual(worker.info()["faktory"]["sets"]["working"], 1)
        left = int(producer.stats(f"stats-job {delayed}")["time-left"])
        self.assertTrue(400 < left <= 600, left)

    def test_forward(self):
        self.running.start()
        worker, producer = self.clients()
        delayed = self.hold(worker, producer)
        self.push_in(worker, "jid-00001", HOURS_5)
        self.assertIsNone(worker.fetch())
        self.assertEqual(self.metric("millrace_clock_steps_total"), 0)
        # It looks each second; more for a machine that is busy.
        self.assertLess(self.step(HOURS_5 + 60), 5)
        job = worker.fetch()
        self.assertEqual(job["jid"], "jid-00001")
        self.assertGreaterEqual(job["enqueued_at"], job["at"][:19])
        self.assertEqual(worker.ack("jid-00001"), "+OK")
        self.assertRegex(
            self.running.error_text(), r"clock_step seconds=180[56]\d\.\d direction=forward\n"
        )
        self.assertEqual(self.metric("millrace_clock_steps_total"), 1)
        self.assertAlmostEqual(self.metric("millrace_clock_ahead_seconds"), HOURS_5 + 60, delta=2)
        self.assert_held(worker, producer, delayed)

    def test_retries_that_are_spread_take_as_long_after_a_crash(self):
        self.running.start()
        worker, producer = self.clients()
        delayed = self.hold(worker, producer)
        jobs = [producer.put(b"x") for _ in range(3)]
        for job in jobs:
            producer.command(f"reserve-job {job}")
            producer.body(1)
            # One that was released once tells when by its delay.
            self.assertEqual(producer.command(f"release {job} 0 0"), "RELEASED")
            producer.command(f"reserve-job {job}")
            producer.body(1)
            self.assertEqual(producer.command(f"bury {job} 0"), "BURIED")
        web = Web(self.running.web_address)
        status, begun = web.post("/api/v1/operations", {
            "action": "retry", "states": ["dead"], "spread_s": 12 * 3600})
        self.assertEqual(status, 202)
        wait_until(lambda: web.read(f"/api/v1/operations/{begun['id']}")["phase"] == "done",
                   "the end of the operation")
        self.running.kill()
        self.running.start()
        worker, producer = self.clients()
        self.assertAlmostEqual(self.metric("millrace_clock_ahead_seconds"), 0, delta=2)
        for job, hours in zip(jobs[1:], (3, 6)):
            stats = producer.stats(f"stats-job {job}")
            self.assertEqual(stats["state"], "delayed")
            self.assertAlmostEqual(int(stats["time-left"]), hours * 3600, delta=200)
        self.assert_held(worker, producer, delayed)

    def test_back(self):
        self.running.start()
        worker, producer = self.clients()
        delayed = self.hold(worker, producer)
        self.step(-HOURS_5)
        self.push_in(worker, "jid-00001", 1)
        self.push_in(worker, "jid-00002", 1 - HOURS_5, "early")
        self.assertEqual(worker.fetch("early")["jid"], "jid-00002")
        self.assertIsNone(worker.fetch())
        self.assertRegex(
            self.running.error_text(), r"clock_step seconds=(17999|18000)\.\d direction=back\n"
        )
        self.assertAlmostEqual(self.metric("millrace_clock_ahead_seconds"), -HOURS_5, delta=2)
        self.step(5)
        self.assertEqual(worker.fetch()["jid"], "jid-00001")
        self.assertEqual(worker.ack("jid-00001"), "+OK")
        self.assertEqual(worker.ack("jid-00002"), "+OK")
        self.assert_held(worker, producer, delayed)

    def test_a_restart_after_a_step_back_prolongs_nothing(self):
        self.set_ahead(HOURS_5)
        self.running.start()
        worker, producer = self.clients()
        delayed = self.hold(worker, producer)
        self.set_ahead(0)
        self.running.restart()
        self.assert_held(*self.clients(), delayed)
        self.assertRegex(self.running.error_text(), "clock_step .* direction=back")


if __name__ == "__main__":
    unittest.main()
