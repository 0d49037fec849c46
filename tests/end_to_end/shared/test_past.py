"""What a server that takes over knows of the time before."""

import datetime
import http.client
import unittest

from clients import Beanstalk, Faktory
from program import wait_until
from shared.shared_log import SharedLogTest, leads
from web import Web

RUNS = 3


class PastTest(SharedLogTest):
    def setUp(self):
        super().setUp()
        self.leader, self.standby = self.nodes
        wait_until(lambda: " caught_up " in self.standby.error_text(), "the standby follows")

    def read(self, node, path):
        return Web(node.web_address).read("/api/v1/" + path)

    def work(self):
        """Runs of a worker, one of which fails, and jobs of a connection."""
        worker = self.open(Faktory(self.leader.faktory_address, wid="worker-1"))
        for number in range(RUNS):
            worker.push(f"job-{number:06}", queue="mail", args=[1])
            worker.fetch("mail")
            worker.ack(f"job-{number:06}")
        worker.push("job-failed", queue="mail", args=[1])
        worker.fetch("mail")
        worker.command('FAIL {"jid":"job-failed","errtype":"E","message":"m"}')
        tube = self.open(Beanstalk(self.leader.beanstalk_address))
        tube.put(b"bytes")
        job, _ = tube.reserve()
        tube.delete(job)

    def runs(self, node, which):
        try:
            series = self.read(node, "series?span=15m" + which)
        except (AssertionError, OSError, http.client.HTTPException):
            return None  # it does not serve yet
        return sum(series["processed"]), sum(series["failed"])

    def test_charts_and_activity_reach_back_before_the_takeover(self):
        runs_of_mail = (RUNS + 1, 1)
        expected = {
            "": (RUNS + 2, 1),
            "&queue=mail": runs_of_mail,
            "&queue=default": (1, 0),
            "&type=Test": runs_of_mail,
        }
        self.work()
        for action in ("pause", "resume"):
            status, answer = Web(self.leader.web_address).post("/api/v1/queues/mail/" + action)
            self.assertEqual(status, 200, answer)
        # An interval has ten seconds.
        for which, runs in expected.items():
            wait_until(
                lambda which=which, runs=runs: self.runs(self.leader, which) == runs,
                f"the leader has the runs of {which}",
                60,
            )
        ended = self.read(self.leader, "series?span=15m")["ends_at"]
        self.leader.kill()
        wait_until(lambda: leads(Web(self.standby.web_address)), "the standby leads", 60)
        for which, runs in expected.items():
            wait_until(
                lambda which=which, runs=runs: self.runs(self.standby, which) == runs,
                f"the new leader has the runs of {which}",
                60,
            )
        # They are where they were, and not when it took over.
        end = datetime.datetime.fromisoformat(ended.replace("Z", "+00:00")).timestamp()
        end = round(end * 1000)
        before = f"since_ms={end - 600_000}&until_ms={end}"
        mail = self.read(self.standby, f"series?queue=mail&{before}")
        self.assertEqual((sum(mail["processed"]), sum(mail["failed"])), (RUNS + 1, 1))
        for times in (mail["wait_p95_s"], mail["run_p95_s"]):
            self.assertTrue(any(each is not None for each in times), times)
        [error] = self.read(self.standby, "errors")["groups"]
        self.assertEqual((error["type"], error["hours"]), ("E", [1]))
        actions = [each["action"] for each in self.read(self.standby, "activity")["changes"]]
        self.assertEqual(actions, ["server/lead", "queues/resume", "queues/pause", "server/lead"])

    def test_a_standby_keeps_what_it_has_seen(self):
        self.work()
        wait_until(
            lambda: self.runs(self.leader, "&queue=mail") == (4, 1), "the runs are in a chart", 60
        )
        self.assertEqual(self.standby.terminate(), 0)
        self.standby.start()
        wait_until(lambda: " caught_up " in self.standby.error_text(), "it follows")
        self.leader.kill()
        wait_until(lambda: leads(Web(self.standby.web_address)), "the standby leads", 60)
        wait_until(
            lambda: self.runs(self.standby, "&queue=mail") == (4, 1), "the runs are there", 60
        )


if __name__ == "__main__":
    unittest.main()
