"""What charts and errors show, and the ends of the real program."""

import os
import unittest

from clients import Faktory
from program import ServerTest, free_port, wait_until
from web import Web


class MeasuresTest(ServerTest):
    def start(self, *flags):
        server = self.server(*flags)
        self.address = server.web_address = ("127.0.0.1", free_port())
        server.start()
        return server

    def read(self, path):
        return Web(self.address).read("/api/v1/" + path)

    def work(self, server):
        """A run, and one that fails."""
        worker = self.open(Faktory(server.faktory_address, wid="worker-1"))
        for jid in ("job-done", "job-failed"):
            worker.push(jid, args=[1], retry=0)
            worker.fetch()
        worker.ack("job-done")
        worker.command('FAIL {"jid":"job-failed","errtype":"E","message":"m"}')
        # An interval has ten seconds.
        wait_until(lambda: self.runs("&queue=default") == 2, "both runs are in the chart", 60)

    def runs(self, which=""):
        return sum(n or 0 for n in self.read("series?span=15m" + which).get("processed", []))

    def test_they_survive_a_restart(self):
        server = self.start()
        self.work(server)
        self.assertEqual(server.terminate(), 0)
        server.start()
        for which in ("", "&queue=default", "&type=Test"):
            wait_until(lambda which=which: self.runs(which) == 2, "both runs are still there", 10)
        [error] = self.read("errors")["groups"]
        self.assertEqual((error["type"], error["jobs"], error["hours"]), ("E", 0, [1]))

    def test_a_file_that_is_damaged_is_dropped_and_named(self):
        server = self.start()
        self.work(server)
        self.assertEqual(server.terminate(), 0)
        path = os.path.join(server.data, "measures")
        with open(path, "r+b") as file:
            file.seek(100)
            file.write(b"damage")
        server.start()
        self.assertIn("measures_dropped", server.error_text())
        self.assertEqual(self.runs(), 0)

    def test_without_a_journal_there_is_no_file(self):
        server = self.start("--volatile")
        self.work(server)
        self.assertEqual(server.terminate(), 0)
        self.assertFalse(os.path.exists(os.path.join(server.data, "measures")))


if __name__ == "__main__":
    unittest.main()
