"""SIGTERM while the program reads its journal."""

import re
import signal
import time
import unittest

from clients import Beanstalk
from program import ServerTest

JOBS = 200_000


def fill(client):
    """So many jobs that reading them takes a while."""
    puts, at_once = b"put 0 0 60 1\r\nx\r\n", 10_000
    for _ in range(JOBS // at_once):
        client.send(puts * at_once)
        for _ in range(at_once):
            assert client.line().startswith("INSERTED ")


def terminate_in_replay(server):
    """The status with which it ends. Most of the time the program is paused, so that the replay
    takes long enough to say how far it is."""
    server.begin()
    process = server.process
    while " replaying " not in server.error_text():
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        assert " replayed " not in server.error_text(), "the replay is over"
        process.send_signal(signal.SIGCONT)
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    return process.wait(30)


def replayed_jobs(server):
    return int(re.search(r" replayed bytes=\d+ jobs=(\d+) ", server.error_text())[1])


class ReplayTest(ServerTest):
    def test_sigterm_ends_it_and_the_journal_is_kept(self):
        server = self.server("--sync=off").start()
        fill(self.open(Beanstalk(server.beanstalk_address)))
        server.terminate()
        self.assertEqual(terminate_in_replay(server), -signal.SIGTERM)
        self.assertNotIn(" started ", server.error_text())
        server.start()
        self.assertEqual(replayed_jobs(server), JOBS)


if __name__ == "__main__":
    unittest.main()
