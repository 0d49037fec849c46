"""Cron entries of the real program: crashes and reloads in the very second, times without a server,
and config files that are wrong."""

import os
import random
import signal
import time
import unittest
from datetime import datetime, timezone

from clients import Faktory
from clocks import ClockTest
from program import wait_until

MIDNIGHT = int(datetime(2027, 3, 1, tzinfo=timezone.utc).timestamp())


def entry(schedule, jobtype="Tick", **members):
    lines = [f"{name} = {value!r}" for name, value in members.items()]
    return "\n".join(
        ["[[cron]]", f'schedule = "{schedule}"', *lines, "[cron.job]", f'type = "{jobtype}"', ""]
    )


def second_of(job):
    """In which the job was pushed."""
    text = job["created_at"][:19] + "+00:00"
    return int(datetime.fromisoformat(text).timestamp())


class CronTest(ClockTest):
    def setUp(self):
        super().setUp()
        self.config = self.path("config.toml")
        os.mkdir(self.path("conf.d"))
        self.write("config.toml", "")
        self.running = self.server(f"--config={self.config}", env=self.clock_env)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def hang_up(self):
        self.running.process.send_signal(signal.SIGHUP)

    def reload(self, event="reloaded"):
        count = self.running.error_text().count(event)
        self.hang_up()
        wait_until(lambda: self.running.error_text().count(event) > count, event)

    def jobs(self):
        """All that wait now, in their order."""
        worker = self.open(Faktory(self.running.faktory_address, wid="worker-1"))
        count = worker.info()["faktory"]["queues"].get("default", 0)
        jobs = [worker.fetch() for _ in range(count)]
        for job in jobs:
            worker.ack(job["jid"])
        return jobs

    def wait_for_runs(self, count):
        wait_until(lambda: self.running.error_text().count("cron_enqueued") >= count, "cron runs")

    def assert_one_each_second(self, jobs):
        """From the first to the last, when the server was running, each second has its job."""
        self.assertEqual(len({job["jid"] for job in jobs}), len(jobs))
        self.assertEqual(second_of(jobs[-1]) - second_of(jobs[0]) + 1, len(jobs))

    def test_both_files(self):
        self.write("config.toml", entry("@every 1s", "A"))
        self.write("conf.d/more.toml", entry("@every 1s", "B"))
        self.running.start()
        self.wait_for_runs(4)
        self.assertEqual({job["jobtype"] for job in self.jobs()}, {"A", "B"})

    def test_at_the_full_minute(self):
        self.write("config.toml", entry("*/5 * * * *"))
        self.set_clock(MIDNIGHT - 3)
        self.running.start()
        self.wait_for_runs(1)
        (job,) = self.jobs()
        self.assertEqual(second_of(job), MIDNIGHT)

    def test_killed_in_the_very_second(self):
        self.write("config.toml", entry("@every 1s", catch_up="all"))
        self.running.start()
        for _ in range(8):
            self.wait_for_runs(1)
            now = time.time()
            # About when the next run is due.
            time.sleep(max(0, int(now) + 1 - now + random.uniform(-0.005, 0.01)))
            self.running.restart()
        self.wait_for_runs(3)
        self.assert_one_each_second(self.jobs())

    def test_down_for_59_minutes(self):
        self.assertEqual(self.jobs_after_downtime(59), [MIDNIGHT + 59 * 60])
        self.assertNotIn("cron_missed", self.running.error_text())

    def test_down_for_61_minutes(self):
        self.assertEqual(self.jobs_after_downtime(61), [])
        self.assertRegex(self.running.error_text(), "cron_missed entry=.* catch_up=one")

    def jobs_after_downtime(self, minutes):
        """When the daily job of midnight was pushed, by minutes: down from then on for so long."""
        self.write("config.toml", entry("0 0 * * *"))
        self.set_clock(MIDNIGHT - 100)
        self.running.start()
        self.assertEqual(self.jobs(), [])
        self.running.kill()
        self.set_clock(MIDNIGHT + minutes * 60)
        self.running.start()
        if minutes < 60:
            self.wait_for_runs(1)
        else:
            wait_until(lambda: "cron_missed" in self.running.error_text(), "cron_missed")
        return [second_of(job) // 60 * 60 for job in self.jobs()]

    def test_reloads_in_the_very_second(self):
        self.write("config.toml", entry("@every 1s"))
        self.running.start()
        self.wait_for_runs(1)
        end = time.monotonic() + 4
        while time.monotonic() < end:
            self.hang_up()
            time.sleep(0.02)
        self.assert_one_each_second(self.jobs())

    def test_a_new_entry_and_a_removed_one(self):
        self.write("config.toml", entry("@every 1s", "A"))
        self.running.start()
        self.wait_for_runs(1)
        self.write("config.toml", entry("@every 1s", "B"))
        self.reload()
        self.jobs()
        self.wait_for_runs(self.running.error_text().count("cron_enqueued") + 1)
        self.assertEqual({job["jobtype"] for job in self.jobs()}, {"B"})

    def test_a_bad_file_at_a_reload_changes_nothing(self):
        self.write("config.toml", entry("@every 1s", "A"))
        self.running.start()
        self.write("conf.d/bad.toml", entry("@every 1s", "B") + entry("60 * * * *", "C"))
        self.reload("reload_failed")
        self.assertRegex(
            self.running.error_text(), r"reload_failed .*conf\.d/bad\.toml:6: schedule"
        )
        self.jobs()
        self.wait_for_runs(self.running.error_text().count("cron_enqueued") + 2)
        self.assertEqual({job["jobtype"] for job in self.jobs()}, {"A"})

    def test_a_bad_file_at_the_start(self):
        self.write("conf.d/bad.toml", "\n" + entry("0 0 30 2 *"))
        arguments = self.running.arguments()
        self.assert_refused(arguments, r"conf\.d/bad\.toml:3: .*never run$", status=2)


if __name__ == "__main__":
    unittest.main()
