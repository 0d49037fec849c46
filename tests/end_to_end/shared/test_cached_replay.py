"""SIGTERM while a node reads what it knows of a shared log."""

import unittest

from clients import Beanstalk
from shared.shared_log import SharedLogTest
from test_replay import JOBS, SHORT_SEGMENTS, fill, replayed_jobs, terminate_in_replay


class Replay(SharedLogTest):
    node_count = 1
    node_flags = (SHORT_SEGMENTS,)

    def test_sigterm_ends_it_and_the_cache_is_kept(self):
        (node,) = self.nodes
        fill(self.open(Beanstalk(node.beanstalk_address)))
        node.terminate()
        self.assertEqual(terminate_in_replay(node, self), 0)
        self.assertIn(" stopped", node.error_text())
        for event in (" replayed ", " started ", " cache_dropped "):
            self.assertNotIn(event, node.error_text())
        node.start()
        self.wait_for_leader(node)
        self.assertEqual(replayed_jobs(node), JOBS)
        stats = self.open(Beanstalk(node.beanstalk_address)).stats()
        self.assertEqual(stats["current-jobs-ready"], str(JOBS))


if __name__ == "__main__":
    unittest.main()
