"""SIGTERM while the program reads its journal."""

import re
import signal
import unittest

from clients import Beanstalk
from preloaded import preloaded
from program import ServerTest, wait_until

JOBS = 200_000


def fill(client):
    """So many jobs that reading them takes a while."""
    puts, at_once = b"put 0 0 60 1\r\nx\r\n", 10_000
    for _ in range(JOBS // at_once):
        client.send(puts * at_once)
        for _ in range(at_once):
            assert client.line().startswith("INSERTED ")


# A segment is read as a whole: in one, the replay would be slow before it begins.
SHORT_SEGMENTS = "--segment-bytes=1048576"


def terminate_in_replay(server, test):
    """The status with which it ends."""
    server.env = {"LD_PRELOAD": preloaded("slow_reads", test.path("slow_reads.so"))}
    server.begin()
    wait_until(lambda: " replaying " in server.error_text(), "the replay tells how far it is")
    server.process.send_signal(signal.SIGTERM)
    server.env = None
    return server.process.wait(30)


def replayed_jobs(server):
    return int(re.search(r" replayed bytes=\d+ jobs=(\d+) ", server.error_text())[1])


class ReplayTest(ServerTest):
    def test_sigterm_ends_it_and_the_journal_is_kept(self):
        server = self.server("--sync=off", SHORT_SEGMENTS).start()
        fill(self.open(Beanstalk(server.beanstalk_address)))
        server.terminate()
        self.assertEqual(terminate_in_replay(server, self), -signal.SIGTERM)
        self.assertNotIn(" started ", server.error_text())
        server.start()
        self.assertEqual(replayed_jobs(server), JOBS)


if __name__ == "__main__":
    unittest.main()
