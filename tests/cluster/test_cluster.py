"""A few failovers of each kind. `./dev cluster-test` plays many, in an order that follows from a
seed."""

import os
import shutil
import unittest
import warnings

from cluster import Run
from engines import POSTGRES
from faults import Faults

ON_NATS = [
    "kill_leader",
    "terminate_leader",
    "pause_leader",
    "wipe_standby",
    "cut_leader",
    "kill_member",
    "wipe_leader",
    "cut_leader_sends",
    "kill_standby",
    "cut_leader_hears",
    "roll_everything",
]
# Another one plays the same faults at other moments.
SEED = int(os.environ.get("CLUSTER_SEED", "1"))
ON_POSTGRES = ["kill_leader", "promote_standby", "cut_leader"]


class ClusterTest(unittest.TestCase):
    def setUp(self):
        # A client whose connection ends during its greeting leaves the socket to the collector.
        warnings.simplefilter("ignore", ResourceWarning)

    def play(self, engine, plan, failovers_min):
        run = Run(engine, SEED)
        allowed = Faults(run.cluster, run.random, run.note).names()
        verdict, surprises = run.play([name for name in plan if name in allowed])
        self.assertEqual(set(verdict.violations()), set())
        self.assertEqual(surprises, [])
        self.assertGreater(verdict.finished, 100)
        self.assertGreaterEqual(verdict.failovers, failovers_min)

    def test_on_nats(self):
        self.play("nats", ON_NATS, failovers_min=4)

    @unittest.skipUnless(os.path.exists(POSTGRES), "PostgreSQL is not installed")
    def test_on_postgres(self):
        self.play("postgres", ON_POSTGRES, failovers_min=1)


class FoundTest(unittest.TestCase):
    def test_nodes_that_share_no_log_are_found(self):
        run = Run("nats", seed=1, report=lambda line: None)
        self.addCleanup(shutil.rmtree, run.folder)
        for node in run.cluster.nodes:
            node.log_name = "of-" + node.host.name
        verdict, _ = run.play(["kill_standby"])
        self.assertTrue({"lost", "stale"} & set(verdict.violations()))


if __name__ == "__main__":
    unittest.main()
